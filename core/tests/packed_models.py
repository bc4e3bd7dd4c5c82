"""Models over packed sequences, of the kinds that users trace and export, for any library."""

CASES = {
    "lstm": {"kind": "LSTM"},
    "gru": {"kind": "GRU"},
    "rnn": {"kind": "RNN"},
    "falling lengths": {"kind": "LSTM", "enforce_sorted": True},
    "both ways, two layers": {"kind": "LSTM", "num_layers": 2, "bidirectional": True},
    "gru, both ways": {"kind": "GRU", "bidirectional": True, "enforce_sorted": True},
    "steps first": {"kind": "GRU", "batch_first": False},
    "no biases, relu": {"kind": "RNN", "bias": False, "nonlinearity": "relu"},
    "total length": {"kind": "GRU", "total_length": 12, "padding_value": -1.0},
}


def encoder(library, kind, batch_first=True, enforce_sorted=False, total_length=None,
            padding_value=0.0, **settings):  # fmt: skip
    """A tagger: an embedding of the packed tokens, a recurrent layer, tags, the last states."""
    nn, rnn = library.nn, library.nn.utils.rnn

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(11, 4)
            self.rnn = getattr(nn, kind)(4, 5, batch_first=batch_first, **settings)
            self.tags = nn.Linear(10 if settings.get("bidirectional") else 5, 3)

        def forward(self, tokens, lengths):
            packed = rnn.pack_padded_sequence(tokens, lengths, batch_first, enforce_sorted)
            embedded = rnn.PackedSequence(self.embedding(packed.data), *packed[1:])
            output, state = self.rnn(embedded)
            hidden = state[0] if kind == "LSTM" else state
            padded, found = rnn.pad_packed_sequence(
                output, batch_first, padding_value, total_length
            )
            return self.tags(padded), hidden, found

    return Encoder().eval()


def decoder(library):
    """A layer that is given its first states."""
    nn, rnn = library.nn, library.nn.utils.rnn

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.start = nn.Linear(3, 5)
            self.rnn = nn.LSTM(4, 5, batch_first=True)

        def forward(self, x, lengths, context):
            first = self.start(context).unsqueeze(0)
            packed = rnn.pack_padded_sequence(x, lengths, True, False)
            output, (hidden, cell) = self.rnn(packed, (first, first.tanh()))
            output, _ = rnn.pad_packed_sequence(output, True)
            return output + hidden.transpose(0, 1), cell

    return Decoder().eval()


def tokens(library, case, batch, steps, seed):
    """Tokens and lengths as a case takes them."""
    generator = library.Generator().manual_seed(seed)
    values = library.randint(0, 11, (batch, steps), generator=generator)
    lengths = library.randint(1, steps + 1, (batch,), generator=generator)
    if case.get("enforce_sorted"):
        lengths = lengths.sort(descending=True)[0]
    return (values if case.get("batch_first", True) else values.t().contiguous()), lengths

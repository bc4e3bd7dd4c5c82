"""AWD-LSTM: an LSTM of several layers with dropout of everything, also of its weights.

Merity, Keskar and Socher 2017. Weights have fastai's names, so that its files fit.
"""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn

F = nn.functional
States = list[tuple[Any, Any]]


def dropout_mask(x: Any, size: tuple[int, ...], p: float) -> Any:
    """Zeros with probability `p`, else `1 / (1 - p)`, of a size and the dtype of `x`."""
    return (rl.rand(size, device=x.device) >= p).to(x.dtype) / (1 - p)


class RNNDropout(nn.Module):
    """Dropout `p` of `(N, T, C)` that is the same at all `T` steps."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Any) -> Any:
        """`(N, T, C)`."""
        if not self.training or self.p == 0:
            return x
        return x * dropout_mask(x, (len(x), 1, *x.shape[2:]), self.p)


class WeightDropout(nn.Module):
    """An LSTM of one layer whose weights between steps are dropped with probability `weight_p`
    while it trains, the same at all steps of a call."""

    def __init__(self, module: nn.LSTM, weight_p: float) -> None:
        super().__init__()
        self.weight_p, self.module = weight_p, module
        self.sides = ["", "_reverse"] if module.bidirectional else [""]
        for side in self.sides:
            weight = getattr(module, f"weight_hh_l0{side}")
            delattr(module, f"weight_hh_l0{side}")
            self.register_parameter(f"weight_hh_l0{side}_raw", nn.Parameter(weight.detach()))

    def _weights(self) -> list[Any]:
        found = []
        for side in self.sides:
            raw = getattr(self, f"weight_hh_l0{side}_raw")
            own = self.module
            names = (f"weight_ih_l0{side}", f"bias_ih_l0{side}", f"bias_hh_l0{side}")
            first, *biases = (getattr(own, name) for name in names)
            found += [first, F.dropout(raw, self.weight_p, self.training), *biases]
        return found

    def forward(self, x: Any, states: tuple[Any, Any]) -> tuple[Any, tuple[Any, Any]]:
        """`(N, T, inputs)` and the states before give `(N, T, outputs)` and those after."""
        both, train = self.module.bidirectional, self.training
        out, *after = rl.lstm(x, states, self._weights(), True, 1, 0.0, train, both, True)
        return out, (after[0], after[1])


class EmbeddingDropout(nn.Module):
    """An embedding that forgets whole words with probability `embed_p` while it trains."""

    def __init__(self, emb: nn.Embedding, embed_p: float) -> None:
        super().__init__()
        self.emb, self.embed_p = emb, embed_p

    def forward(self, words: Any) -> Any:
        """`(N, T)` (int64) gives `(N, T, C)`."""
        weight = self.emb.weight
        if self.training and self.embed_p:
            weight = weight * dropout_mask(weight, (len(weight), 1), self.embed_p)
        return F.embedding(words, weight, self.emb.padding_idx)


class AWD_LSTM(nn.Module):
    """`n_layers` LSTMs of `n_hid` units, the last of `emb_sz`, over vectors of `emb_sz` numbers for
    `vocab_sz` tokens: `(N, T)` (int64) gives `(N, T, emb_sz)`. Its states go on from call to call
    until `reset`.

    `pad_token`: the number that fills up; `hidden_p`, `input_p`, `embed_p`, `weight_p`: dropout
    between layers, of the first's inputs, of words, of weights between steps; `bidir`: reads from
    both sides. ValueError for odd sizes then.
    """

    initrange = 0.1

    def __init__(
        self,
        vocab_sz: int,
        emb_sz: int,
        n_hid: int,
        n_layers: int,
        pad_token: int = 1,
        hidden_p: float = 0.2,
        input_p: float = 0.6,
        embed_p: float = 0.1,
        weight_p: float = 0.5,
        bidir: bool = False,
    ) -> None:
        super().__init__()
        if bidir and (emb_sz % 2 or n_hid % 2):
            raise ValueError(f"AWD_LSTM: emb_sz={emb_sz}, n_hid={n_hid}; bidir needs even numbers")
        self.emb_sz, self.n_hid, self.n_layers, self.pad_token = emb_sz, n_hid, n_layers, pad_token
        self.n_dir = 2 if bidir else 1
        self.encoder = nn.Embedding(vocab_sz, emb_sz, padding_idx=pad_token)
        nn.init.uniform_(self.encoder.weight, -self.initrange, self.initrange)
        self.encoder_dp = EmbeddingDropout(self.encoder, embed_p)
        widths = [emb_sz, *[n_hid] * (n_layers - 1), emb_sz]
        self.rnns = nn.ModuleList(
            WeightDropout(
                nn.LSTM(before, after // self.n_dir, batch_first=True, bidirectional=bidir),
                weight_p,
            )
            for before, after in zip(widths, widths[1:], strict=False)
        )
        self.input_dp = RNNDropout(input_p)
        self.hidden_dps = nn.ModuleList(RNNDropout(hidden_p) for _ in range(n_layers))
        self.states: States | None = None

    def reset(self) -> None:
        """Forget the states."""
        self.states = None

    def _fitting(self, x: Any) -> States:
        """States for the rows of `x`: the first of those that there are, zeros for more."""
        count, found = len(x), []
        for number in range(self.n_layers):
            width = (self.n_hid if number < self.n_layers - 1 else self.emb_sz) // self.n_dir
            pair = [x.new_zeros(self.n_dir, count, width) for _ in range(2)]
            if self.states is not None:
                kept = min(count, self.states[number][0].shape[1])
                spare = [each[:, kept:] for each in pair]
                known = [each[:, :kept] for each in self.states[number]]
                pair = [rl.cat(both, 1) for both in zip(known, spare, strict=True)]
            found.append((pair[0], pair[1]))
        return found

    def forward(self, tokens: Any) -> Any:
        """See the class."""
        x = self.input_dp(self.encoder_dp(tokens))
        states, after = self._fitting(x), []
        layers = zip(self.rnns, self.hidden_dps, states, strict=True)
        for number, (rnn, dropout, before) in enumerate(layers):
            x, (hidden, cell) = rnn(x, before)
            after.append((hidden.detach(), cell.detach()))
            if number < self.n_layers - 1:
                x = dropout(x)
        self.states = after
        return x


awd_lstm_lm_config = {
    "emb_sz": 400, "n_hid": 1152, "n_layers": 3, "pad_token": 1, "bidir": False, "output_p": 0.1,
    "hidden_p": 0.15, "input_p": 0.25, "embed_p": 0.02, "weight_p": 0.2, "tie_weights": True,
    "out_bias": True,
}  # fmt: skip
awd_lstm_clas_config = {
    "emb_sz": 400, "n_hid": 1152, "n_layers": 3, "pad_token": 1, "bidir": False, "output_p": 0.4,
    "hidden_p": 0.3, "input_p": 0.4, "embed_p": 0.05, "weight_p": 0.5,
}  # fmt: skip

"""Models of sequences: transformers and recurrent networks."""

from __future__ import annotations


def _block(nn, width, heads):
    class Block(nn.Module):
        """Causal attention and two dense layers, each after a norm and around a shortcut."""

        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.dense = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
            )

        def forward(self, x):
            batch, length, _ = x.shape
            q, k, v = (
                part.view(batch, length, heads, -1).transpose(1, 2)
                for part in self.mix(self.norm1(x)).split(width, 2)
            )
            found = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(found.transpose(1, 2).reshape(batch, length, width))
            return x + self.dense(self.norm2(x))

    return Block()


def _gpt(library, width, heads, layers, words, batch, length):
    nn = library.nn

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*(_block(nn, width, heads) for _ in range(layers)))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

        def forward(self, text):
            x = self.words(text) + self.places(library.arange(text.shape[1]))
            return self.head(self.norm(self.blocks(x)))

    model, text = GPT(), library.randint(0, words, (batch, length + 1))

    def loss():
        scores = model(text[:, :-1])
        return nn.functional.cross_entropy(scores.reshape(-1, words), text[:, 1:].reshape(-1))

    return model, loss


def gpt_small(library):
    """0.1 M parameters: width 64, 4 heads, 2 layers, 65 characters, 16 x 64."""
    return _gpt(library, 64, 4, 2, 65, 16, 64)


def gpt_medium(library):
    """3 M parameters: width 192, 6 heads, 6 layers, 1,000 words, 8 x 128."""
    return _gpt(library, 192, 6, 6, 1000, 8, 128)


def gpt_large(library):
    """11 M parameters: width 384, 6 heads, 6 layers, 1,000 words, 4 x 128."""
    return _gpt(library, 384, 6, 6, 1000, 4, 128)


def translation(library):
    """Encoder and decoder, width 128, 4 heads, 2 layers each, 32 x 24 words from 2,000."""
    nn = library.nn

    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(2000, 128)
            self.core = nn.Transformer(128, 4, 2, 2, 256, dropout=0.1, batch_first=True)
            self.head = nn.Linear(128, 2000)
            self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(24))

        def forward(self, source, target):
            x = self.core(self.words(source), self.words(target), tgt_mask=self.mask)
            return self.head(x)

    model = Translator()
    source, target = library.randint(0, 2000, (32, 24)), library.randint(0, 2000, (32, 25))

    def loss():
        scores = model(source, target[:, :-1])
        return nn.functional.cross_entropy(scores.reshape(-1, 2000), target[:, 1:].reshape(-1))

    return model, loss


def bert_inference(library):
    """An encoder of 4 layers, width 256, 4 heads, 8 x 128 words, forward only."""
    nn = library.nn

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(10_000, 256), nn.Embedding(128, 256)
            layer = nn.TransformerEncoderLayer(256, 4, 1024, 0.1, "gelu", batch_first=True)
            self.core = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
            self.head = nn.Linear(256, 2)

        def forward(self, words):
            x = self.words(words) + self.places(library.arange(words.shape[1]))
            return self.head(self.core(x)[:, 0])

    model = Encoder().eval()
    words = library.randint(0, 10_000, (8, 128))

    def forward():
        with library.inference_mode():
            return model(words).mean()

    return model, forward


def lstm_language_model(library):
    """2 layers of 200, 35 x 20 words from 2,000."""
    nn = library.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(2000, 200)
            self.core = nn.LSTM(200, 200, 2, dropout=0.2)
            self.head = nn.Linear(200, 2000)

        def forward(self, text):
            return self.head(self.core(self.words(text))[0])

    model, text = Model(), library.randint(0, 2000, (36, 20))

    def loss():
        scores = model(text[:-1])
        return nn.functional.cross_entropy(scores.reshape(-1, 2000), text[1:].reshape(-1))

    return model, loss


def gru_classifier(library):
    """A bidirectional GRU of 64 on 64 sequences of 50 steps and 16 features."""
    nn = library.nn

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.core = nn.GRU(16, 64, batch_first=True, bidirectional=True)
            self.head = nn.Linear(128, 5)

        def forward(self, x):
            return self.head(self.core(x)[0][:, -1])

    model = Classifier()
    series, labels = library.randn(64, 50, 16), library.randint(0, 5, (64,))
    return model, lambda: nn.functional.cross_entropy(model(series), labels)

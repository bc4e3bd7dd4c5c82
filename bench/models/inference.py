"""Networks and inputs of the bench of inference: ``MODELS[name](library, batch)`` gives both."""

from __future__ import annotations

from models import dense, images, sequences


def _pictures(make, *shape):
    def prepared(library, batch):
        return make(library)[0], library.randn(batch, *shape)

    return prepared


def gpt(library, batch):
    """5 M parameters: width 256, 8 heads, 6 layers, 1,000 words, 128 of them."""
    model, _ = sequences._gpt(library, 256, 8, 6, 1000, 1, 128)
    return model, library.randint(0, 1000, (batch, 128))


def bert(library, batch):
    """6 layers, width 256, 4 heads, 128 words of 10,000."""
    nn = library.nn

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(10_000, 256), nn.Embedding(128, 256)
            layer = nn.TransformerEncoderLayer(256, 4, 1024, 0.1, "gelu", batch_first=True)
            self.core = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
            self.head = nn.Linear(256, 2)

        def forward(self, words):
            x = self.words(words) + self.places(library.arange(words.shape[1]))
            return self.head(self.core(x)[:, 0])

    return Encoder(), library.randint(0, 10_000, (batch, 128))


def lstm(library, batch):
    """2 layers of 200, 35 words of 2,000."""
    model, _ = sequences.lstm_language_model(library)
    return model, library.randint(0, 2000, (35, batch))


MODELS = {
    "MLP": _pictures(dense.mlp, 784),
    "LeNet": _pictures(images.lenet, 1, 28, 28),
    "ResNet-18": _pictures(images.resnet18, 3, 224, 224),
    "MobileNetV2": _pictures(images.mobilenet_v2, 3, 96, 96),
    "U-Net": _pictures(images.unet, 3, 64, 64),
    "ViT-tiny": _pictures(images.vit_tiny, 3, 32, 32),
    "GPT 5 M": gpt,
    "BERT": bert,
    "LSTM": lstm,
}

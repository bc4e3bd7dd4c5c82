"""Networks in the API that both libraries have: each is made from the library's module."""

from __future__ import annotations


def mlp(lib, smoke):
    """Four wide layers."""
    width = 32 if smoke else 2048
    layers = []
    for _ in range(4):
        layers += [lib.nn.Linear(width, width), lib.nn.ReLU()]
    model = lib.nn.Sequential(*layers, lib.nn.Linear(width, 10))
    return model, ((8 if smoke else 256, width),), 10


def mnist(lib, smoke):
    """The convolutional network of the usual MNIST example."""
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Dropout(0.25), nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5),
        nn.Linear(128, 10),
    )  # fmt: skip
    return model, ((2 if smoke else 256, 1, 28, 28),), 10


def bottleneck(lib, inside, width, stride):
    """ResNet's block of three convolutions."""
    nn = lib.nn

    class Bottleneck(nn.Module):
        """1x1, 3x3, 1x1, and a shortcut."""

        def __init__(self):
            super().__init__()
            out = 4 * width
            self.path = nn.Sequential(
                nn.Conv2d(inside, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width),
                nn.ReLU(), nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out),
            )  # fmt: skip
            self.short = nn.Identity()
            if stride != 1 or inside != out:
                self.short = nn.Sequential(
                    nn.Conv2d(inside, out, 1, stride, bias=False), nn.BatchNorm2d(out)
                )

        def forward(self, x):
            return (self.path(x) + self.short(x)).relu()

    return Bottleneck()


def resnet50(lib, smoke):
    """ResNet-50 (He et al., 2015)."""
    nn = lib.nn
    base = 8 if smoke else 64
    inside, stages = base, []
    for number, blocks in enumerate((1, 1, 1, 1) if smoke else (3, 4, 6, 3)):
        width = base * 2**number
        for block in range(blocks):
            stages.append(bottleneck(lib, inside, width, 2 if number and not block else 1))
            inside = 4 * width
    model = nn.Sequential(
        nn.Conv2d(3, base, 7, 2, 3, bias=False), nn.BatchNorm2d(base), nn.ReLU(),
        nn.MaxPool2d(3, 2, 1), *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(inside, 1000),
    )  # fmt: skip
    return model, ((2, 3, 64, 64) if smoke else (64, 3, 224, 224),), 1000


def transformer_layer(lib, width, heads, causal):
    """A layer with norms before attention and feed-forward."""
    nn, functional = lib.nn, lib.nn.functional

    class Layer(nn.Module):
        """Attention and feed-forward, each with a shortcut."""

        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
            self.inward, self.outward = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            batch, length, _ = x.shape
            parts = self.inward(self.norms[0](x)).chunk(3, -1)
            q, k, v = (p.view(batch, length, heads, -1).transpose(1, 2) for p in parts)
            found = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
            x = x + self.outward(found.transpose(1, 2).reshape(batch, length, width))
            return x + self.down(functional.gelu(self.up(self.norms[1](x))))

    return Layer()


def gpt2(lib, smoke):
    """GPT-2 small."""
    nn = lib.nn
    words, width, heads, layers, length = (96, 32, 2, 1, 8) if smoke else (50304, 768, 12, 12, 1024)

    class Model(nn.Module):
        """Embeddings, layers, and a head."""

        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            self.layers = nn.Sequential(
                *[transformer_layer(lib, width, heads, True) for _ in range(layers)]
            )
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

        def forward(self, x):
            places = lib.arange(x.shape[1], device=x.device)
            found = self.layers(self.words(x) + self.places(places))
            return self.head(self.norm(found)).flatten(0, 1)

    return Model(), ((1 if smoke else 8, length),), words


def vit(lib, smoke):
    """ViT-B/16."""
    nn = lib.nn
    width, heads, layers, size = (32, 2, 1, 32) if smoke else (768, 12, 12, 224)

    class Model(nn.Module):
        """Patches, layers, the mean, a head."""

        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, width, 16, 16)
            self.places = nn.Parameter(lib.zeros(1, (size // 16) ** 2, width))
            self.layers = nn.Sequential(
                *[transformer_layer(lib, width, heads, False) for _ in range(layers)]
            )
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

        def forward(self, x):
            found = self.patches(x).flatten(2).transpose(1, 2) + self.places
            return self.head(self.norm(self.layers(found)).mean(1))

    return Model(), ((1 if smoke else 64, 3, size, size),), 1000


def lstm(lib, smoke):
    """Two layers over sequences."""
    nn = lib.nn
    width, length = (16, 4) if smoke else (512, 128)

    class Model(nn.Module):
        """The last state decides."""

        def __init__(self):
            super().__init__()
            self.layers = nn.LSTM(width, width, 2, batch_first=True)
            self.head = nn.Linear(width, 10)

        def forward(self, x):
            return self.head(self.layers(x)[0][:, -1])

    return Model(), ((2 if smoke else 64, length, width),), 10


ALL = {
    "MLP": mlp,
    "MNIST CNN": mnist,
    "LSTM": lstm,
    "ResNet-50": resnet50,
    "GPT-2 small": gpt2,
    "ViT-B/16": vit,
}

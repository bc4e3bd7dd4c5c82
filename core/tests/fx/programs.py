"""Programs to trace, written for any library with PyTorch's names."""

import math
from collections import namedtuple

Pair = namedtuple("Pair", "first second")


def models(library):
    """Modules and inputs: ``name -> (module, shapes of inputs)``."""
    nn, functional = library.nn, library.nn.functional

    class Residual(nn.Module):
        def __init__(self, channels, out, stride=1):
            super().__init__()
            self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(out)
            self.relu = nn.ReLU(inplace=True)
            self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(out)
            self.downsample = None
            if stride != 1 or channels != out:
                conv = nn.Conv2d(channels, out, 1, stride, bias=False)
                self.downsample = nn.Sequential(conv, nn.BatchNorm2d(out))

        def forward(self, x):
            identity = x
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            if self.downsample is not None:
                identity = self.downsample(x)
            out += identity
            return self.relu(out)

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 4, 7, 2, 3, bias=False)
            self.maxpool = nn.MaxPool2d(3, 2, 1)
            self.layer1 = nn.Sequential(Residual(4, 4), Residual(4, 4))
            self.layer2 = nn.Sequential(Residual(4, 8, 2), Residual(8, 8))
            self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(8, 5)

        def forward(self, x):
            x = self.maxpool(self.conv1(x))
            x = self.avgpool(self.layer2(self.layer1(x)))
            return self.fc(library.flatten(x, 1))

    class Inverted(nn.Module):
        def __init__(self, channels, out, stride, ratio):
            super().__init__()
            hidden = channels * ratio
            self.shortcut = stride == 1 and channels == out
            self.conv = nn.Sequential(
                nn.Conv2d(channels, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(True),
                nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False),
                nn.BatchNorm2d(hidden), nn.Hardswish(),
                nn.Conv2d(hidden, out, 1, bias=False), nn.BatchNorm2d(out),
            )  # fmt: skip
            self.squeeze = nn.AdaptiveAvgPool2d(1)
            self.scale = nn.Conv2d(out, out, 1)

        def forward(self, x):
            out = self.conv(x)
            out = out * functional.hardsigmoid(self.scale(self.squeeze(out)))
            return x + out if self.shortcut else out

    class MobileNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(Inverted(3, 4, 2, 2), Inverted(4, 4, 1, 3))
            self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(4, 3))

        def forward(self, x):
            x = functional.adaptive_avg_pool2d(self.features(x), (1, 1))
            return self.classifier(x.view(x.size(0), -1))

    class Attention(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x):
            batch, length, width = x.shape
            q, k, v = self.qkv(x).chunk(3, dim=-1)
            shape = (batch, length, self.heads, width // self.heads)
            q, k, v = (t.reshape(*shape).transpose(1, 2) for t in (q, k, v))
            scores = q @ k.transpose(-2, -1) / math.sqrt(4)
            mixed = library.softmax(scores, dim=-1) @ v
            return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(11, 8)
            self.position = nn.Parameter(library.ones(1, 6, 8))
            self.register_buffer("mask", library.ones(6, 8))
            self.norm, self.attention = nn.LayerNorm(8), Attention(8, 2)
            self.ff = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))

        def forward(self, tokens):
            x = self.embed(tokens) + self.position[:, : tokens.size(1)]
            x = x * self.mask
            x = x + self.attention(self.norm(x))
            return functional.layer_norm(x + self.ff(x), (8,), self.norm.weight, self.norm.bias)

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
            self.lstm = nn.LSTM(8, 4, batch_first=True)

        def forward(self, x):
            out, (h, c) = self.lstm(self.layer(x))
            return {"out": out, "state": [h, c]}

    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
            self.extra = nn.ModuleDict({"a.b".replace(".", "_"): self.layers[0]})

        def forward(self, x, scale: float = 2.0):
            for layer in self.layers:
                x = functional.relu(layer(x))
            return self.extra["a_b"](x) * scale

    return {
        "ResNet": (ResNet(), [(2, 3, 16, 16)]),
        "MobileNet": (MobileNet(), [(2, 3, 8, 8)]),
        "Transformer": (Transformer(), ["tokens"]),
        "Encoder": (Encoder(), [(2, 5, 8)]),
        "Shared": (Shared(), [(3, 4)]),
    }


def functions(library):
    """Functions of tensors of shape (4, 4): ``name -> function``."""
    functional = library.nn.functional

    def annotated(x: library.Tensor, y: int = 3) -> library.Tensor:
        return library.add(x, y)

    def everything(x, *args, **kwargs):
        return x + args[0] * kwargs["scale"]

    def keyword_only(x, *, flag=None, scale=2.0):
        return x * scale

    def unpacked(x):
        a, b = x.chunk(2)
        (c, d), e = library.split(a, 1), b
        return a - b, c * d, e

    def operators(x):
        y = 1 - x, 2**x, abs(x), -x, x // 2, 2 // x, x % 3, 7 % x, x @ x, +x
        return y, x < 1, 1 < x, x == x, x != 2, x >= 0, x <= 0, 3 / x, x / 3

    def inplace(x):
        y = x + 1
        y += 2
        y *= x
        return y.add_(1).relu_()

    def constants(x):
        return x * library.tensor([1.0, 2.0, 3.0, 4.0]), float("inf"), -2.5, None, True, "a"

    def indices(x):
        return x[0], x[1:, None], x[..., -1], x[x > 0], x[:, [0, 1]], x[0, 1:3, ...]

    def attributes(x):
        return x.T, x.shape, x.shape[0], x.dtype, x.device, x.ndim, x.mT.contiguous()

    def factories(x):
        return library.zeros(x.shape, dtype=x.dtype) + library.ones(x.size(0))

    def alike(x):
        return library.zeros_like(x) + library.full_like(x, 2.0)

    def joined(x):
        return library.cat([x, x], dim=0), library.stack((x, x)), library.where(x > 0, x, 0)

    def reduced(x):
        values, places = library.max(x, 1)
        return x.sum(), x.mean(dim=0, keepdim=True), values, places, library.argmax(x)

    def structured(x):
        return {"a": [x, (x + 1, {"b": x * 2})], "c": Pair(x, x.sum()), "d": slice(1, None)}

    def mathematics(x):
        return x * math.sqrt(x.size(0)), math.pi * x

    def layers(x):
        x = functional.linear(x, library.ones(4, 4), None)
        x = functional.dropout(x, 0.5, training=False)
        x = functional.layer_norm(x, (4,))
        x = functional.pad(x, (1, 1))
        x = functional.softmax(x, dim=-1)
        return functional.mse_loss(x, x), functional.interpolate(x[None], scale_factor=2)

    def names(input, torch, device):
        return input + torch - device

    return {
        name: value for name, value in locals().items() if callable(value) and name != "library"
    }


def checked(x):
    """A function with an assertion, in a file whose assertions pytest leaves alone."""
    assert x.sum() > 0
    return x

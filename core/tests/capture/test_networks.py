"""Networks of several kinds: compiled inference gives eager's numbers, at two batch sizes."""

from __future__ import annotations

import pytest

import rushlight
from rushlight import nn


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.GELU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 12), nn.ReLU(), nn.Linear(12, 10),
    ), (1, 28, 28)  # fmt: skip


class Inverted(nn.Module):
    def __init__(self, stride):
        super().__init__()
        self.path = nn.Sequential(
            nn.Conv2d(8, 16, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU6(),
            nn.Conv2d(16, 16, 3, stride, 1, groups=16, bias=False), nn.BatchNorm2d(16),
            nn.Hardswish(), nn.Conv2d(16, 8, 1), nn.BatchNorm2d(8, affine=False),
        )  # fmt: skip
        self.joined = stride == 1

    def forward(self, x):
        return nn.functional.relu(x + self.path(x)) if self.joined else self.path(x)


def mobile():
    return nn.Sequential(Inverted(1), Inverted(2), Inverted(1)), (8, 16, 16)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.bottom = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.norm, self.up = nn.BatchNorm2d(8), nn.ConvTranspose2d(16, 8, 2, 2)
        self.head = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        first = nn.functional.silu(self.norm(self.down(x)))
        x = self.up(self.bottom(nn.functional.max_pool2d(first, 2)))
        return {"mask": self.head(rushlight.cat([first, x], 1)), "features": [first, x]}


def unet():
    return UNet(), (3, 16, 16)


class Attending(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, 0.1, "gelu", batch_first=True)
        self.core = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.mix, self.norm = nn.Linear(32, 96), nn.LayerNorm(32)

    def forward(self, x):
        x = self.core(x) + rushlight.arange(x.shape[1])[:, None] * 0.01
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, 4, -1).transpose(1, 2)
            for part in self.mix(self.norm(x)).split(width, 2)
        )
        found = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return found.transpose(1, 2).reshape(batch, length, width)[:, -1]


def attention():
    return Attending(), (12, 32)


def recurrent():
    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.core, self.head = nn.LSTM(8, 16, 2, batch_first=True), nn.Linear(16, 3)

        def forward(self, x):
            return self.head(self.core(x)[0][:, -1])

    return Last(), (5, 8)


def words():
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.positions = nn.Embedding(50, 32), nn.Embedding(12, 32)
            layer = nn.TransformerEncoderLayer(32, 4, 64, 0.1, batch_first=True)
            self.core = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

        def forward(self, x):
            index = (x.abs() * 10).long().clamp(max=49)
            x = self.words(index) + self.positions(rushlight.arange(x.shape[1]))
            return self.core(x)[:, 0]

    return Encoder(), (12,)


NETWORKS = [lenet, mobile, unet, attention, words, recurrent]


@pytest.mark.parametrize("make", NETWORKS, ids=lambda f: f.__name__)
def test_compiled_network(make):
    rushlight.manual_seed(0)
    model, shape = make()
    model(rushlight.randn(4, *shape))  # batch norm has statistics of its own
    model.eval()
    compiled = rushlight.compile(model)
    for batch in (1, 3):
        x = rushlight.randn(batch, *shape)
        with rushlight.inference_mode():
            for _ in range(2):
                rushlight.testing.assert_close(compiled(x), model(x), rtol=1e-5, atol=1e-5)
            assert rushlight._dynamo.explain(model)(x).captured_share == 1.0
            frozen = rushlight.compile(model, options={"freezing": True})
            for _ in range(2):
                rushlight.testing.assert_close(frozen(x), model(x), rtol=1e-5, atol=1e-5)

"""fvcore: operations, activations and parameters of networks, by modules and by kinds of calls."""

import logging

import torch
from common import report
from fvcore.nn import (
    ActivationCountAnalysis,
    FlopCountAnalysis,
    flop_count_str,
    flop_count_table,
    parameter_count,
    parameter_count_table,
)
from torch import nn


class Residual(nn.Module):
    """Two convolutions around which the input goes."""

    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, groups=2)

    def forward(self, x):
        return x + self.second(torch.relu(self.norm(self.first(x))))


class Attention(nn.Module):
    """A block of a transformer, written out."""

    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(size)
        self.project, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)

    def forward(self, x):
        batch, length, size = x.shape
        parts = self.project(self.norm(x)).reshape(batch, length, 3, self.heads, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-2, -1)).softmax(-1)
        mixed = torch.einsum("bhij,bhjd->bhid", weights, v)
        return x + self.out(mixed.transpose(1, 2).reshape(batch, length, size))


def pictures():
    return nn.Sequential(
        nn.Conv2d(3, 8, 7, stride=2, padding=3), nn.MaxPool2d(2), Residual(8),
        nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Upsample(scale_factor=2), nn.AdaptiveAvgPool2d(2),
        nn.Flatten(), nn.Linear(16, 5),
    )  # fmt: skip


def told(net, inputs):
    """All that the counters say of a network."""
    flops, activations = FlopCountAnalysis(net, inputs), ActivationCountAnalysis(net, inputs)
    return {
        "flops": flops.total(),
        "by module": dict(flops.by_module()),
        "by operator": dict(flops.by_operator()),
        "by both": {name: dict(each) for name, each in flops.by_module_and_operator().items()},
        "not counted": dict(flops.unsupported_ops()),
        "not called": sorted(flops.uncalled_modules()),
        "activations": dict(activations.by_module_and_operator()),
        "parameters": dict(parameter_count(net)),
        "table": flop_count_table(flops).splitlines(),
        "text": flop_count_str(flops).splitlines(),
        "sizes": parameter_count_table(net).splitlines(),
    }


def main():
    logging.disable(logging.WARNING)
    torch.manual_seed(0)
    words = nn.Sequential(nn.Embedding(20, 16), Attention(16, 4), nn.GELU(), nn.Linear(16, 3))
    found = {
        "pictures": told(pictures().eval(), torch.rand(2, 3, 32, 32)),
        "words": told(words.eval(), torch.randint(0, 20, (2, 7))),
    }
    report(**found)


if __name__ == "__main__":
    main()

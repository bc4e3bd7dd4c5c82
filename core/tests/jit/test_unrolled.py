"""Loops that are unrolled, lists that are put together, and f-strings."""

import io

import pytest

import rushlight
from rushlight import jit, nn

SIZES = (2, 3)


class Unrolled(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 3), nn.Linear(3, 2)
        self.layers = nn.ModuleList([nn.ReLU(), nn.Tanh()])

    def forward(self, x):
        for name in ("a", "b"):
            x = getattr(self, name)(x)
        for i, (size, layer) in enumerate(zip(SIZES, self.layers)):  # noqa: B905
            x = layer(x) * size + i
        total = 0
        for low, high in ((0, 1), (1, 2)):
            total += low * high
        outs = [layer(x) for layer in self.layers]
        pairs = [layer(x) * size for size, layer in zip(SIZES, self.layers)]  # noqa: B905
        sizes = [x.shape[0], *[1] * (x.dim() - 1), 7]
        if total > 1:
            i = 5
        text = f"{total} {'a'!r} {i}"
        return x, outs + pairs, sizes, text, any(s > 6 for s in sizes), sum([s for s in sizes])


def test_loops_over_known_items():
    module = Unrolled()
    x = rushlight.randn(4, 2)
    compiled = jit.script(module)
    for run in (compiled, jit.load(io.BytesIO(compiled.save_to_buffer()))):
        ours, theirs = run(x), module(x)
        assert rushlight.equal(ours[0], theirs[0])
        assert all(rushlight.equal(a, b) for a, b in zip(ours[1], theirs[1], strict=True))
        assert ours[2:] == theirs[2:]


class Sliced(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.Sigmoid(), nn.Softplus()])

    def forward(self, x):
        for layer in self.layers[-3:-1]:
            x = layer(x)
        return self.layers[-1](x)


class SlicedByNumber(Sliced):
    def forward(self, x):
        start = x.size(0)
        for layer in self.layers[start : start + 1]:
            x = layer(x)
        return x


def test_modules_are_sliced_by_numbers_that_are_known():
    x = rushlight.linspace(-1, 1, 5)
    model = Sliced()
    assert rushlight.equal(jit.script(model)(x), model(x))
    with pytest.raises(RuntimeError, match="non-constant index"):
        jit.script(SlicedByNumber())

"""Copies, casts and results of tensors of any layout lie in memory as PyTorch's do."""

import random

import pytest

import rushlight

torch = pytest.importorskip("torch")

CALLS = {
    "cast": lambda lib, x: x.to(lib.float64),
    "integers": lambda lib, x: x.to(lib.int64),
    "half": lambda lib, x: x.half(),
    "clone": lambda lib, x: x.clone(),
    "copy": lambda lib, x: x.to(x.dtype, copy=True),
    "empty_like": lambda lib, x: lib.empty_like(x),
    "zeros_like": lambda lib, x: lib.zeros_like(x),
    "full_like": lambda lib, x: lib.full_like(x, 2.0),
    "rand_like": lambda lib, x: lib.rand_like(x, dtype=lib.float64),
}
RESULTS = {
    "exp": lambda lib, x: x.exp(),
    "add": lambda lib, x: x + x,
    "greater": lambda lib, x: x > 2,
    "dropout": lambda lib, x: lib.nn.functional.dropout(x, 0.5),
    "sort": lambda lib, x: x.sort(-1)[0],
    "cat": lambda lib, x: lib.cat([x, x]),
    "stack": lambda lib, x: lib.stack([x, x]),
}


def _layouts(count):
    """Shapes, strides and whether the tensor is expanded: dense, with gaps, overlapping."""
    choose = random.Random(7)
    for _ in range(count):
        shape = [choose.choice((1, 2, 3, 4, 5)) for _ in range(choose.choice((1, 2, 3, 4, 5)))]
        kind = choose.choice(("dense", "gaps", "overlapping", "expanded", "channels last"))
        order = list(range(len(shape)))
        choose.shuffle(order)
        if kind == "channels last":
            order = [1, *range(len(shape) - 1, 1, -1), 0] if len(shape) > 1 else [0]
        strides, step = [0] * len(shape), 1
        for d in order:
            strides[d] = step
            step *= shape[d] + (choose.choice((0, 1)) if kind == "gaps" else 0)
        if kind == "overlapping":
            strides = [choose.choice((1, 2, 3)) for _ in shape]
        if kind == "expanded":
            strides[choose.randrange(len(shape))] = 0
        yield tuple(shape), tuple(strides)


def _made(lib, shape, strides):
    return lib.as_strided(lib.arange(20000.0), shape, strides)


@pytest.mark.parametrize("name", CALLS)
def test_copies(name):
    for layout in _layouts(150):
        ours, theirs = (CALLS[name](lib, _made(lib, *layout)) for lib in (rushlight, torch))
        assert ours.stride() == theirs.stride(), layout


@pytest.mark.parametrize("name", RESULTS)
def test_results(name):
    """Strides of dimensions of one element lead nowhere and are left out."""
    for layout in _layouts(150):
        ours, theirs = (RESULTS[name](lib, _made(lib, *layout)) for lib in (rushlight, torch))
        found, expected = (
            [s for s, n in zip(out.stride(), out.shape, strict=True) if n > 1]
            for out in (ours, theirs)
        )
        assert found == expected, layout


def test_new_dimensions():
    """Twice: the first views are made by Python, later ones by machine code."""
    for _ in range(20):
        for dim in range(-4, 4):
            ours, theirs = (
                lib.zeros(2, 3, 4).permute(1, 2, 0).unsqueeze(dim).stride()
                for lib in (rushlight, torch)
            )
            assert ours == theirs, dim
    for lib in (rushlight, torch):
        x = lib.zeros(2, 3, 4).permute(1, 2, 0)
        x[0]
        assert x[None].stride() == (12, 4, 1, 12)
        assert x[..., None].stride() == (4, 1, 12, 1)
        assert x[:, None, 1:2].stride() == (4, 4, 1, 12)

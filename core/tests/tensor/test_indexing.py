"""Reading at one index tensor among slices: elements, layouts, gradients, errors."""

from __future__ import annotations

import pytest

import rushlight

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("turned", [False, True])
def test_one_tensor_among_slices(turned):
    """Elements, layout in memory, and gradients of both orders, as PyTorch's."""
    at, mask, table = [3, 0, -2, 3], [True, False, True, True, False], [[0, 1], [2, -1]]
    indices = [
        lambda lib: (slice(None), lib.tensor(at)), lambda lib: (..., lib.tensor(at)),
        lambda lib: (slice(None), slice(1, 3), lib.tensor(at)),
        lambda lib: (slice(1, None), lib.tensor(at)),
        lambda lib: (lib.tensor(at[1:2]), slice(None, None, 2)),
        lambda lib: (slice(None), lib.tensor(mask)), lambda lib: (..., lib.tensor(mask)),
        lambda lib: (slice(None), lib.tensor(table)), lambda lib: (slice(0, 0), lib.tensor(at)),
        lambda lib: (slice(None), lib.tensor(at), ..., slice(0, 3)),
        lambda lib: (slice(None), lib.tensor([], dtype=lib.int64)),
        lambda lib: (..., lib.tensor(at), slice(None)),
    ]  # fmt: skip
    for make in indices:
        found = []
        for lib in (rushlight, torch):
            x = lib.arange(125.0, dtype=lib.float64).reshape(5, 5, 5)
            x = (x.permute(2, 0, 1) if turned else x).requires_grad_()
            out = x[make(lib)]
            (slope,) = lib.autograd.grad((out**3).sum(), x, create_graph=True)
            (bend,) = lib.autograd.grad((slope * slope).sum(), x)
            parts = [out, slope, bend]
            found.append([(part.tolist(), tuple(part.shape)) for part in parts])
            found[-1].append(out.stride() if out.numel() else None)
        assert found[0] == found[1]


@pytest.mark.parametrize(
    "make",
    [
        lambda lib: (slice(None), lib.tensor([5])),
        lambda lib: (..., lib.tensor([-6])),
        lambda lib: (slice(None), lib.tensor([True] * 4)),
        lambda lib: (slice(None),) * 3 + (lib.tensor([0]),),
        lambda lib: (slice(None, None, -1), lib.tensor([0])),
        lambda lib: (..., ..., lib.tensor([0])),
    ],
)
def test_one_tensor_among_slices_refused(make):
    with pytest.raises((IndexError, ValueError)) as theirs:
        torch.zeros(5, 5, 5)[make(torch)]
    with pytest.raises(theirs.type):
        rushlight.zeros(5, 5, 5)[make(rushlight)]

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


LISTS = {
    "slices": lambda lib: [slice(None), slice(0, 2)],
    "one slice": lambda lib: [slice(1)],
    "none": lambda lib: [None, 1],
    "ellipsis": lambda lib: [..., 0],
    "number and slice": lambda lib: [0, slice(None)],
    "lists": lambda lib: [[0, 1], [1, 2]],
    "a list and a number": lambda lib: [[0, 1], 0],
    "tensors": lambda lib: [lib.tensor([0, 1]), lib.tensor([0, 2])],
    "a scalar tensor": lambda lib: [lib.tensor(0), 1],
    "a tensor and a number": lambda lib: [lib.tensor([0, 1]), 0],
}
POSITIONS = {
    "numbers": lambda lib: [0, 1],
    "mask": lambda lib: [True, False],
    "empty": lambda lib: [],
    "many": lambda lib: [0, 1] * 20,
}


def read_and_written(lib, index, grad):
    """What an index reads, its gradient, and what is there after writing at it."""
    x = lib.arange(24.0).view(2, 3, 4).requires_grad_(grad)
    out = x[index]
    found = [tuple(out.shape), out.tolist()]
    if grad:
        found.append(lib.autograd.grad(out.square().sum(), x)[0].tolist())
    for value in (-1.0, lib.tensor(-2.0)):
        y = x.detach().clone()
        y[index] = value
        found.append(y.tolist())
    return found


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", [*LISTS, *POSITIONS])
def test_lists_as_indices(name, grad):
    make = {**LISTS, **POSITIONS}[name]
    ours, theirs = (read_and_written(lib, make(lib), grad) for lib in (rushlight, torch))
    assert ours == theirs


@pytest.mark.parametrize("name", LISTS)
def test_a_list_that_is_read_as_a_tuple_warns(name):
    for lib in (rushlight, torch):
        x, index = lib.zeros(2, 3, 4), LISTS[name](lib)
        with pytest.warns(UserWarning, match="non-tuple sequence"):
            x[index]
        with pytest.warns(UserWarning, match="non-tuple sequence"):
            x[index] = 1.0

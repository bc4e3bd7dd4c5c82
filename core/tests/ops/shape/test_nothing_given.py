"""Pieces of dimensions without elements, and lists without tensors, as PyTorch has them."""

from __future__ import annotations

import warnings

import pytest

import rushlight
from rushlight.ops._table.recording import record

torch = pytest.importorskip("torch")

PIECES = {
    "chunk": lambda m, x: x.chunk(3),
    "chunk of a later dim": lambda m, x: m.ones(2, 3, 0).chunk(2, -1),
    "unsafe_chunk": lambda m, x: m.unsafe_chunk(x, 2),
    "split": lambda m, x: x.split(2),
    "split of sizes": lambda m, x: x.split([len(x), 0]),
    "tensor_split": lambda m, x: x.tensor_split(3),
    "hsplit": lambda m, x: m.ones(0, 4).hsplit(2),
    "unbind": lambda m, x: x.unbind(),
    "iteration": lambda m, x: tuple(x),
    "meshgrid": lambda m, x: m.meshgrid(m.ones(0), m.ones(2), indexing="ij"),
}
LISTS = {
    "meshgrid": lambda m: m.meshgrid(),
    "stack": lambda m: m.stack([]),
    "cat": lambda m: m.cat([]),
    "einsum": lambda m: m.einsum("i->i"),
    "hstack": lambda m: m.hstack(()),
    "cartesian_prod": lambda m: m.cartesian_prod(),
}


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("name", PIECES)
def test_pieces_of_nothing(name, asks):
    shapes = []
    for library in (rushlight, torch):
        for count in (2, 2, 2, 0):  # by then calls of this form are known
            pieces = PIECES[name](library, library.ones(count, 2, requires_grad=asks))
        shapes.append([tuple(piece.shape) for piece in pieces])
    assert shapes[0] == shapes[1]


def test_gradients_of_pieces_of_nothing():
    x = rushlight.ones(2, 0, requires_grad=True)
    sum(piece.sum() for piece in x.chunk(3, 1)).backward()
    assert x.grad.shape == (2, 0)


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_nothing(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as expected:  # noqa: B017, PT011 - PyTorch's own
            LISTS[name](torch)
    with pytest.raises(expected.type):
        LISTS[name](rushlight)


def test_no_results_are_recorded():
    x = rushlight.ones(0, 2, requires_grad=True)
    assert record(rushlight.unbind.op, (x,), [None, 0], ()) is None

"""Whatever makes a tensor takes the shape of another, small or large, as its first call."""

from __future__ import annotations

import itertools

import pytest

import rushlight

MAKERS = {
    "empty": rushlight.empty,
    "zeros": rushlight.zeros,
    "ones": rushlight.ones,
    "full": lambda size: rushlight.full(size, 2.0),
    "rand": rushlight.rand,
    "randn": rushlight.randn,
    "randint": lambda size: rushlight.randint(5, size),
    "normal": lambda size: rushlight.normal(0.0, 1.0, size),
    "new_zeros": lambda size: rushlight.ones(1).new_zeros(size),
    "new_full": lambda size: rushlight.ones(1).new_full(size, 3.0),
    "new_empty": lambda size: rushlight.ones(1).new_empty(size),
    "uniform": lambda size: rushlight.nn.init.uniform_(rushlight.empty(size)),
    "expand": lambda size: rushlight.ones(1).expand(size),
    "double": lambda size: rushlight.randn(size, dtype=rushlight.float64),
    "bernoulli": lambda size: rushlight.bernoulli(rushlight.full(size, 0.5)),
}
# Kernels and memory are chosen by size, and kept by shape: no shape is asked for twice.
_more = itertools.count(1)


@pytest.mark.parametrize("rows", [1, 100, 10_000, 100_000, 500_000])
@pytest.mark.parametrize("name", MAKERS)
def test_shapes_of_tensors_are_sizes(name, rows):
    like = rushlight.zeros(1, 1).expand(rows + next(_more), 1)
    assert type(like.shape) is rushlight.Size
    assert MAKERS[name](like.shape).shape == like.shape

"""Distinct elements as steps of captured programs: three results always, as ATen has them."""

from __future__ import annotations

import importlib

from rushlight.dtypes import int64
from rushlight.ops._table.aten import in_aten
from rushlight.ops._table.value_sized import value_sized
from rushlight.tensor.overriding import overridable


def _sizes(draw, self, sorted=True, inverse=False, counts=False):
    """The distinct elements, an index of each element, how often each occurs."""
    count = draw(most=self.numel())
    found = self.new_empty((count,))
    return (
        found,
        found.new_empty(self.shape if inverse else (0,), dtype=int64),
        found.new_empty((count if counts else 0,), dtype=int64),
    )


def _slice_sizes(draw, self, dim, sorted=True, return_inverse=False, return_counts=False):
    """The distinct slices along a dimension, an index of each slice, how often each occurs."""
    dim, length = dim % self.dim(), self.shape[dim]
    count = draw(most=length, dim=dim)
    shape = list(self.shape)
    shape[dim] = count
    found = self.new_empty(shape)
    return (
        found,
        found.new_empty((length if return_inverse else 0,), dtype=int64),
        found.new_empty((count if return_counts else 0,), dtype=int64),
    )


def _run_sizes(draw, self, return_inverse=False, return_counts=False, dim=None):
    """The first of each run of equal elements or slices, the run of each, the runs' lengths."""
    if dim is not None:
        return _slice_sizes(draw, self, dim, True, return_inverse, return_counts)
    return _sizes(draw, self, True, return_inverse, return_counts)


def _three(results, inverse, counts, like):
    """What `unique` gives, as ATen has it."""
    results = list(results) if isinstance(results, tuple) else [results]
    for at, there in ((1, inverse), (2, counts)):
        if not there:
            results.insert(at, like.new_empty((0,), dtype=int64))
    return tuple(results)


def _unique():
    return importlib.import_module("rushlight.ops.reduction.sorting")


@value_sized(_sizes)
@in_aten(
    "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) "
    "-> (Tensor, Tensor, Tensor)"
)
@overridable(as_given=True)
def of_elements(self, sorted=True, return_inverse=False, return_counts=False):
    """The distinct elements of a tensor."""
    found = _unique().unique(self, sorted, return_inverse, return_counts)
    return _three(found, return_inverse, return_counts, self)


@value_sized(_slice_sizes)
@in_aten(
    "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool "
    "return_counts=False) -> (Tensor, Tensor, Tensor)"
)
@overridable(as_given=True)
def of_slices(self, dim, sorted=True, return_inverse=False, return_counts=False):
    """The distinct slices of a tensor along a dimension."""
    found = _unique().unique(self, sorted, return_inverse, return_counts, dim)
    return _three(found, return_inverse, return_counts, self)


@value_sized(_run_sizes)
@in_aten(
    "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, "
    "int? dim=None) -> (Tensor, Tensor, Tensor)"
)
@overridable(as_given=True)
def of_runs(self, return_inverse=False, return_counts=False, dim=None):
    """The first of each run of equal elements or slices of a tensor."""
    membership = importlib.import_module("rushlight.ops.reduction.membership")
    found = membership.unique_consecutive(self, return_inverse, return_counts, dim)
    return _three(found, return_inverse, return_counts, self)


def captured_runs(input, inverse, counts, dim):
    """`unique_consecutive` in a program that is captured: the results that are asked for."""
    return _wanted(of_runs(input, inverse, counts, dim), inverse, counts)


def captured_unique(input, sorted, inverse, counts, dim):
    """`unique` in a program that is captured: the results that are asked for."""
    function, given = (of_elements, (input,)) if dim is None else (of_slices, (input, dim))
    found = function(*given, sorted, inverse, counts)
    return _wanted(found, inverse, counts)


def _wanted(found, inverse, counts):
    wanted = [r for r, there in zip(found, (True, inverse, counts), strict=True) if there]
    return wanted[0] if len(wanted) == 1 else tuple(wanted)

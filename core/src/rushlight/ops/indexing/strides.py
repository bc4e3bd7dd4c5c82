"""Strides of what indexing gives: of new dimensions, and of copies."""

from __future__ import annotations

from rushlight.machine import np
from rushlight.machine.arrays import is_array, strided
from rushlight.machine.meta_array import meta_array
from rushlight.ops._table.shape_rules import indexed
from rushlight.tensor.memory_format import empty_iterated


def with_new_steps(out, input, index):
    """A view with the strides that PyTorch gives new dimensions: each leads behind the dimension of
    the input that comes next."""
    steps, dim, at = list(out.strides), 0, 0
    for item in index:
        if item is None:
            inner = dim < input.ndim
            steps[at] = input.shape[dim] * input.strides[dim] if inner else input.itemsize
            at += 1
        elif item is Ellipsis:
            skipped = input.ndim - sum(i is not None and i is not Ellipsis for i in index)
            dim, at = dim + skipped, at + skipped
        else:
            dim, at = dim + 1, at + (type(item) is slice)
    return strided(out, out.shape, tuple(steps))


def walked_strides(input, index, ndim):
    """Strides of the input and of the index tensors over the dimensions of the result."""
    places, tables, dim = [], [], 0
    for item in index:
        if is_array(item):
            parts = item.nonzero() if item.dtype.kind == "b" else (item,)
            tables += parts
            places += range(dim, dim + len(parts))
            dim += len(parts)
        else:
            dim += 1
    tables = np.broadcast_arrays(*tables)
    adjacent = places == list(range(places[0], places[0] + len(places)))
    first, count = places[0] if adjacent else 0, tables[0].ndim
    own = [step for d, step in enumerate(input.strides) if d not in places]
    rest = ndim - first - count
    return [
        (*own[:first], *(0,) * count, *own[first:]),
        *[(*(0,) * first, *table.strides, *(0,) * rest) for table in tables],
    ]


def indexed_without_memory(input, index):
    """The result of advanced indexing on the meta device."""
    shape, _ = indexed(input, index)
    return empty_iterated(shape, input.dtype, walked_strides(input, index, len(shape)), meta_array)

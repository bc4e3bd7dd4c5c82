"""Sparse data and masks: their patterns, the indices at which they hold elements, are equal."""

from __future__ import annotations

from rushlight.ops.shape.joining import stack
from rushlight.ops.sparse.tensors import with_elements
from rushlight.tensor.layout import sparse_coo, strided


def pattern_of(tensor):
    """The index tensors of a sparse tensor."""
    if tensor.layout is sparse_coo:
        return (tensor.indices(),)
    return tensor.crow_indices(), tensor.col_indices()


def values_of(tensor):
    """The elements that a tensor holds: its values where it is sparse."""
    return tensor if tensor.layout is strided else tensor.values()


def with_values(tensor, values):
    """`values` in the layout and at the indices of `tensor`."""
    return values if tensor.layout is strided else with_elements(tensor, values)


def _equal(a, b):
    """Whether two dense tensors of as many dimensions have equal elements, broadcast."""
    return a.dim() == b.dim() and bool((a == b).all())


def same_pattern(a, b) -> bool:
    """Whether two sparse tensors hold elements at the same indices."""
    if a.layout is not b.layout or a.size() != b.size():
        return False
    pairs = zip(pattern_of(a), pattern_of(b), strict=True)
    return all(x.shape == y.shape and _equal(x, y) for x, y in pairs)


def same_elements(a, b) -> bool:
    """Whether two tensors of the same layout are equal.

    Raises ValueError where the layouts differ.
    """
    if a.layout is not b.layout:
        raise ValueError(
            f"`a` and `b` must have the same layout. Got {a.layout!r} and {b.layout!r}"
        )
    if a.layout is strided:
        return _equal(a, b)
    return same_pattern(a, b) and _equal(a.values(), b.values())


def with_pattern_of(mask, data):
    """`data`, at the indices of `mask` where they hold different numbers of elements."""
    if data.layout is sparse_coo:
        data, mask = data.coalesce(), mask.coalesce()
    return data if data._nnz() == mask._nnz() else data.to_dense().sparse_mask(mask)


def coordinates_of(tensor):
    """The indices of a sparse matrix's or COO tensor's values, a column each."""
    if tensor.layout is sparse_coo:
        return tensor.indices()
    crow = tensor.crow_indices()
    rows = crow.new_tensor(range(len(crow) - 1)).repeat_interleave(crow.diff())
    return stack([rows, tensor.col_indices()])

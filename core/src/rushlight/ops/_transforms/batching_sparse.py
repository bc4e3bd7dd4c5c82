"""Batching rules of products with sparse matrices."""

from __future__ import annotations

from rushlight.ops._transforms.batching import is_batched
from rushlight.ops._transforms.batching_rules import rule


@rule
def _spmm(level, op, values):
    """One product for all examples that share the matrix: their columns side by side."""
    elements, other, pattern, rows = values
    if is_batched(elements, level):
        return NotImplemented
    count, inner, width = level.size, *other._array.shape
    columns = other._inner.permute(1, 0, 2).reshape(inner, count * width)
    out = op.function(elements, columns, pattern, rows)
    return out.reshape(out.shape[0], count, width).permute(1, 0, 2)

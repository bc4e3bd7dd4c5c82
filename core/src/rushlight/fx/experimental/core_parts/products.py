"""Products of matrices as traces have them: ``mm``, ``bmm``, ``mv`` and ``dot``, as PyTorch takes
``matmul`` apart while a function runs."""

from __future__ import annotations

import math

from rushlight.library.operators import lookup
from rushlight.ops.shape.views import broadcast_shapes
from rushlight.tensor.memory_format import contiguous_format


def _matmul(self, other):
    aten = lookup("aten")
    dims = self.dim(), other.dim()
    if 0 in dims:
        return NotImplemented  # which raises
    if dims == (1, 1):
        return aten.dot.default(self, other)
    if dims == (2, 1):
        return aten.mv.default(self, other)
    if dims == (1, 2):
        row = aten.mm.default(aten.unsqueeze.default(self, 0), other)
        return aten.squeeze_.dim(row, 0)
    if dims == (2, 2):
        return aten.mm.default(self, other)
    if dims == (3, 3):
        self, other = _without_ones(aten, self, other)
    if self.dim() > 2 and other.dim() <= 2 and self.is_contiguous():
        return _of_all_rows(aten, self, other)
    return _in_batches(aten, self, other)


def _without_ones(aten, self, other):
    """One matrix for all of the other stack as a matrix."""
    if (self.shape[0] == 1) == (other.shape[0] == 1):
        return self, other
    if self.shape[0] == 1:
        return aten.squeeze.dim(self, 0), other
    return self, aten.squeeze.dim(other, 0)


def _of_all_rows(aten, self, other):
    """One product of the rows of all matrices at once."""
    *outer, count = self.shape
    rows = aten.view.default(self, [math.prod(outer), count])
    if other.dim() == 1:
        return aten.view.default(aten.mv.default(rows, other), outer)
    product = aten.mm.default(rows, other)
    return aten.view.default(product, [*outer, other.shape[1]])


def _in_batches(aten, self, other):
    """A product for each matrix; a vector is one of a row or of a column, which goes again."""
    right = aten.unsqueeze.default(other, 1) if other.dim() == 1 else other
    batch = broadcast_shapes(self.shape[:-2], right.shape[:-2])
    stacks = []
    for each in (self, right):
        matrix = list(each.shape[-2:]) if each.dim() > 1 else [1, each.shape[0]]
        whole = aten.expand.default(each, [*batch, *matrix])
        stacks.append(_viewed(aten, whole, [math.prod(batch), *matrix]))
    rows = [] if self.dim() == 1 else [self.shape[-2]]
    columns = [] if other.dim() == 1 else [right.shape[-1]]
    return aten.view.default(aten.bmm.default(*stacks), [*batch, *rows, *columns])


def _viewed(aten, tensor, shape):
    """A view, or where strides allow none a view of a copy."""
    try:
        return aten.view.default(tensor, shape)
    except RuntimeError:
        copied = aten.clone.default(tensor, memory_format=contiguous_format)
        return aten.view.default(copied, shape)


def traced() -> dict:
    """What `make_fx` writes down for products, in graphs that have no whole ones."""
    return {lookup("aten").matmul.default: _matmul}

"""Sums, norms and softmax of sparse tensors."""

from __future__ import annotations

from rushlight import dtypes
from rushlight.machine import np
from rushlight.ops.reduction import sums_and_extremes as reduction
from rushlight.ops.sparse.arrangement import _dim
from rushlight.ops.sparse.history import only_first, whole
from rushlight.ops.sparse.tensors import (
    CSR,
    Pattern,
    _tensor,
    add_up,
    as_coo,
    as_csr,
    coalesced,
    is_sparse,
    make_sparse,
    missing,
    rule,
    with_elements,
)
from rushlight.tensor.tensor import Tensor, make_tensor


def _total_dtype(tensor, dtype):
    if dtype is not None:
        return dtype
    return dtypes.int64 if tensor.dtype.category < dtypes.FLOAT else tensor.dtype


@only_first
def _spread(grad, input, dtype):
    return grad.to(input.dtype).expand(input._pattern.size)


@whole(_spread, node="SumBackward0")
def _total(input, dtype):
    return as_coo(input)._elements.to(_total_dtype(input, dtype)).sum()


@only_first
def _spread_elements(grad, input, dtype):
    tensor = coalesced(input.detach())
    spread = grad.expand(tensor._held.shape)
    return with_elements(tensor, spread if dtype is None else spread.to(input.dtype, copy=True))


# The total whose gradient has the positions of the tensor.
_sparse_total = whole(_spread_elements, node="SumBackward0")(_total.__wrapped__)


@rule(reduction.sum, every=True)
def total(input, dim=None, keepdim=False, *, dtype=None):
    """The sum; dense where no sparse dimension is left. The gradient of the total is dense."""
    if dim is None and is_sparse(input):
        return _total(input, dtype)
    return sum(input, dim, keepdim, dtype=dtype)


def sum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum; dense where no sparse dimension is left."""
    if isinstance(input, Tensor) and not is_sparse(input):
        raise RuntimeError("sparse.sum: expected a sparse tensor")
    if input._pattern.special and dim is not None:
        raise missing("sum along dimensions", input)
    if keepdim:
        return _kept(input, dim, dtype)
    if dim is None or (isinstance(dim, tuple | list) and not dim):
        return _sparse_total(input, dtype)
    tensor = coalesced(as_coo(input))
    elements = tensor._elements.to(_total_dtype(tensor, dtype))
    dims = {_dim(tensor, d) for d in ([dim] if isinstance(dim, int) else dim)}
    count = tensor.sparse_dim()
    dense = [d - count + 1 for d in sorted(dims) if d >= count]
    elements = elements.sum(dense) if dense else elements
    kept = [d for d in range(count) if d not in dims]
    size = tuple(n for d, n in enumerate(tensor.shape) if d not in dims)
    if not kept:
        return elements.sum(0)
    if len(kept) == count:
        pattern = tensor._pattern.moved(size=size, coalesced=tensor._pattern.coalesced)
        return make_sparse(pattern, elements)
    indices = np.ascontiguousarray(tensor._pattern.indices[kept])
    return coalesced(make_sparse(Pattern(indices, size), elements))


def _kept(input, dim, dtype):
    """The sum with extents of 1 for the dimensions that it is over."""
    tensor = as_coo(input)
    dims = range(tensor.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    dims = {_dim(tensor, d) for d in dims}
    found = sum(tensor, sorted(dims), dtype=dtype)
    for d in sorted(dims):
        found = found.unsqueeze(d)
    if input.layout != CSR:
        return found
    return as_csr(found if is_sparse(found) else found.to_sparse())


def sparse_sum(input, dim=None, dtype=None):
    """The sum of a sparse tensor over all or some dimensions.

    >>> s = rushlight.eye(3).to_sparse()
    >>> rushlight.sparse.sum(s, 0).to_dense()
    tensor([1., 1., 1.])
    """
    if dtype is None and is_sparse(input) and dim is not None:
        dtype = input.dtype  # along dimensions that of integers stays, too
    return sum(input, dim, dtype=dtype)


@rule(reduction.norm)
def norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    """The norm of all elements."""
    if dim is not None:
        raise missing("norm along a dimension")
    order = 2 if p in ("fro", None) else p
    return coalesced(as_coo(input))._elements.reshape(-1).norm(order, dtype=dtype)


def _softmax(input, dim, dtype, logarithm):
    csr = input.layout == CSR
    tensor = coalesced(as_coo(input))
    elements = tensor._elements if dtype is None else tensor._elements.to(dtype)
    dim, count = _dim(tensor, dim), tensor.sparse_dim()
    if dim >= count:
        function = elements.log_softmax if logarithm else elements.softmax
        return with_elements(tensor, function(dim - count + 1))
    others = [d for d in range(count) if d != dim]
    keys = tensor._pattern.linear(others)
    names, group = np.unique(keys, return_inverse=True)
    group = group.reshape(-1)
    index = _tensor(group.astype(np.int64, copy=False))
    highest = np.full((len(names), *elements.shape[1:]), -np.inf, np.float64)
    np.maximum.at(highest, group, elements.detach().double().numpy())
    shift = make_tensor(highest, dtypes.float64).to(elements.dtype)
    shifted = elements - shift.index_select(0, index)
    powers = shifted.exp()
    totals = add_up(powers, group, len(names)).index_select(0, index)
    made = with_elements(tensor, shifted - totals.log() if logarithm else powers / totals)
    return as_csr(made) if csr else made


@rule("_sparse_softmax")
def softmax(input, dim, *, dtype=None):
    """The softmax along a dimension, over the given elements only: absent ones count as -inf."""
    return _softmax(input, dim, dtype, False)


@rule("_sparse_log_softmax")
def log_softmax(input, dim, *, dtype=None):
    """The logarithm of :func:`softmax`."""
    return _softmax(input, dim, dtype, True)

"""One number of 64 bits for many elements."""

from __future__ import annotations

from rushlight.dtypes import float64, int64, uint64
from rushlight.kernels.copying.assignment import by_rows
from rushlight.machine import np
from rushlight.machine.arrays import cast
from rushlight.ops._table.op import op
from rushlight.ops._table.shape_rules import reduced_shape
from rushlight.tensor.shape import wrap_dims
from rushlight.tensor.tensor import Tensor


def _samples(make):
    x = make(3, 4)
    return [((x,), {}), ((x, 1), {}), ((x, (0, 1)), {"keepdim": True}), ((make(),), {})]


def _axes(input, dim):
    """The dimensions to reduce; those without elements have no hash."""
    axes = wrap_dims(None if dim in ((), []) else dim, input.ndim)
    if not input.size and dim in ((), []):
        raise RuntimeError("hash_tensor: a tensor without elements needs `dim`")
    for axis in axes:
        if not input.shape[axis]:
            raise IndexError(f"hash_tensor: expected dimension {axis} to have elements")
    return axes


def _meta(input, dim=(), *, keepdim=False, mode=0):
    return reduced_shape(input.shape, dim or None, keepdim), uint64


@op(differentiable=False, batching="dims", meta=_meta, samples=_samples)
def hash_tensor(input: Tensor, dim=(), *, keepdim=False, mode=0):
    """The elements, as float64 or int64, joined bit by bit by exclusive or: uint64.

    `dim` is an int, several, or empty for all; `mode` 0 is the only one.

    >>> rushlight.hash_tensor(rushlight.tensor([1, 2, 4]))
    tensor(7, dtype=rushlight.uint64)
    """
    if mode != 0:
        raise RuntimeError(f"hash_tensor: mode must be 0 (exclusive or), got {mode}")
    kind = input.dtype.kind
    if kind == "c":
        raise NotImplementedError(f'"hash_tensor" not implemented for {input.dtype}')
    words = cast(input, int64.code if kind in "biu" else float64.code).view(np.uint64)
    found = np.bitwise_xor.reduce(words, axis=_axes(input, dim), keepdims=keepdim)
    return by_rows(np.asarray(found))

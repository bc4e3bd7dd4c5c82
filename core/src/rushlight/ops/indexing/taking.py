"""Elements of the flattened input, or along a dimension, at indices that may count from the end."""

from __future__ import annotations

from rushlight import devices, dtypes
from rushlight.autograd.mode import mode
from rushlight.kernels.indexing import indices as index_kernels
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.op import composite, op
from rushlight.ops.creation.tensors import zeros
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.indexing import index_calls as place_calls
from rushlight.ops.indexing.gathering import _meta_gather, gather
from rushlight.ops.indexing.index_checks import INDEX_DTYPES, distinct
from rushlight.tensor import construction
from rushlight.tensor.dispatch import stack
from rushlight.tensor.shape import wrap_dim
from rushlight.tensor.tensor import Tensor


# ------------------------------------------------------------------------------ the flattened input
def flat_places(name, index, count):
    """Indices into a flattened tensor, negative ones counted from its end."""
    if index.dtype not in INDEX_DTYPES:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {dtype_of(index)}")
    read = distinct(index)
    if read.size and (read.min() < -count or read.max() >= count):
        bad = read[(read < -count) | (read >= count)].flat[0]
        raise IndexError(
            f"{name}(): out of range: tried to access index {bad} on a tensor of {count} elements."
        )
    return np.where(index < 0, index + count, index)


@op(
    linear=True,
    samples=lambda make: [
        ((make(3, 4), make.integers(-12, 12, (5,))), {}),
        ((make(), make.integers(0, 1, (2, 1))), {}),
    ],
    meta=lambda input, index: (index.shape, dtype_of(input)),
    batching="take",
    saves="index",
)
def take(input: Tensor, index: Tensor):
    """The elements of the flattened input at `index`; negative ones count from the end."""
    return np.take(input, flat_places("take", index, input.size))


take.cpu(index_kernels.checked(index_kernels.take_flat, take.op.body))


def _take_gradient(grad, input_shape, index):
    flat = zeros(input_shape, dtype=grad._dtype, device=grad._device).reshape(-1)
    places = where(index < 0, index + flat.numel(), index).reshape(-1)
    return flat.index_add(0, places, grad.reshape(-1)).reshape(input_shape)


take.gradient(input=_take_gradient)


# ------------------------------------------------------------------------------ along a dimension
@op(
    linear=True,
    samples=lambda make: [],
    meta=lambda input, dim, index: _meta_gather(input, dim, index),
    method=False,
    tested_by="tests/kernels/indexing/test_places.py",
)
def _take_along(input: Tensor, dim, index: Tensor):
    """:func:`gather` where negative indices count from the end."""
    dim = wrap_dim(dim, input.ndim)
    n = input.shape[dim] if input.ndim else 1
    return gather.op.body(input, dim, np.where(index < 0, index + n, index))


def _take_along_gradient(grad, input_shape, dim, index):
    places = where(index < 0, index + (input_shape[dim] if input_shape else 1), index)
    return zeros(input_shape, dtype=grad._dtype, device=grad._device).scatter_add(dim, places, grad)


_take_along.cpu(place_calls.along(_take_along.op.body, True))
_take_along.gradient(input=_take_along_gradient)


@composite(
    samples=lambda make: [
        (make(3, 4), make.integers(0, 12, (5,))),
        (make(3, 4), make.integers(0, 3, (2, 4)), 0),
    ]
)
def take_along_dim(input: Tensor, indices: Tensor, dim=None):
    """Values along `dim` at `indices`, broadcast against the input; negative ones count from the
    end. Without `dim`, of the flattened input."""
    if not isinstance(indices, Tensor) or indices._dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(
            "take_along_dim(): dtype of indices should be Long but got "
            f"{getattr(indices, 'dtype', type(indices).__name__)}"
        )
    if dim is None:
        return take(input, indices.flatten())
    if input._array.ndim != indices._array.ndim:
        raise RuntimeError(
            "take_along_dim(): input and indices should have the same number of dimensions, but "
            f"got {input.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    at = wrap_dim(dim, input._array.ndim)
    own, other = input._array.shape, indices._array.shape
    if own[:at] == other[:at] and own[at + 1 :] == other[at + 1 :] and not stack.levels:
        if input._device is devices.cpu:
            if input._node is not None and mode.recording:  # by indices of its own, as in PyTorch
                indices = construction.made(indices._array.copy(), indices._dtype)
            return _take_along(input, at, indices)
    shape = list(np.broadcast_shapes(_but(input, at), _but(indices, at)))
    full, whole = [*shape], [*shape]
    full[at], whole[at] = indices.shape[at], input.shape[at]
    places = where(indices < 0, indices + input.shape[at], indices)
    return input.expand(*whole).gather(at, places.expand(*full))


def _but(tensor, dim):
    shape = list(tensor.shape)
    shape[dim] = 1
    return tuple(shape)

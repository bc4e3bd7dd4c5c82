"""Order: sort, topk, unique, searchsorted."""

from __future__ import annotations

from rushlight.backends import np
from rushlight.ops._op import composite, op
from rushlight.ops.reduction import ValuesIndices
from rushlight.tensor.shape import wrap_dim
from rushlight.tensor.tensor import Tensor, make_tensor


def _order(array, axis, descending):
    """A stable argsort; nan counts as the largest."""
    if not descending:
        return np.argsort(array, axis=axis, kind="stable")
    flipped = np.flip(array, axis)
    found = np.flip(np.argsort(flipped, axis=axis, kind="stable"), axis)
    return array.shape[axis] - 1 - found


def _samples(make):
    return [((make(3, 5),), {}), ((make(3, 5), 0, True), {}), ((make(), 0), {})]


@op(result=ValuesIndices, samples=_samples)
def sort(input: Tensor, dim=-1, descending=False, stable=False):
    """The elements in order along `dim`, and where they were."""
    if not input.ndim:
        return [input.copy(), np.zeros((), np.int64)]
    axis = wrap_dim(dim, input.ndim)
    order = _order(input, axis, descending)
    return [np.take_along_axis(input, order, axis), order]


def _sort_gradient(grad, out1, input_shape, dim):
    from rushlight.ops.creation import zeros

    if not input_shape:
        return grad
    return zeros(input_shape, dtype=grad._dtype).scatter_add(dim, out1, grad)


sort.gradient(input=_sort_gradient)


@composite()
def argsort(input: Tensor, dim=-1, descending=False, stable=False):
    """The indices that sort along `dim`."""
    return sort(input, dim, descending, stable)[1]


def _topk_samples(make):
    return [((make(3, 5), 2), {}), ((make(3, 5), 2, 0, False), {})]


@op(result=ValuesIndices, samples=_topk_samples)
def topk(input: Tensor, k, dim=-1, largest=True, sorted=True):
    """The `k` largest (or smallest) elements along `dim`, and where they were."""
    axis = wrap_dim(dim, input.ndim)
    size = input.shape[axis] if input.ndim else 1
    if not 0 <= k <= size:
        raise RuntimeError(
            f"selected index k out of range: k is {k}, dimension {dim} has size {size}"
        )
    if not input.ndim:
        return [input.copy(), np.zeros((), np.int64)]
    order = np.take(_order(input, axis, largest), np.arange(k), axis)
    return [np.take_along_axis(input, order, axis), order]


topk.gradient(input=_sort_gradient)


@composite()
def msort(input: Tensor):
    """The elements in order along the first dimension."""
    return sort(input, 0)[0]


@op(result=ValuesIndices, samples=lambda make: [((make(3, 5), 2), {})], sweep=(2,))
def kthvalue(input: Tensor, k, dim=-1, keepdim=False):
    """The k-th smallest element along `dim` (k from 1), and where it was."""
    axis = wrap_dim(dim, input.ndim)
    order = np.take(_order(input, axis, False), [k - 1], axis)
    values = np.take_along_axis(input, order, axis)
    return [values, order] if keepdim else [values.squeeze(axis), order.squeeze(axis)]


def _kept(tensor, dim, keepdim, input_shape):
    return tensor if keepdim or tensor.dim() == len(input_shape) else tensor.unsqueeze(dim)


def _kth_gradient(grad, out1, input_shape, dim, keepdim):
    index = _kept(out1, dim, keepdim, input_shape)
    return _sort_gradient(_kept(grad, dim, keepdim, input_shape), index, input_shape, dim)


kthvalue.gradient(input=_kth_gradient)


def median(input, dim=None, keepdim=False):
    """The lower median of all elements, or (values, indices) along `dim`."""
    if dim is None:
        flat = input.flatten()
        if not flat.numel():
            return flat.sum() / 0
        return kthvalue(flat, (flat.numel() + 1) // 2)[0]
    return kthvalue(input, (input.shape[dim] + 1) // 2, dim, keepdim)


Tensor.median = median


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements (or slices along `dim`), in order; with inverse indices and counts."""
    found = np.unique(
        input._array, return_inverse=return_inverse, return_counts=return_counts, axis=dim
    )
    if not isinstance(found, tuple):
        return make_tensor(found, input._dtype)
    values, rest = found[0], list(found[1:])
    if return_inverse and dim is None:
        rest[0] = rest[0].reshape(input._array.shape)
    from rushlight.ops.creation import from_numpy

    return (make_tensor(values, input._dtype), *[from_numpy(np.asarray(r, np.int64)) for r in rest])


Tensor.unique = unique


@op(
    method=False,
    differentiable=False,
    tested_by="tests/ops/test_sorting.py",
    samples=lambda make: [],
)
def searchsorted(sorted_sequence: Tensor, input: Tensor, *, out_int32=False, right=False):
    """Where each element of `input` would be inserted into the (last dimension of a) sequence."""
    side, kind = ("right" if right else "left"), np.int32 if out_int32 else np.int64
    if sorted_sequence.ndim == 1:
        return np.asarray(np.searchsorted(sorted_sequence, input, side), kind)
    rows = sorted_sequence.reshape(-1, sorted_sequence.shape[-1])
    values = input.reshape(len(rows), -1)
    found = [np.searchsorted(r, v, side) for r, v in zip(rows, values, strict=True)]
    return np.asarray(found, kind).reshape(input.shape)


def bucketize(input, boundaries, *, out_int32=False, right=False):
    """The index of the bucket each element falls into."""
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@op(differentiable=False, samples=lambda make: [], tested_by="tests/ops/test_sorting.py")
def bincount(input: Tensor, weights: Tensor | None = None, minlength=0):
    """How often each non-negative integer occurs, or the sums of `weights` at each."""
    if input.ndim != 1 or input.dtype.kind not in "iu" or (input.size and input.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    return np.bincount(input, weights, minlength)

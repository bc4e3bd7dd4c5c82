"""Running sums, products and extremes along a dimension."""

from __future__ import annotations

import math

from rushlight import dtypes
from rushlight.kernels.copying import conversion
from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.launch.execution import compute_array, is_floating
from rushlight.kernels.launch.prepared import by_layout, of_copies
from rushlight.kernels.scan_sort import lines as line
from rushlight.machine import np
from rushlight.machine.arrays import cast, dtype_of
from rushlight.ops._calls.direct import on_arrays, tensor_of
from rushlight.ops._table.op import op
from rushlight.ops._table.rules import refuse_unordered
from rushlight.ops._table.shape_rules import checked, in_range, like, same_length
from rushlight.ops.reduction.sums_and_extremes import _sum_dtype, _wide
from rushlight.ops.shape.complex_views import conj_of
from rushlight.tensor.dispatch import readable
from rushlight.tensor.shape import wrap_dim
from rushlight.tensor.tensor import Tensor


def _by_layout(general, product):
    """Running sums (or products) of dense floats by one call, others by the op's body."""
    scanned = by_layout(
        of_copies(lambda x, dim: line.prepare_scan(x, wrap_dim(dim, x.ndim), product)),
        lambda x, dim: general(x, dim),
        count=2,
    )

    def call(input, dim, dtype=None):
        return scanned(input, dim) if dtype is None else general(input, dim, dtype=dtype)

    call.general, call.short = general, scanned.short
    return call


def _samples(make):
    return [((make(3, 4), 0), {}), ((make(3, 4), -1), {}), ((make(), 0), {}), ((make(0, 2), 0), {})]


def _meta_scan(input, dim, dtype=None):
    wrap_dim(dim, input.ndim)
    found = dtype_of(input)
    return input.shape, dtype or (dtypes.int64 if found.category < dtypes.FLOAT else found)


def _accumulate(function, input, dim, dtype):
    axis = wrap_dim(dim, input.ndim)
    code = _sum_dtype(input, dtype)
    array = input if code is None else cast(input, code)
    if not array.ndim:
        return array.copy()
    found = None
    if function is np.cumsum or function is np.cumprod:
        dense = array
        if type(array) is np.ndarray and is_floating(array.dtype):
            dense = compute_array(array)
        found = line.scanned(dense, axis, function is np.cumprod)
    if found is not None:
        return by_rows(conversion.cast(found, array.dtype))
    with np.errstate(all="ignore"):
        return by_rows(np.asarray(function(_wide(array), axis=axis), array.dtype))


@op(
    schemas=("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",),
    linear=True,
    batching="dims",
    samples=_samples,
    inplace=True,
    meta=_meta_scan,
    autocast_on_gpu="float32",
    limited="unsigned",
)
def cumsum(input: Tensor, dim, *, dtype=None):
    """The running sum along `dim`."""
    return _accumulate(np.cumsum, input, dim, dtype)


cumsum.cpu(_by_layout(cumsum.op.body, False))
cumsum.gradient(
    input=lambda grad, dim: grad.flip(dim).cumsum(dim).flip(dim) if grad.dim() else grad
)


@op(
    schemas=("cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",),
    batching="dims",
    samples=_samples,
    domain="nonzero",
    inplace=True,
    meta=_meta_scan,
    autocast_on_gpu="float32",
    limited="unsigned",
)
def cumprod(input: Tensor, dim, *, dtype=None):
    """The running product along `dim`."""
    return _accumulate(np.cumprod, input, dim, dtype)


def _cumprod_gradient(grad, input, out, dim):
    """Exact away from zeros; with a zero in the input, products are formed one by one."""
    if not input.dim() or input.numel() <= 1:
        return grad
    if readable(input) and not bool((input == 0).any()):
        return (grad * conj_of(out)).flip(dim).cumsum(dim).flip(dim) / conj_of(input)
    return _cumprod_with_zeros(grad, input, dim)


def _cumprod_with_zeros(grad, input, dim):
    from rushlight.ops.shape.joining import cat

    pieces, size = [], input.shape[dim]
    for i in range(size):
        before = input.narrow(dim, 0, i).prod(dim, True) if i else input.narrow(dim, 0, 1) * 0 + 1
        rest = input.narrow(dim, i + 1, size - i - 1)
        one = input.narrow(dim, 0, 1) * 0 + 1
        after = cat((one, rest), dim).cumprod(dim)
        terms = grad.narrow(dim, i, size - i) * conj_of(before * after)
        pieces.append(terms.sum(dim, True))
    return cat(tuple(pieces), dim)


cumprod.cpu(_by_layout(cumprod.op.body, True))
cumprod.gradient(input=_cumprod_gradient)


def _running_extreme(name, input, dim, better):
    refuse_unordered(name, input)
    axis = wrap_dim(dim, input.ndim)
    if not input.ndim:
        return [input.copy(), np.zeros((), np.int64)]
    moved = np.moveaxis(input, axis, 0)
    values, indices = np.empty_like(moved), np.empty(moved.shape, np.int64)
    if len(moved):
        values[0], indices[0] = moved[0], 0
    for i in range(1, len(moved)):
        wins = better(moved[i], values[i - 1]) | (moved[i] != moved[i])
        values[i] = np.where(wins, moved[i], values[i - 1])
        indices[i] = np.where(wins, i, indices[i - 1])
    return [by_rows(np.moveaxis(values, 0, axis)), by_rows(np.moveaxis(indices, 0, axis))]


def _extremes_by_layout(is_largest, general):
    def prepare(input, dim):
        axis = wrap_dim(dim, input.ndim)
        return line.prepare_extreme(input, axis, is_largest) if input.ndim else None

    return by_layout(of_copies(prepare), general)


def _scatter_back(grad, out1, input_shape, dim):
    from rushlight.ops.creation.tensors import zeros

    if not input_shape:
        return grad
    base = zeros(input_shape, dtype=grad._dtype, device=grad._device)
    return base.scatter_add(dim, out1, grad)


@op(
    schemas=("cummax(Tensor self, int dim) -> (Tensor, Tensor)",),
    batching="dims",
    meta=checked(in_range, same_length),
    result="values indices",
    samples=_samples,
    saves="dim indices:result1",
)
def cummax(input: Tensor, dim):
    """The running maximum along `dim` and its index."""
    return _running_extreme("cummax", input, dim, np.greater_equal)


@op(
    schemas=("cummin(Tensor self, int dim) -> (Tensor, Tensor)",),
    batching="dims",
    meta=checked(in_range, same_length),
    result="values indices",
    samples=_samples,
    saves="dim indices:result1",
)
def cummin(input: Tensor, dim):
    """The running minimum along `dim` and its index."""
    return _running_extreme("cummin", input, dim, np.less_equal)


cummax.cpu(_extremes_by_layout(True, cummax.op.body))
cummin.cpu(_extremes_by_layout(False, cummin.op.body))
cummax.gradient(input=_scatter_back)
cummin.gradient(input=_scatter_back)


def _log_add(high, low):
    """``log(exp(a) + exp(b))`` of complex numbers."""
    swap = low.real > high.real
    high, low = np.where(swap, low, high), np.where(swap, high, low)
    apart = np.where(np.isneginf(low.real), 0, np.exp(low - high))
    return np.where(np.isneginf(high.real), high, high + np.log1p(apart))


@op(
    batching="dims",
    samples=_samples,
    sweep=(2,),
    meta=checked(in_range, like),
)
def logcumsumexp(input: Tensor, dim):
    """The logarithm of the running sum of exponentials along `dim`, without overflow.

    >>> rushlight.logcumsumexp(rushlight.tensor([0.0, 0.0]), 0)
    tensor([0.0000, 0.6931])
    """
    if input.dtype.kind in "biu":
        raise RuntimeError(f'"logcumsumexp" not implemented for dtype {dtype_of(input)}')
    axis = wrap_dim(dim, input.ndim)
    if not input.ndim:
        return input.copy()
    array = _wide(input)
    with np.errstate(all="ignore"):
        if input.dtype.kind != "c":
            return by_rows(np.asarray(np.logaddexp.accumulate(array, axis=axis), input.dtype))
        rows = np.moveaxis(array.copy(), axis, 0)
        for i in range(1, len(rows)):
            rows[i] = _log_add(rows[i - 1], rows[i])
    return np.moveaxis(rows, 0, axis)


def _reversed_log_sums(values, dim):
    return values.flip(dim).logcumsumexp(dim).flip(dim)


def _logcumsumexp_gradient(grad, input, out, dim):
    """Sums of ``grad * exp(input - out)`` over what comes after, as logarithms of the positive and
    the negative part, so that nothing overflows."""
    from rushlight.ops.elementwise.comparison import where

    if not input.dim() or not input.numel():
        return grad
    if on_arrays(grad, input, out):
        axis = wrap_dim(dim, input.dim())
        found = line.log_sums_gradient(grad._array, input._array, out._array, axis)
        if found is not None:
            return tensor_of(found)
    if input.is_complex():
        safe = where(grad == 0, 1.0, grad)
        found = where(grad == 0, -1e30, safe.log())
        total = _reversed_log_sums(found - conj_of(out), dim) + conj_of(input)
        return total.exp()
    low = -1e30 if grad._dtype.itemsize < 8 else -1e300
    parts = []
    for part in (grad, -grad):
        some = part > 0
        logarithm = where(some, where(some, part, 1.0).log(), low)
        kept = where(out == -math.inf, low, logarithm - out)
        parts.append((_reversed_log_sums(kept, dim) + input).exp())
    return parts[0] - parts[1]


logcumsumexp.cpu(
    by_layout(
        of_copies(lambda x, dim: line.prepare_log_sums(x, wrap_dim(dim, x.ndim))),
        logcumsumexp.op.body,
        count=2,
    )
)
logcumsumexp.gradient(input=_logcumsumexp_gradient)

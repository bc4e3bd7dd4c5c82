"""Variances and standard deviations, also with means."""

from __future__ import annotations

import math

from rushlight.compiler import xp
from rushlight.errors import argument_error
from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.launch.prepared import by_layout, of_copies
from rushlight.kernels.reduction import folds, totals
from rushlight.kernels.reduction import sums as kernels
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.aten import spread
from rushlight.ops._table.aten_schemas import spread_schemas
from rushlight.ops._table.attributes import whole
from rushlight.ops._table.domains import positive
from rushlight.ops._table.op import composite, elementwise, op
from rushlight.ops._table.shape_rules import reduced_shape
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.reduction.sums_and_extremes import _summed, _wide, restore
from rushlight.ops.shape.complex_views import conj_of
from rushlight.tensor.shape import wrap_dims
from rushlight.tensor.tensor import Tensor


def _variance_sizes(make):
    x = make(3, 4, 2)
    return [
        ((x, None, 1, False), {}),
        ((x, (0, 2), 0, True), {}),
        ((x, -1, 0.5, False), {}),
        ((make(), None, 0, False), {}),
    ]


def _meta_variance(input, dim, _correction, keepdim):
    return reduced_shape(input.shape, dim, keepdim), dtype_of(input)


@op(
    batching="dims",
    method=False,
    samples=_variance_sizes,
    meta=_meta_variance,
    node="Var",
    barred="unsigned",
    saves="correction dim[] keepdim self",
)
def _variance(input: Tensor, dim, correction, keepdim):
    """The variance of real numbers over dimensions; divided by their count less `correction`."""
    if type(input) is np.ndarray and not input.flags.c_contiguous:  # added up where it is dense
        return _variance.op.cpu_kernel(np.array(input, order="C"), dim, correction, keepdim)
    return by_rows(np.asarray(_in_wide(input, dim, correction, keepdim), input.dtype))


@op(
    batching="dims",
    method=False,
    samples=_variance_sizes,
    meta=_meta_variance,
    node="Std",
    barred="unsigned",
    saves="correction dim[] keepdim result self",
)
def _deviation(input: Tensor, dim, correction, keepdim):
    """The root of :func:`_variance`; its gradient is 0 where it is 0."""
    if type(input) is np.ndarray and not input.flags.c_contiguous:
        return _deviation.op.cpu_kernel(np.array(input, order="C"), dim, correction, keepdim)
    found = _in_wide(input, dim, correction, keepdim)
    with np.errstate(all="ignore"):
        return by_rows(np.asarray(np.sqrt(found), input.dtype))


def _in_wide(input, dim, correction, keepdim):
    """The variance in a dtype that is not rounded to that of the input."""
    axes = wrap_dims(dim, input.ndim)
    count = math.prod(input.shape[a] for a in axes)
    wide = _wide(input)
    with np.errstate(all="ignore"):
        centred = np.asarray(wide - _summed(wide, axes, True) / wide.dtype.type(count))
        total, offset = _distances(centred, axes, count)
        if _is_far(offset, count, total):
            centred -= offset
            total, offset = _distances(centred, axes, count)
        total = np.maximum(total - offset * offset * wide.dtype.type(count), 0)
        total = total if keepdim else total.squeeze(axes)
        return np.divide(total, wide.dtype.type(max(0.0, count - correction)))


def _is_far(offset, count, total):
    """Whether a mean is off by so much that digits are lost when that is taken off: as of numbers
    nearly equal. Not asked of a GPU, which would be waited for."""
    if type(offset) is not np.ndarray:
        return False
    return bool((offset * offset * count > 1e-3 * total).any())


def _distances(centred, axes, count):
    """The squared distances from a mean that is rounded, and how far that is off."""
    total = kernels.reduced(centred, tuple(sorted(axes)), True, "squares")
    if total is None:
        total = np.square(centred).sum(axis=axes, keepdims=True)
    return total, _summed(centred, axes, True) / centred.dtype.type(count)


def _variance_gradient(grad, input, dim, correction, keepdim):
    shape = tuple(input.shape)
    count = math.prod(shape[d] for d in wrap_dims(dim, len(shape)))
    divisor = max(0.0, count - correction)
    centred = input - input.mean(dim, True)
    return restore(grad, shape, dim, keepdim) * centred * (2.0 / divisor if divisor else math.inf)


def _prepared_variance(input, dim, correction, keepdim):
    axes = wrap_dims(dim, input.ndim)
    count = math.prod(input.shape[a] for a in axes)
    divisor = max(0.0, count - correction)
    found = folds.folded("variance", input, axes, keepdim, divisor)
    return totals.variance(input, axes, keepdim, divisor) if found is None else found


_variance.cpu(by_layout(of_copies(_prepared_variance), _variance.op.body))
_variance.gradient(input=_variance_gradient)


def _prepared_deviation(input, dim, correction, keepdim):
    """None of low precision, too, whose variance would be rounded before its root is taken."""
    call = _prepared_variance(input, dim, correction, keepdim)
    if call is None or input.dtype.itemsize < 4:
        return None

    def root(array):
        found = call(array)
        return found if found is NotImplemented else np.sqrt(found, found)

    return root


@elementwise(
    method=False, inplace=False, limited=False, domain=positive, tested_by="std", node="StdFactor"
)
def _slope_of_root(input, other):
    """``input / (2 * other)``, 0 where `other` is: the gradient of a root `other`."""
    return xp.where(other == 0, 0, input / (2 * other))


_slope_of_root.gradient(
    input=lambda grad, other: _slope_of_root(grad, other),
    other=lambda grad, input, other: where(other == 0, 0.0, grad * input / (-2 * other * other)),
)
_deviation.cpu(by_layout(of_copies(_prepared_deviation), _deviation.op.body))
_deviation.gradient(
    input=lambda grad, input, out, dim, correction, keepdim: _variance_gradient(
        _slope_of_root(grad, out), input, dim, correction, keepdim
    )
)


def _var(input, dim, unbiased, keepdim, correction, real=_variance):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None and type(unbiased) is not bool:
        raise argument_error(var.op.name, "unbiased", "bool", unbiased)
    if dim is not None and type(dim) is not int:
        dim = whole(var.op.name, "dim", dim)
    if not input.is_floating_point() and not input.is_complex():
        raise RuntimeError("std and var only support floating point and complex dtypes")
    correction = _correction(unbiased, correction)
    if not input.is_complex():
        return real(input, dim, correction, keepdim)
    count = math.prod(input.shape[d] for d in wrap_dims(dim, input.dim()))
    centred = input - input.mean(dim, True)
    squares = (centred * conj_of(centred)).real
    divisor = max(0.0, count - correction)
    total = squares.sum(dim, keepdim)
    found = total / divisor if divisor else total / 0.0
    return found if real is _variance else _root(found)


def _root(variance):
    """The square root, with the gradient 0 where it is 0."""
    return where(variance == 0, 0.0, where(variance == 0, 1.0, variance).sqrt())


def _std(input, dim, unbiased, keepdim, correction):
    return _var(input, dim, unbiased, keepdim, correction, _deviation)


@composite(
    schemas=spread_schemas("var"),
    aten_call=spread("var"),
    samples=[(), (1,), ((0, 1), True, True), {"dim": 0, "correction": 0}],
    aten="default dim correction correction_out out",
)
def var(
    input: Tensor,
    dim: int | bool | None = None,
    unbiased=None,
    keepdim=False,
    *,
    correction=None,
):
    """The variance over `dim`; the divisor is the count minus `correction` (default 1)."""
    return _var(input, dim, unbiased, keepdim, correction)


def _correction(unbiased, correction):
    if unbiased is not None and correction is not None:
        raise TypeError("var(): give either 'unbiased' or 'correction', not both")
    if unbiased is not None:
        return 1 if unbiased else 0
    return 1 if correction is None else correction


@composite(
    schemas=spread_schemas("std"),
    aten_call=spread("std"),
    samples=[(), (1,), ((0, 1), True, True), {"dim": 0, "correction": 0}],
    aten="default dim correction correction_out out",
)
def std(
    input: Tensor,
    dim: int | bool | None = None,
    unbiased=None,
    keepdim=False,
    *,
    correction=None,
):
    """The standard deviation over `dim`; see :func:`var`."""
    return _std(input, dim, unbiased, keepdim, correction)


@composite(
    schemas=spread_schemas("var_mean"),
    aten_call=spread("var_mean"),
    samples=[(), (1,), ((0, 1), True, True), {"dim": 0, "correction": 0}],
    aten="default dim correction correction_out",
)
def var_mean(
    input: Tensor,
    dim: int | bool | None = None,
    unbiased=None,
    keepdim=False,
    *,
    correction=None,
):
    """The variance and the mean over `dim`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return _var(input, dim, unbiased, keepdim, correction), input.mean(dim, keepdim)


@composite(
    schemas=spread_schemas("std_mean"),
    aten_call=spread("std_mean"),
    samples=[(), (1,), ((0, 1), True, True), {"dim": 0, "correction": 0}],
    aten="default dim correction correction_out",
)
def std_mean(
    input: Tensor,
    dim: int | bool | None = None,
    unbiased=None,
    keepdim=False,
    *,
    correction=None,
):
    """The standard deviation and the mean over `dim`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return _std(input, dim, unbiased, keepdim, correction), input.mean(dim, keepdim)

"""Elements summed up along axes: totals, extremes, moments, running totals."""

from __future__ import annotations

import builtins

import rushlight
from rushlight import dtypes
from rushlight.array_api.data_types import promoted
from rushlight.dtypes import BOOL, INTEGER


def _axes(x, axis):
    """Every axis meant by `axis`, counted from the start."""
    if axis is None:
        return tuple(range(x.ndim))
    given = (axis,) if isinstance(axis, int) else tuple(axis)
    for a in given:
        if not -x.ndim <= a < x.ndim:
            raise IndexError(f"axis {a} is out of range for an array of {x.ndim} dimensions")
    return tuple(a % x.ndim for a in given)


def _one_by_one(function, x, axes, keepdims):
    """A reduction that takes one axis, applied to several: the last first."""
    for a in sorted(axes, reverse=True):
        x = function(x, a, keepdims)
    return x


def _total_dtype(x, dtype):
    if dtype is not None:
        return dtype
    return dtypes.int64 if x.dtype.category in (BOOL, INTEGER) else x.dtype


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum; integers are summed in int64 unless `dtype` is given."""
    axes, dtype = _axes(x, axis), _total_dtype(x, dtype)
    return rushlight.sum(x, axes, keepdims, dtype=dtype) if axes else x.to(dtype, copy=True)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product; of integers in int64 unless `dtype` is given."""
    x = x.to(_total_dtype(x, dtype), copy=True)
    return _one_by_one(rushlight.prod, x, _axes(x, axis), keepdims)


def max(x, /, *, axis=None, keepdims=False):
    """The largest element; NaN if there is one."""
    axes = _axes(x, axis)
    return rushlight.amax(x, axes, keepdims) if axes else x.clone()


def min(x, /, *, axis=None, keepdims=False):
    """The smallest element; NaN if there is one."""
    axes = _axes(x, axis)
    return rushlight.amin(x, axes, keepdims) if axes else x.clone()


def mean(x, /, *, axis=None, keepdims=False):
    """The mean of floating-point elements."""
    axes = _axes(x, axis)
    return rushlight.mean(x, axes, keepdims) if axes else x.clone()


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The variance: squared deviations summed and divided by their number less `correction`."""
    axes = _axes(x, axis)
    if not axes:
        return x * 0 / (1.0 - correction) if correction != 1 else x * 0 / 0
    if correction == int(correction):
        return rushlight.var(x, axes, correction=int(correction), keepdim=keepdims)
    squares = (x - rushlight.mean(x, axes, True)).square()
    count = 1
    for a in axes:
        count *= x.shape[a]
    return rushlight.sum(squares, axes, keepdims) / builtins.max(count - correction, 0.0)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The standard deviation: the root of :func:`var`."""
    return rushlight.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def all(x, /, *, axis=None, keepdims=False):
    """Whether all elements are true."""
    return _one_by_one(rushlight.all, _truth(x), _axes(x, axis), keepdims)


def any(x, /, *, axis=None, keepdims=False):
    """Whether an element is true."""
    return _one_by_one(rushlight.any, _truth(x), _axes(x, axis), keepdims)


def _truth(x):
    return x.clone() if x.dtype is dtypes.bool_ else x != 0


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements are not zero."""
    return sum(_truth(x), axis=axis, keepdims=keepdims)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running totals along `axis`, behind a zero with `include_initial`."""
    return _running(rushlight.cumsum, x, axis, dtype, include_initial, 0)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running products along `axis`, behind a one with `include_initial`."""
    return _running(rushlight.cumprod, x, axis, dtype, include_initial, 1)


def _running(function, x, axis, dtype, include_initial, initial):
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"axis must be given for an array of {x.ndim} dimensions")
        axis = 0
    (axis,) = _axes(x, axis)
    out = function(x, axis, dtype=_total_dtype(x, dtype))
    if not include_initial:
        return out
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    return rushlight.cat([rushlight.full(shape, initial, dtype=out.dtype), out], axis)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """Differences of neighbours along `axis`, taken `n` times."""
    ends = [a for a in (prepend, append) if a is not None]
    if ends:
        ends = list(promoted(x, *ends))
        x = ends.pop(0)
        prepend = ends.pop(0) if prepend is not None else None
        append = ends.pop(0) if append is not None else None
    return rushlight.diff(x, n=n, dim=axis, prepend=prepend, append=append)

"""Reductions of small arrays by built-in functions, before the declared bodies are asked, and
extremes with their positions by one call."""

from __future__ import annotations

from functools import partial

from rushlight.kernels.launch.execution import HALF_DTYPES
from rushlight.kernels.launch.prepared import by_layout, of_copies
from rushlight.kernels.reduction import totals
from rushlight.kernels.reduction.small_reduction import small
from rushlight.ops.reduction import sums_and_extremes as reduction
from rushlight.tensor.shape import wrap_dim


def _first(name, body, whole=None):
    """`body`, where the function of this name declines; `whole` is the body's word for all
    dimensions."""
    learn = small.learn

    def kernel(input, dim=whole, keepdim=False):
        over = None if dim == whole else dim
        found = getattr(small, name)(input, over, keepdim)
        if found is NotImplemented:
            found = learn(name, input, over, keepdim)
        return body(input, dim, keepdim) if found is NotImplemented else found

    return kernel


def _first_with_dtype(name, body):
    """The same for bodies that may be asked for a dtype, which the functions do not know."""
    short, general = _first(name, body), getattr(body, "general", body)

    def kernel(input, dim=None, keepdim=False, *, dtype=None):
        if dtype is not None:
            return general(input, dim, keepdim, dtype=dtype)
        return short(input, dim, keepdim)

    return kernel


def _first_of_one_dim(name, body):
    """The same for bodies that need a dimension."""
    short = _first(name, body)

    def kernel(input, dim, keepdim):
        return body(input, dim, keepdim) if dim is None else short(input, dim, keepdim)

    return kernel


def _selecting(body, largest, places_only):
    """`body`, which finds extremes along a dimension, by one call where the layout allows it."""

    def prepare(input, dim, keepdim):
        half = input.dtype in HALF_DTYPES
        if not input.ndim or (dim is None and (keepdim or not half)):
            return None
        if dim is not None:
            return totals.selected(largest, input, wrap_dim(dim, input.ndim), keepdim, places_only)
        found = totals.selected(largest, input.reshape(-1), 0, keepdim, places_only)
        return None if found is None else lambda array: found(array.reshape(-1))

    return by_layout(of_copies(prepare), body)


def _put_first(make, declared, name):
    """The function `name` of small arrays before the kernel that an op has."""
    general = declared.op.cpu_kernel
    kernel = make(name, general)
    kernel.general = getattr(general, "general", general)
    if short := getattr(general, "short", None):
        kernel.short = short  # of larger arrays
    declared.cpu(kernel)


reduction.argmax.cpu(_selecting(reduction.argmax.op.body, True, True))
reduction.argmin.cpu(_selecting(reduction.argmin.op.body, False, True))
reduction._max_dim.cpu(_selecting(reduction._max_dim.op.body, True, False))
reduction._min_dim.cpu(_selecting(reduction._min_dim.op.body, False, False))

_put_first(_first_with_dtype, reduction.sum, "sum")
_put_first(_first_with_dtype, reduction.mean, "mean")
_put_first(_first, reduction.argmax, "argmax")
_put_first(_first, reduction.argmin, "argmin")
_put_first(partial(_first, whole=()), reduction.amax, "max")
_put_first(partial(_first, whole=()), reduction.amin, "min")
_put_first(_first_of_one_dim, reduction._max_dim, "max_at")
_put_first(_first_of_one_dim, reduction._min_dim, "min_at")

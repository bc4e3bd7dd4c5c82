"""Reductions, and the order of elements."""

from __future__ import annotations

import rushlight as rl
from rushlight.onnx._operators.registry import ints, number, operator


def _reduced(function):
    """A reduction with axes as an input or an attribute."""

    def run(x, axes=None, keepdims=1, noop_with_empty_axes=0, **attributes):
        axes = attributes.get("axes", axes)
        dims = ints(axes)
        if not dims:
            if noop_with_empty_axes:
                return function(x, (), True, nothing=True)
            dims = list(range(x.ndim))
        return function(x, dims, bool(keepdims))

    return run


def _reduction(name):
    def keep(function):
        operator(name, static=(1,))(_named(name, _reduced(function)))
        return function

    return keep


def _named(name, function):
    """A function that can be found by its name in this module."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    globals()[name] = function
    return function


@_reduction("ReduceSum")
def _sum(x, dims, keep, nothing=False):
    return x if nothing else x.sum(dims, keep, dtype=x.dtype)


@_reduction("ReduceMean")
def _mean(x, dims, keep, nothing=False):
    if nothing:
        return x
    if not x.dtype.is_floating_point:
        return x.double().mean(dims, keep).to(x.dtype)
    return x.mean(dims, keep)


@_reduction("ReduceL1")
def _l1(x, dims, keep, nothing=False):
    return _sum(x.abs(), dims, keep, nothing)


@_reduction("ReduceL2")
def _l2(x, dims, keep, nothing=False):
    squares = _sum(
        (x * x).double() if not x.dtype.is_floating_point else x * x, dims, keep, nothing
    )
    return squares.sqrt().to(x.dtype)


@_reduction("ReduceLogSum")
def _log_sum(x, dims, keep, nothing=False):
    return _sum(x, dims, keep, nothing).log()


@_reduction("ReduceLogSumExp")
def _log_sum_exp(x, dims, keep, nothing=False):
    if nothing:
        return x
    values = x if x.dtype.is_floating_point else x.double()
    return rl.logsumexp(values, dims, keep).to(x.dtype)


@_reduction("ReduceSumSquare")
def _sum_square(x, dims, keep, nothing=False):
    return _sum(x * x, dims, keep, nothing)


@_reduction("ReduceProd")
def _prod(x, dims, keep, nothing=False):
    if nothing:
        return x
    for dim in sorted((d % max(1, x.ndim) for d in dims), reverse=True):
        x = x.prod(dim, keepdim=keep, dtype=x.dtype)
    return x


def _limits(x):
    if x.dtype is rl.bool:
        return False, True
    if x.dtype.is_floating_point:
        return -float("inf"), float("inf")
    about = rl.iinfo(x.dtype)
    return about.min, about.max


@_reduction("ReduceMax")
def _max(x, dims, keep, nothing=False):
    return x if nothing else _extreme(rl.amax, x, dims, keep, _limits(x)[0])


@_reduction("ReduceMin")
def _min(x, dims, keep, nothing=False):
    return x if nothing else _extreme(rl.amin, x, dims, keep, _limits(x)[1])


def _extreme(function, x, dims, keep, empty):
    if x.numel() == 0:
        shape = x.sum(dims, keep).shape
        return rl.full(shape, empty, dtype=x.dtype)
    return function(x, dims, keep)


def _place(function, x, axis, keepdims, select_last_index):
    if select_last_index:
        found = function(x.flip(axis), axis, bool(keepdims))
        return x.shape[axis] - 1 - found
    return function(x, axis, bool(keepdims))


@operator()
def ArgMax(x, axis=0, keepdims=1, select_last_index=0):
    return _place(rl.argmax, x, axis, keepdims, select_last_index)


@operator()
def ArgMin(x, axis=0, keepdims=1, select_last_index=0):
    return _place(rl.argmin, x, axis, keepdims, select_last_index)


@operator(static=(1,))
def TopK(x, k=None, axis=-1, largest=1, sorted=1, **attributes):
    count = int(number(attributes.get("k", ints(k)[0] if k is not None else k)))
    kind = x.dtype
    values = x.to(rl.int64) if kind in (rl.uint64, rl.uint32, rl.uint16) else x
    order = values.sort(dim=axis, descending=bool(largest), stable=True)
    return order.values.narrow(axis, 0, count).to(kind), order.indices.narrow(axis, 0, count)


@operator()
def Unique(x, axis=None, sorted=1, outputs=1):
    rows = x.reshape(-1, 1) if axis is None else x.movedim(axis, 0).reshape(x.shape[axis], -1)
    _, inverse = rl.unique(rows, dim=0, return_inverse=True)
    count = int(inverse.max()) + 1
    first = rl.full((count,), len(rows)).scatter_reduce(0, inverse, rl.arange(len(rows)), "amin")
    order = rl.arange(count) if sorted else first.argsort()
    places = rl.empty_like(order).scatter_(0, order, rl.arange(count))
    chosen = first[order]
    found = x.reshape(-1)[chosen] if axis is None else x.index_select(axis, chosen)
    counts = rl.bincount(inverse, minlength=count)[order]
    return (found, chosen, places[inverse], counts)[: max(1, outputs)] if outputs > 1 else found

"""Variances, norms, products, log-sum-exps, and truth of all or any, over a run of dimensions, each
by one call (see :mod:`rushlight.kernels.launch.prepared`).

A function gives a call for one layout, or None where it is left to others: strided arrays, other
dtypes than floating ones, axes that are not neighbours, long rows that threads should share.
"""

from __future__ import annotations

import math

from rushlight.kernels.launch.execution import (
    COMPILED_DTYPES,
    REFERENCE,
    chunk,
    floating_types,
    is_floating,
    is_low_precision,
    language_type,
)
from rushlight.kernels.launch.prepared import prepared, word_of
from rushlight.kernels.reduction.sums import layout
from rushlight.machine import np

__all__ = ["KINDS", "folded", "renormed", "truth"]

NORM, LOG_OF_SUM = "norm", "logsumexp"
KINDS = {"sum": 0, "variance": 1, "deviation": 2, NORM: 3, "product": 4, LOG_OF_SUM: 5}
_ONE_PASS = ("product", NORM)
LONG = 1 << 18  # elements of one item that are worth a division among threads
_BOOL = np.dtype(np.bool_)
_ORDERS = {1.0: 1, 2.0: 2, math.inf: 0}  # of the norms that slices are scaled by
_NEIGHBOURS = 8  # in a slice from which that is quicker than a pass for the norms


def _seen(input, axes):
    """(outer, n, inner), or None."""
    if REFERENCE or not input.flags.c_contiguous or not input.size:
        return None
    if not axes:
        return (input.size, 1, 1)
    return layout(input.shape, tuple(sorted(axes)))


def _result_shape(input, axes, keepdim):
    pairs = enumerate(input.shape)
    return tuple([1 if i in axes else n for i, n in pairs if keepdim or i not in axes])


def folded(kind, input, axes, keepdim, divisor=1.0):
    """``f(input)``: the reduction `kind` over `axes`; variances are divided by `divisor`."""
    found = _seen(input, axes)
    if found is None or not is_floating(input.dtype):
        return None
    if kind == LOG_OF_SUM and is_low_precision(input.dtype):
        return None
    from rushlight.kernels.reduction import fold_kernels as native

    outer, n, inner = found
    if kind in _ONE_PASS and inner > 1 and input.size >= LONG:
        return None  # whole rows at a time are quicker where the caches do not hold them
    wide = kind == LOG_OF_SUM
    if inner == 1:
        kernel = native.wide_fold_rows if wide else native.fold_rows
    else:
        kernel = native.wide_fold_columns if wide else native.fold_columns
    items = outer if inner == 1 else outer * -(-inner // native.COLUMNS)
    work = input.size // items
    if work > LONG and items < 16 and not wide:
        return None
    code = kernel.address(**floating_types(input.dtype), kind=KINDS[kind])
    outputs = [(_result_shape(input, axes, keepdim), input.dtype)]
    return prepared(code, items, chunk(items, work), [input], outputs, [n, inner, word_of(divisor)])


def truth(every, input, axes, keepdim):
    """``f(input)``: whether any (or every) element over `axes` is not zero, as bools."""
    found = _seen(input, axes)
    kinds = {"b": "u8", "f4": "f32", "f8": "f64", "i4": "i32", "i8": "i64", "i1": "u8"}
    kind = kinds.get("b" if input.dtype == _BOOL else input.dtype.str[1:])
    if found is None or found[2] != 1 or kind is None:
        return None
    outer, n, _ = found
    from rushlight.kernels.reduction import fold_kernels as native
    from rushlight.machine.language import functions as language

    code = native.truth_rows.address(element=getattr(language, kind), every=int(every))
    shape, parts = _result_shape(input, axes, keepdim), -(-n // LONG) if outer < 16 else 1
    whole = shape if parts == 1 else (outer, parts)
    items, words = outer * parts, [n, input.itemsize, parts]
    call = prepared(code, items, chunk(items, n // parts), [input], [(whole, _BOOL)], words)
    return call if parts == 1 else _joined_truth(call, every, shape)


def _joined_truth(call, every, shape):
    """`call`, which answers for parts of rows, as an answer for whole ones."""

    def found(input):
        parts = call(input)
        if parts is NotImplemented:
            return parts
        return (parts.all(-1) if every else parts.any(-1)).reshape(shape)

    return found


def renormed(input, order, dim, largest):
    """``f(input)``: slices along `dim` scaled down to a norm of at most `largest`; None for orders
    other than 1, 2 and infinity too."""
    if REFERENCE or not input.flags.c_contiguous or input.dtype not in COMPILED_DTYPES:
        return None
    outer, slices = math.prod(input.shape[:dim]), input.shape[dim]
    inner = math.prod(input.shape[dim + 1 :])
    work = outer * inner
    if (
        order not in _ORDERS
        or not input.size
        or inner < _NEIGHBOURS
        or (work > LONG and slices < 16)
    ):
        return None
    from rushlight.kernels.normalization import renorm as native

    code = native.renorm_slices.address(real=language_type(input.dtype), order=_ORDERS[order])
    words, outputs = [outer, slices, inner, word_of(largest)], [(input.shape, input.dtype)]
    return prepared(code, slices, chunk(slices, 2 * work), [input], outputs, words)

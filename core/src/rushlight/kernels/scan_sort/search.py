"""Where values belong in sorted sequences."""

from __future__ import annotations

import math

from rushlight.kernels.launch.execution import ORDERED_TYPES, REFERENCE, chunk
from rushlight.kernels.launch.prepared import Remembered, prepared
from rushlight.machine import np

__all__ = ["halved", "places", "prepare"]

_INT64 = np.dtype(np.int64)
_known = Remembered()


def prepare(sequence, values, right):
    """``f(sequence, values)`` for arrays of these layouts, see :func:`places`; or None."""
    name = sequence.dtype.str[1:]
    if REFERENCE or name not in ORDERED_TYPES or not sequence.dtype.isnative:
        return None
    if values.dtype != sequence.dtype or not (sequence.size and values.size):
        return None
    if not (sequence.flags.c_contiguous and values.flags.c_contiguous):
        return None
    from rushlight.kernels.scan_sort import search_kernels as native
    from rushlight.machine.language import functions as language

    n, count = sequence.shape[-1], values.size
    each = count if sequence.ndim == 1 else values.shape[-1]
    kind = getattr(language, ORDERED_TYPES[name])
    code = native.search.address(element=kind, width=sequence.itemsize, right=int(right))
    items = count // each * -(-each // native.AT_ONCE)
    grain = chunk(items, native.AT_ONCE * 4 * n.bit_length())
    return prepared(code, items, grain, [sequence, values], [(values.shape, _INT64)], [n, each])


def places(sequence, values, right):
    """How many elements of a sorted sequence (or of each last dimension of one) come before each
    value, or are equal to it where ``right``, as :func:`halved` finds it. None where that is left
    to others: dtypes other than float32, float64, int32 and int64, arrays that are not dense."""
    key = sequence.shape, values.shape, sequence.strides, values.strides, values.dtype, bool(right)
    key = (*key, sequence.dtype)
    try:
        call = _known[key]
    except KeyError:
        call = _known.keep(key, prepare(sequence, values, right))
    found = NotImplemented if call is None else call(sequence, values)
    return None if found is NotImplemented else found


def halved(sequence, values, right):
    """:func:`places` of any arrays. What may be the place is halved by the element in its middle:
    an element that is not surely behind a value, as NaN never is, is before it."""
    n = sequence.shape[-1]
    flat = sequence.reshape(-1)
    rows = math.prod(sequence.shape[:-1])
    wanted = values.reshape(rows, -1) if values.size else values.reshape(rows, 0)
    first = np.arange(rows)[:, None] * n
    place, rest = np.zeros(wanted.shape, np.int64), np.full(wanted.shape, n)
    for _ in range(n.bit_length()):
        half = rest >> 1
        middle = place + half
        with np.errstate(invalid="ignore"):
            found = flat[first + np.minimum(middle, n - 1)]
            behind = found > wanted if right else found >= wanted
        goes = ~behind & (rest > 0)
        place, rest = np.where(goes, middle + 1, place), np.where(goes, rest - half - 1, half)
    return place.reshape(values.shape)

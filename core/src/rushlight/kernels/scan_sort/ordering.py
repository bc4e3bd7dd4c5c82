"""Rows in order, with where their elements were.

Short rows of float32: number and position are packed into one int64, which NumPy sorts in vectors
(x86-simd-sort): eight times as fast as a stable sort of positions, and as stable, since no two of
them are equal. Other rows are sorted by the bytes of their keys (:mod:`radix_kernels`)."""

from __future__ import annotations

from rushlight.kernels.launch.execution import FLOAT32, ORDERED_TYPES, REFERENCE, chunk
from rushlight.kernels.launch.prepared import Remembered, prepared
from rushlight.machine import np
from rushlight.machine.processors import compresses_slowly

__all__ = ["chosen", "modes", "ordered"]

_INT64 = np.dtype(np.int64)
_SHORT, _SHORT_THERE = 2048, 600  # float32 elements below which NumPy's sort of packed rows wins
_LEAST = {"f4": 2, "i4": 100, "f8": 200, "i8": 200}  # elements of a row worth 256 counts
_LONG = 1 << 17  # elements of a row whose memory is not kept
_known = Remembered()


def _prepare_packed(array, n, descending):
    """``f(array)``: values and positions of short rows of float32."""
    from rushlight.kernels.scan_sort import ordering_kernels as native

    rows, shape = array.size // n, array.shape
    grain = chunk(rows, n)
    code = native.pack.address(descending=int(descending))
    pack = prepared(code, rows, grain, [array], [(shape, _INT64)], [n])
    keys = np.empty(shape, _INT64)
    outputs = [(shape, FLOAT32), (shape, _INT64)]
    unpack = prepared(native.unpack.address(), rows, grain, [keys, array], outputs, [n])

    def packed(x):
        keys = pack(x)
        if keys is NotImplemented:
            return keys
        keys.sort(axis=-1)
        return unpack(keys, x)

    return packed


def _fits(array):
    """Whether compiled loops take the rows of an array."""
    if REFERENCE or not array.dtype.isnative or not array.flags.c_contiguous or not array.size:
        return False
    return array.ndim > 0 and array.dtype.str[1:] in _LEAST and 1 < array.shape[-1] < 1 << 31


def _prepare_order(array, descending):
    """A call that gives values and positions, by packed keys or by bytes; or None."""
    if not _fits(array) or array.shape[-1] < _LEAST[array.dtype.str[1:]]:
        return None
    n, short = array.shape[-1], _SHORT_THERE if compresses_slowly() else _SHORT
    if array.dtype == FLOAT32 and n < short:
        return _prepare_packed(array, n, descending)
    return _prepare_bytes(array, n, descending)


def _prepare_bytes(array, n, descending):
    from rushlight.kernels.scan_sort import radix_kernels as native
    from rushlight.machine.language import functions as language

    width, shape = array.itemsize, array.shape
    kernel, outputs = native.order_rows, [(shape, array.dtype), (shape, _INT64)]
    if n > _LONG:
        kernel = native.order_long_rows
        outputs.append(((array.size * (1 if width == 4 else 3),), _INT64))
    kind = getattr(language, ORDERED_TYPES[array.dtype.str[1:]])
    code = kernel.address(element=kind, width=width, descending=int(descending))
    rows = array.size // n
    return prepared(code, rows, chunk(rows, width * n), [array], outputs, [n], scratch=True)


def _prepare_choice(array):
    """A call that gives the elements of some rank and their positions, or None."""
    if not _fits(array):
        return None
    from rushlight.kernels.scan_sort import radix_kernels as native
    from rushlight.machine.language import functions as language

    n, shape = array.shape[-1], array.shape[:-1]
    kernel, outputs = native.choose_rows, [(shape, array.dtype), (shape, _INT64)]
    if n > _LONG:
        kernel = native.choose_long_rows
        outputs.append(((array.size,), _INT64))
    kind = getattr(language, ORDERED_TYPES[array.dtype.str[1:]])
    code = kernel.address(element=kind, width=array.itemsize, descending=0)
    rows = array.size // n
    return prepared(code, rows, chunk(rows, 4 * n), [array], outputs, [n], "i", scratch=True)


def chosen(array, k):
    """The k-th smallest element (from 0) of each row of a dense array of float32, float64, int32 or
    int64 and its place, that of the k-th in a stable order, NaN the largest; None where that is
    left to others."""
    key = array.shape, array.strides, array.dtype, "choice"
    try:
        call = _known[key]
    except KeyError:
        call = _known.keep(key, _prepare_choice(array))
    found = NotImplemented if call is None else call(array, k)
    return None if found is NotImplemented else found[:2]  # the third is memory of long rows


_WIDER = {"b1": "i4", "u1": "i4", "i1": "i4", "i2": "i4", "f2": "f4", "V2": "f4"}


def ordered(array, descending):
    """The elements of each row of a dense array in order, equal ones as they came and NaN as the
    largest, and their positions (int64); None where that is left to others (64-bit unsigned
    integers, short rows of most dtypes)."""
    name = array.dtype.str[1:]
    if name in _WIDER:
        found = None
        if array.ndim and array.shape[-1] >= _LEAST["i4"]:
            found = ordered(array.astype(_WIDER[name]), descending)
        return found and (np.take_along_axis(array, found[1], -1), found[1])
    key = array.shape, array.strides, array.dtype, bool(descending), "order"
    try:
        call = _known[key]
    except KeyError:
        call = _known.keep(key, _prepare_order(array, descending))
    found = NotImplemented if call is None else call(array)
    return None if found is NotImplemented else found[:2]  # the third is memory of long rows


def _prepare_modes(array):
    """A call ``f(values, places)`` of rows in order."""
    from rushlight.kernels.scan_sort import ordering_kernels as native
    from rushlight.machine.language import functions as language

    n, shape = array.shape[-1], array.shape[:-1]
    kind = getattr(language, ORDERED_TYPES[array.dtype.str[1:]])
    code = native.most_frequent.address(element=kind, width=array.itemsize)
    rows, arrays = array.size // n, [array, np.empty(array.shape, _INT64)]
    outputs = [(shape, array.dtype), (shape, _INT64)]
    return prepared(code, rows, chunk(rows, 2 * n), arrays, outputs, [n])


def modes(array):
    """The most frequent element of each row of a dense array (the smallest of several; NaN equals
    nothing) and where it last was; None where that is left to others."""
    name = array.dtype.str[1:]
    if name in _WIDER:
        found = modes(array.astype(_WIDER[name]))
        if found is None:
            return None
        places = found[1]
        return np.take_along_axis(array, places[..., None], -1)[..., 0], places
    if not _fits(array):
        return None
    parts = ordered(array, False)
    if parts is None:
        order = np.argsort(array, axis=-1, kind="stable")
        parts = np.take_along_axis(array, order, -1), order
    key = array.shape, array.dtype, "modes"
    call = _known.get(key) or _known.keep(key, _prepare_modes(array))
    found = call(*parts)
    return None if found is NotImplemented else found

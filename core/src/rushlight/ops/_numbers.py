"""Arrays of plain Python numbers, by one call of NumPy."""

from __future__ import annotations

import itertools

from rushlight import devices, dtypes
from rushlight.backends import np
from rushlight.backends.arrays import BY_CODE
from rushlight.dtypes import FLOAT, INTEGER, default

_SEQUENCE = frozenset({list, tuple})
_KINDS = {float: FLOAT, int: INTEGER, bool: dtypes.bool_.category}
_PLAIN = frozenset({dtypes.float32, dtypes.float64, dtypes.int64, dtypes.bool_})


_LARGE = 3e38  # numbers beyond it may overflow float32


def _fits(data):
    """Whether numbers, alone or in a row, are surely within float32."""
    if type(data) not in _SEQUENCE:
        return -_LARGE < data < _LARGE
    if not data or type(data[0]) in _SEQUENCE:
        return False
    return -_LARGE < min(data) and max(data) < _LARGE


def plain_numbers(data, dtype):
    """An array of numbers of one kind, alone, in a sequence or in rows, on the CPU; None where that
    is not so simple."""
    kind = type(data)
    if kind in _SEQUENCE:
        kinds = {*map(type, data)}
        if len(kinds) != 1:
            return None
        (kind,) = kinds
        if kind in _SEQUENCE:
            kinds = {*map(type, itertools.chain.from_iterable(data))}
            if len(kinds) != 1 or len({*map(len, data)}) != 1:
                return None
            (kind,) = kinds
    category = _KINDS.get(kind)
    if category is None or devices.current.stack[-1] is not devices.cpu:
        return None
    if dtype is None:
        dtype = default.float if kind is float else dtypes.int64 if kind is int else dtypes.bool_
    if dtype.category < category or dtype not in _PLAIN:
        return None
    try:
        if dtype is dtypes.float32 and not _fits(data):
            with np.errstate(over="ignore"):  # too large is infinite, as in PyTorch
                return np.array(data, BY_CODE[dtype.code])
        return np.array(data, BY_CODE[dtype.code])
    except OverflowError:
        return None  # the general way says what is wrong

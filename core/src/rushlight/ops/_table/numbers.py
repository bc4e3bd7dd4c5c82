"""Tensors of plain Python numbers, by one call of NumPy."""

from __future__ import annotations

import itertools
from math import hypot

from rushlight import devices, dtypes
from rushlight.dtypes import FLOAT, INTEGER, default
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE
from rushlight.tensor import construction
from rushlight.tensor.dispatch import STATE

_SEQUENCE = frozenset({list, tuple})
_KINDS = {float: FLOAT, int: INTEGER, bool: dtypes.bool_.category}
_PLAIN = frozenset({dtypes.float32, dtypes.float64, dtypes.int64, dtypes.bool_})

_LARGE = 3e38  # numbers beyond it may overflow float32


def plain_numbers(data, dtype):
    """A tensor of numbers of one kind, alone, in a sequence or in rows, on the CPU; None where that
    is not so simple."""
    kind = type(data)
    if kind in _SEQUENCE:
        numbers = data
        kinds = {*map(type, data)}
        if len(kinds) != 1:
            return None
        (kind,) = kinds
        if kind in _SEQUENCE:
            numbers = [*itertools.chain.from_iterable(data)]
            kinds = {*map(type, numbers)}
            if len(kinds) != 1 or len({*map(len, data)}) != 1:
                return None
            (kind,) = kinds
    else:
        numbers = (data,)
    category = _KINDS.get(kind)
    if category is None or devices.current.stack[-1] is not devices.cpu:
        return None
    if dtype is None:
        dtype = default.float if kind is float else dtypes.int64 if kind is int else dtypes.bool_
    if dtype.category < category or dtype not in _PLAIN:
        return None
    try:
        # the length of all numbers as a vector bounds each of them, by one call
        if dtype is not dtypes.float32 or hypot(*numbers) < _LARGE:
            array = np.array(data, BY_CODE[dtype.code])
        else:
            with np.errstate(over="ignore"):  # too large is infinite, as in PyTorch
                array = np.array(data, BY_CODE[dtype.code])
    except OverflowError:
        return None  # the general path says what is wrong
    made = construction.made(array, dtype)
    return construction.inferred(made) if STATE.inference else made

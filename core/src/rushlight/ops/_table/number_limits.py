"""Numbers among the arguments of a call that the dtype it computes in has to hold.

An op names them in its declaration, ``fits={"alpha": OPERANDS}``: what they must fit is the dtype
of the operands, or the one that sums and products of low precision are made in. A number beyond it
is an error; the other numbers of a call are rounded, wrapped or infinite in their dtype.
"""

from __future__ import annotations

import functools
import math

from rushlight.dtypes import FLOAT, SURE, finfo, float32, held, word_dtype
from rushlight.ops._table.rules import number_dtype

OPERANDS = "operands"
WIDE = "wide"  # float32 where the operands are of half the width
LOW = "low"  # the operands' dtype unless it is float32 or wider
FULL = "full"  # the operands' dtype unless it is a float of half the width
NUMBERS = frozenset({int, float, complex})


def _limiting(kind, dtype):
    """The dtype that numbers of a call of operands of a dtype must fit, or None: any will do."""
    if dtype.category < FLOAT or kind == OPERANDS:
        return dtype
    half = dtype.category == FLOAT and dtype.itemsize == 2
    if half if kind == FULL else kind == LOW and not half:
        return None
    return float32 if kind == WIDE and half else dtype


def largest(op, position, dtype):
    """The largest finite number that an argument may be beside operands of a floating dtype."""
    kind = op.fits.get(position)
    found = None if kind is None else _limiting(kind, dtype)
    return math.inf if found is None else finfo(found).max


def check(call, name, kind, dtype, value):
    """RuntimeError where an argument that is a number does not fit a call of operands of a dtype,
    OverflowError where it is a whole one of more than 64 bits. Other values pass."""
    found = type(value)
    if found not in NUMBERS or found is not complex and -SURE <= value <= SURE:
        return
    dtype = _limiting(kind, dtype)
    if dtype is None:
        return
    try:
        held(value, dtype)
    except RuntimeError:
        raise RuntimeError(
            f"{call}: value {value} cannot be converted to type {dtype} without overflow "
            f"(argument '{name}')"
        ) from None


def check_call(op, dtype, values):
    """The same for all bound values of a call; those of whole operands become whole numbers."""
    for position, kind in op.fits.items():
        value = values[position]
        check(op.label, op.names[position], kind, dtype, value)
        if dtype.category < FLOAT and type(value) in NUMBERS and value is not op.defaults[position]:
            values[position] = held(value, dtype)


def check_factors(call, kind, dtype, **factors):
    """The same for numbers that are factors of operands of a dtype."""
    for name, factor in factors.items():
        check(call, name, kind, dtype, factor)


def check_words(values):
    """OverflowError for a whole number of more than 64 bits among the values of a call."""
    for value in values:
        if type(value) is int and not -SURE <= value <= SURE:
            word_dtype(value)


@functools.cache
def _largest(dtype):
    return finfo(dtype).max


def check_uniform(dtype, low, to):
    """RuntimeError for a range of uniform numbers that a dtype cannot hold."""
    if dtype.category == FLOAT:
        most = _largest(dtype)
        for name, value in (("from", low), ("to", to)):
            if not -most <= value <= most:
                raise RuntimeError(f"uniform_: {name} is out of bounds for {dtype}, got {value}")
        if to - low > most:
            raise RuntimeError(f"uniform_: {to} - {low} is out of bounds for {dtype}")
    if low > to:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low} > to={to}"
        )


def ends_of_range(start, end, steps, dtype):
    """The first and the last number of a range as its dtype holds them, where they are in it."""
    for value in (start, end):
        number_dtype(value)  # refuses whole numbers of more than 64 bits
    start = held(start, dtype) if steps else 0
    return start, held(end, dtype) if steps > 1 else start

"""Numbers among the arguments of a call that the dtype it computes in has to hold.

An op names them in its declaration, ``fits={"alpha": OPERANDS}``: what they must fit is the dtype
of the operands, or the one that sums and products of low precision are made in. A number beyond it
is an error; the other numbers of a call are rounded, wrapped or infinite in their dtype.
"""

from __future__ import annotations

from rushlight.dtypes import FLOAT, SURE, float32, held, word_dtype

OPERANDS = "operands"
WIDE = "wide"  # float32 where the operands are of half the width
LOW = "low"  # the operands' dtype unless it is float32 or wider
FULL = "full"  # the operands' dtype unless it is a float of half the width
NUMBERS = frozenset({int, float, complex})


def check(call, name, kind, dtype, value):
    """RuntimeError where an argument that is a number does not fit a call of operands of a dtype,
    OverflowError where it is a whole one of more than 64 bits. Other values pass."""
    found = type(value)
    if found not in NUMBERS or found is not complex and -SURE <= value <= SURE:
        return
    if dtype.category >= FLOAT and kind != OPERANDS:
        half = dtype.category == FLOAT and dtype.itemsize == 2
        if half if kind == FULL else kind == LOW and not half:
            return
        dtype = float32 if kind == WIDE and half else dtype
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


__all__ = ["FULL", "LOW", "OPERANDS", "WIDE", "check", "check_call", "check_factors", "check_words"]

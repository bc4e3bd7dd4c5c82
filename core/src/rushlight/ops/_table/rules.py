"""Dtype rules by name, and PyTorch's type promotion for mixed operands.

A rule takes the promoted dtype and gives ``(operand dtype, result dtype)``: what the inputs are
cast to before the body runs, and what its result is stored as.
"""

from __future__ import annotations

from rushlight import dtypes
from rushlight.dtypes import (
    BOOL,
    COMPLEX,
    EIGHT_BITS,
    FLOAT,
    PROMOTION,
    default,
    refuse_promotion,
)
from rushlight.errors import argument_error
from rushlight.machine import np
from rushlight.machine.arrays import is_complex

_NUMBERS = {bool: dtypes.bool_}
_WORD = 1 << 63


def number_dtype(value):
    """The dtype a Python number stands for in promotion, or None if it is no number."""
    kind = type(value)
    if kind is int:
        return dtypes.int64 if -_WORD <= value < _WORD else dtypes.word_dtype(value)
    if kind in _NUMBERS:
        return _NUMBERS[kind]
    if kind is float:
        return default.float
    if kind is complex:
        return default.float.to_complex()
    if isinstance(value, bool):
        return dtypes.bool_
    if isinstance(value, np.ndarray):  # has the methods of numbers, whatever its shape
        return None
    if hasattr(value, "__index__"):
        return dtypes.word_dtype(value.__index__())
    if isinstance(value, complex):
        return default.float.to_complex()
    return default.float if hasattr(value, "__float__") else None


def as_numbers(op, **named):
    """Numbers by their arguments' names, of tensors their elements; TypeError of the function `op`
    for what is none."""
    for name, value in named.items():
        if hasattr(value, "_array"):
            named[name] = value.item()
        elif number_dtype(value) is None:
            raise argument_error(op, name, "Number", value)
    return list(named.values())


def filling_dtype(value):
    """The dtype of a new tensor filled with a number: never complex32, which only operands give."""
    found = number_dtype(value)
    if found is dtypes.uint64:  # which numbers alone never give
        return dtypes.int64
    return dtypes.complex64 if found is dtypes.complex32 else found


def result_type(tensors, numbers=()):
    """Promotion over tensors with dimensions, 0-d tensors, and numbers, in that order of weight."""
    full = zero = number = None
    for tensor in tensors:
        found = tensor._dtype
        if tensor._array.ndim:
            full = found if full is None else _promoted(full, found)
        else:
            zero = found if zero is None else _promoted(zero, found)
    for value in numbers:
        found = number_dtype(value)
        number = found if number is None else _promoted(number, found)
    if full is not None and zero is not None and zero.category > full.category:
        if full in EIGHT_BITS or zero in EIGHT_BITS:
            refuse_promotion(full, zero)
    return _combine(_combine(full, zero), number)


def _combine(strong, weak):
    """`weak` counts only where its category is higher; a float meets complex in its precision."""
    if strong is None or weak is None:
        return strong or weak
    if weak.category <= strong.category:
        return strong
    if weak.category == COMPLEX and strong.category == FLOAT:
        return strong.to_complex()
    return _promoted(strong, weak) if strong.category == BOOL else weak


def _promoted(a, b):
    return PROMOTION[a.code][b.code] or refuse_promotion(a, b)


def same(promoted):
    """The result has the promoted dtype."""
    return promoted, promoted


def floating(promoted):
    """Integers and bools become the default float."""
    found = promoted if promoted.category >= FLOAT else default.float
    return found, found


def boolean(promoted):
    """Operands are compared in the promoted dtype; the result is bool."""
    return promoted, dtypes.bool_


def real_of_complex(promoted):
    """Complex operands give their real dtype; others keep theirs."""
    return promoted, promoted.to_real()


def floating_only(promoted):
    """Float or complex operands keep their dtype; anything else is refused."""
    if promoted.category < FLOAT:
        raise NotImplementedError(f"not implemented for dtype {promoted}")
    return promoted, promoted


def integral_or_bool(promoted):
    """Integers and bools keep their dtype; anything else is refused."""
    if promoted.category >= FLOAT:
        raise NotImplementedError(f"not implemented for dtype {promoted}")
    return promoted, promoted


def _without_complex(rule, name, text):
    def real_rule(promoted):
        if promoted.category == COMPLEX:
            raise NotImplementedError(
                f"not implemented for dtype {promoted}: it is defined for real numbers only"
            )
        return rule(promoted)

    real_rule.__name__ = real_rule.__qualname__ = name
    real_rule.__doc__ = text
    return real_rule


def refuse_unordered(name, array):
    """Complex numbers have no order: what goes by size refuses them."""
    refuse_complex(name, array, "complex numbers have no order")


def refuse_complex(name, array, reason="it is defined for real numbers only"):
    """Refuse an array of complex numbers, of which a kernel would read the real parts."""
    if is_complex(array.dtype):
        raise NotImplementedError(f'"{name}" not implemented for dtype {array.dtype}: {reason}')


real_same = _without_complex(same, "real_same", "As :func:`same`; complex operands are refused.")
real_floating = _without_complex(
    floating, "real_floating", "As :func:`floating`; complex operands are refused."
)
real_boolean = _without_complex(
    boolean, "real_boolean", "As :func:`boolean`; complex operands are refused."
)
real_floating_only = _without_complex(
    floating_only, "real_floating_only", "Float operands keep their dtype; others are refused."
)


def accumulate(promoted):
    """Sums of bools and integers are int64."""
    found = dtypes.int64 if promoted.category < FLOAT else promoted
    return found, found

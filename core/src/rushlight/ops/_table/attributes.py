"""What arguments that are no tensors may be: truth values, and whole numbers, one or several.

An argument's kind follows from its declaration: a default of True or False makes it a truth value,
a name of `_WHOLE` or the annotation ``Sizes`` or ``Whole`` whole numbers. `checked` refuses what
PyTorch refuses (a number for a truth value; a truth value, a float or a string for a dimension),
and makes NumPy's integers and tensors of no dimension plain ones, so that bodies and kernels meet
nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

from rushlight.dtypes import BOOL, INTEGER, as_dtype, dtype
from rushlight.errors import argument_error, type_name
from rushlight.machine import np

TRUTH, WHOLE, DTYPE, POSITION = "bool", "int", "dtype", "position"
_WHOLE = frozenset(
    "dim dim0 dim1 dim2 dims dimension diagonal offset start_dim end_dim chunks shifts k size "
    "sizes split_size split_sizes window_length n_fft upscale_factor downscale_factor".split()
)
_NO_TRUTH = (int, float, complex, str, tuple, list, np.ndarray, np.generic, type(None))
_NOT_WHOLE = (
    bool, float, complex, str, np.ndarray, np.inexact, np.bool_, type(None), tuple, list, range,
    Iterator, dict, set,
)  # fmt: skip
_REFUSED, _INT = object(), {int}


def kind_of(name, default, annotation):
    """TRUTH, WHOLE, DTYPE (which Python's types may stand for), POSITION (which a tensor may hold),
    or None where anything goes."""
    if name == "dtype":
        return DTYPE
    if type(default) is bool or annotation == "bool":
        return TRUTH if annotation in (None, "bool") else None
    if annotation == "Position":
        return POSITION
    if annotation is None:
        return WHOLE if name in _WHOLE else None
    return WHOLE if annotation in ("Sizes", "Whole") else None


def checked(op, values):
    """Bound values, each of the kind that its argument asks for; a TypeError where one is not."""
    for position, name, kind, optional in op.attributes:
        value = values[position]
        found = type(value)
        if kind is TRUTH:
            if found is not bool:
                values[position] = _truth(op.label, name, value)
        elif kind is DTYPE:
            if value is not None and found is not dtype:
                values[position] = as_dtype(value)
        elif kind is POSITION:
            held = getattr(value, "_dtype", None)
            if held is not None and held.category == INTEGER and not value.dim():
                values[position] = value.item()
        elif found is not int and not (optional and value is None):
            values[position] = whole(op.label, name, value)
    return values


def _truth(op, name, value):
    held = getattr(value, "_dtype", None)
    if held is not None:
        if held.category == BOOL and not value.dim() and not value.requires_grad:
            return value.item()
    elif not isinstance(value, _NO_TRUTH):
        return value  # of a kind that stands for one while a program is traced
    raise argument_error(op, name, "bool", value)


def whole(op, name, value):
    """One whole number or several, plain ones; a TypeError of the op `op` for anything else."""
    if isinstance(value, tuple | list):
        if _INT.issuperset(map(type, value)):
            return value
        items = [_one(item) for item in value]
        at = next((at for at, item in enumerate(items) if item is _REFUSED), None)
        if at is not None:
            raise TypeError(
                f"{op}(): argument '{name}' must be tuple of ints, but found element of type "
                f"{type_name(value[at])} at position {at}"
            )
        return tuple(items)
    found = _one(value)
    if found is _REFUSED:
        raise argument_error(op, name, "int or tuple of ints", value)
    return found


def _one(value):
    """A plain int of what stands for one."""
    if type(value) is int:
        return value
    if isinstance(value, np.integer):
        return int(value)
    held = getattr(value, "_dtype", None)
    if held is not None:
        plain = held.category == INTEGER and value.dim() < 2 and value.numel() == 1
        return value.item() if plain and not value.requires_grad else _REFUSED
    return _REFUSED if isinstance(value, _NOT_WHOLE) else value

"""What compiled code calls beside ops: dtypes and layouts by number, exceptions by name.

In TorchScript a dtype is a number (c10/core/ScalarType.h), and so are layouts and memory formats.
"""

from __future__ import annotations

import builtins
import functools

from rushlight import dtypes
from rushlight.tensor import memory_format as formats
from rushlight.tensor.layout import layout

_NUMBERS = {
    "uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6,
    "float64": 7, "complex32": 8, "complex64": 9, "complex128": 10, "bool": 11, "bfloat16": 15,
    "uint16": 27, "uint32": 28, "uint64": 29,
}  # fmt: skip
DTYPES = {number: dtypes.NAMES[name] for name, number in _NUMBERS.items()}
NUMBERS = {dtype: number for number, dtype in DTYPES.items()}
FORMATS = (
    formats.contiguous_format, formats.preserve_format, formats.channels_last,
    formats.channels_last_3d,
)  # fmt: skip
LAYOUTS = ("strided", "sparse_coo", "sparse_csr", "mkldnn", "sparse_csc", "sparse_bsr",
           "sparse_bsc", "jagged")  # fmt: skip


class Error(Exception):
    """An exception that a program raises; it is also of the class the program names, say of
    ValueError."""


def as_dtype(value):
    """The dtype for a number; None stays."""
    if value is None or isinstance(value, dtypes.dtype):
        return value
    found = DTYPES.get(value)
    if found is None:
        raise NotImplementedError(
            f"the program uses the dtype of number {value!r}, which Rushlight does not have: "
            "quantized and 8-bit float models cannot run here; export the float model"
        )
    return found


def as_layout(value):
    """The layout for a number; None stays."""
    if value is None or not isinstance(value, int):
        return value
    return layout(LAYOUTS[value]) if value else None


def as_format(value):
    """The memory format for a number; None stays."""
    return FORMATS[value] if isinstance(value, int) else value


def number_of(value):
    """The number for a dtype, memory format or layout; None for other values."""
    if isinstance(value, dtypes.dtype):
        return NUMBERS[value]
    if isinstance(value, formats.memory_format):
        return FORMATS.index(value)
    return LAYOUTS.index(value) if isinstance(value, layout) else None


@functools.cache
def exception(name):
    """The exception class for a name: :class:`Error`, and Python's own class of that name."""
    found = getattr(builtins, name.removeprefix("builtins."), None)
    if not isinstance(found, type) or not issubclass(found, Exception) or found is Exception:
        return Error
    return type("Error", (Error, found), {"__module__": "rushlight.jit"})


def power(base, exponent):
    """``base ** exponent`` of numbers, as TorchScript has it."""
    return float(base) ** exponent


def raise_named(message, kind=""):
    """``raise kind(message)``; assertions say what they are in the text."""
    if not kind and message.startswith("AssertionError: "):
        kind, message = "AssertionError", message.removeprefix("AssertionError: ")
    raise exception(kind or "")(message)

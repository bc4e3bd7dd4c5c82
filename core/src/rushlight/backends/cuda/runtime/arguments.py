"""How a kernel's arguments are packed: one rule for both runtimes.

An argument is one of

- a NumPy scalar (``np.uint64`` for an address, ``np.int32``, ``np.int64``, ``np.float32``,
  ``np.float64``, ``np.bool_``, any other), passed as it lies in memory;
- a Python int, passed as a signed or (from 2**63 on) unsigned number of 8 bytes: an address or a
  ``long long``;
- a contiguous NumPy array, passed *by value* as a struct of its bytes (shapes and strides);
- a ctypes instance, passed by value.

Python's float and bool are refused: their size in C++ is not theirs.
"""

from __future__ import annotations

import ctypes

import numpy as np

PARAMETER_BYTES = 4096  # what a device takes in one launch


def _one(argument, position):
    """The argument as a NumPy array that holds its bytes."""
    if isinstance(argument, np.generic):
        return np.asarray(argument)
    if isinstance(argument, int) and not isinstance(argument, bool):
        return np.asarray(argument, np.int64 if argument < 1 << 63 else np.uint64)
    if isinstance(argument, np.ndarray):
        return np.ascontiguousarray(argument)
    if isinstance(argument, (ctypes._SimpleCData, ctypes.Structure, ctypes.Array)):
        return np.frombuffer(bytes(argument), np.uint8).copy()
    raise TypeError(
        f"launch(): argument {position} is a {type(argument).__name__}; expected a NumPy scalar, "
        "an int (8 bytes), or a NumPy array or ctypes instance passed by value"
    )


def _kind(argument, packed):
    if isinstance(argument, np.generic) and packed.dtype.kind in "fiub":
        return {"f": "f"}.get(packed.dtype.kind, "i")
    if isinstance(argument, int):
        return "i"
    return "s"


class Packed:
    """Arguments in memory and the array of their addresses that a launch takes."""

    __slots__ = ("kinds", "pointers", "sizes", "values")

    def __init__(self, arguments):
        self.values = [_one(argument, n) for n, argument in enumerate(arguments)]
        self.sizes = [value.nbytes for value in self.values]
        self.kinds = "".join(map(_kind, arguments, self.values))
        if sum(self.sizes) > PARAMETER_BYTES:
            raise ValueError(
                f"launch(): {sum(self.sizes)} bytes of arguments; a device takes {PARAMETER_BYTES}"
            )
        self.pointers = (ctypes.c_void_p * max(1, len(self.values)))(
            *[value.ctypes.data for value in self.values]
        )

"""How a kernel's arguments are packed: one rule for both runtimes.

An argument is one of

- a NumPy scalar (``np.uint64`` for an address, ``np.int32``, ``np.int64``, ``np.float32``,
  ``np.float64``, ``np.bool_``, any other of at most 8 bytes), passed as it is in memory;
- a Python int, passed as a signed or (from 2**63 on) unsigned number of 8 bytes: an address or a
  ``long long``;
- a contiguous NumPy array, passed *by value* as a struct of its bytes (shapes and strides);
- a ctypes instance, passed by value.

Python's float and bool are refused: their size in C++ is not theirs. Scalars are in slots of 8
bytes of one buffer, written by one call; how is remembered per sequence of types.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import threading

import numpy as np

PARAMETER_BYTES = 4096  # what a device takes in one launch
_CODES = {
    "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I",
    "int64": "q", "uint64": "Q", "float16": "e", "float32": "f", "float64": "d", "bool": "?",
}  # fmt: skip


def _is_scalar(kind):
    return kind is int or (issubclass(kind, np.generic) and np.dtype(kind).name in _CODES)


@functools.lru_cache(4096)
def _plan(kinds):
    """(format of all slots, sizes, kinds, positions of what is passed by value) for some types."""
    words, sizes, letters, others = ["<"], [], "", []
    for position, kind in enumerate(kinds):
        if kind is int:
            code, size, letter = "q", 8, "i"
        elif _is_scalar(kind):
            dtype = np.dtype(kind)
            code, size = _CODES[dtype.name], dtype.itemsize
            letter = "f" if dtype.kind == "f" else "i"
        elif issubclass(kind, (np.ndarray, np.void, ctypes._SimpleCData, ctypes.Structure,
                               ctypes.Array)):  # fmt: skip
            others.append(position)
            code, size, letter = "q", 0, "s"
        else:
            raise TypeError(
                f"launch(): argument {position} is a {kind.__name__}; expected a NumPy scalar, an "
                "int (8 bytes), or a NumPy array or ctypes instance passed by value"
            )
        words.append(code + (f"{8 - size}x" if 0 < size < 8 else ""))
        sizes.append(size)
        letters += letter
    return struct.Struct("".join(words)), sizes, letters, tuple(others)


@functools.lru_cache(64)
def _pointer_array(count):
    return ctypes.c_void_p * max(1, count)


def _bytes_of(argument):
    """What is passed by value, as a contiguous NumPy array."""
    if isinstance(argument, (np.ndarray, np.void)):
        return np.ascontiguousarray(argument)
    return np.frombuffer(bytes(argument), np.uint8)


def _signed(value):
    """An int as the number of 8 bytes with the same bits."""
    return value - (1 << 64) if type(value) is int and value >= 1 << 63 else value


class _Slots(threading.local):
    def __init__(self):
        self.known = {}


_slots = _Slots()


def address_for_now(arguments) -> int:
    """The address of an array of the arguments' addresses, valid until this thread's next call:
    for launches that copy the arguments before they return."""
    kinds = tuple(map(type, arguments))
    slot = _slots.known.get(kinds)
    if slot is None:
        if len(_slots.known) > 4096:
            _slots.known.clear()
        slot = _slots.known[kinds] = (Packed(arguments), _plan(kinds)[0].pack_into)
        return ctypes.addressof(slot[0].pointers)
    packed, pack_into = slot
    others = packed.places
    if others:
        values = packed.values = [_bytes_of(arguments[n]) for n in others]
        arguments = list(arguments)
        for n, value in zip(others, values, strict=True):
            arguments[n] = 0
            packed.pointers[n] = value.ctypes.data
    try:
        pack_into(packed.buffer, 0, *arguments)
    except struct.error:
        pack_into(packed.buffer, 0, *map(_signed, arguments))
    return ctypes.addressof(packed.pointers)


class Packed:
    """Arguments in memory and the array of their addresses that a launch takes."""

    __slots__ = ("buffer", "kinds", "places", "pointers", "sizes", "values")

    def __init__(self, arguments):
        layout, self.sizes, self.kinds, others = _plan(tuple(map(type, arguments)))
        self.values, self.places = (), others
        numbers = arguments
        if others:
            self.values = [_bytes_of(arguments[n]) for n in others]
            numbers = list(arguments)
            self.sizes = list(self.sizes)
            for n, value in zip(others, self.values, strict=True):
                numbers[n], self.sizes[n] = 0, value.nbytes
            if sum(self.sizes) > PARAMETER_BYTES:
                raise ValueError(
                    f"launch(): {sum(self.sizes)} bytes of arguments; a device takes "
                    f"{PARAMETER_BYTES}"
                )
        try:
            packed = layout.pack(*numbers)
        except struct.error:  # addresses of the upper half
            packed = layout.pack(*map(_signed, numbers))
        self.buffer = ctypes.create_string_buffer(packed, len(packed) + 8)
        start, count = ctypes.addressof(self.buffer), len(arguments)
        self.pointers = _pointer_array(count)(*range(start, start + 8 * count, 8))
        for n, value in zip(others, self.values, strict=True):
            self.pointers[n] = value.ctypes.data

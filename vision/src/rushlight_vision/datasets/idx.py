"""The idx format of MNIST: a magic number, the lengths of the dimensions, the values, big-endian.

Source: the description on the page of the MNIST database (LeCun, Cortes, Burges).
"""

from __future__ import annotations

import gzip
import math
import struct
import sys
from array import array
from pathlib import Path
from typing import Any

import rushlight as rl
from rushlight_vision.datasets.integrity import Location

# Third byte of the magic number -> dtype, `array` type code (None: single bytes, no order).
TYPES: dict[int, tuple[Any, str | None]] = {
    0x08: (rl.uint8, None),
    0x09: (rl.int8, None),
    0x0B: (rl.int16, "h"),
    0x0C: (rl.int32, "i"),
    0x0D: (rl.float32, "f"),
    0x0E: (rl.float64, "d"),
}


def _header(file: Any, path: Location) -> tuple[Any, str | None, tuple[int, ...]]:
    magic = file.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in TYPES or not 1 <= magic[3] <= 8:
        raise ValueError(f"{path} is not an idx file: it starts with {magic!r}")
    lengths = file.read(4 * magic[3])
    if len(lengths) < 4 * magic[3]:
        raise ValueError(f"{path} is truncated: it ends inside its header")
    dtype, code = TYPES[magic[2]]
    return dtype, code, struct.unpack(f">{magic[3]}I", lengths)


def idx_shape(path: Location) -> tuple[int, ...] | None:
    """The shape that an unpacked idx file announces, or None if the file has another length."""
    try:
        with open(path, "rb") as file:
            dtype, _, shape = _header(file, path)
            expected = file.tell() + math.prod(shape) * dtype.itemsize
    except (OSError, ValueError):
        return None
    return shape if Path(path).stat().st_size == expected else None


def read_idx(path: Location) -> rl.Tensor:
    """The tensor in an idx file, packed with gzip (a name that ends in .gz) or not."""
    opener: Any = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rb") as file:
        dtype, code, shape = _header(file, path)
        data = bytearray(file.read())
    expected = math.prod(shape) * dtype.itemsize
    if len(data) != expected:
        state = "truncated" if len(data) < expected else "too long"
        raise ValueError(
            f"{path} is {state}: shape {shape} of {dtype} needs {expected} bytes after the header, "
            f"the file holds {len(data)}"
        )
    if code is not None and sys.byteorder == "little":
        values = array(code, bytes(data))
        values.byteswap()
        data = bytearray(values.tobytes())
    if not data:
        return rl.empty(shape, dtype=dtype)
    return rl.frombuffer(data, dtype=dtype).reshape(shape)

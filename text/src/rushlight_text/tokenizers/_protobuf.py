"""Protocol buffers' wire format, as far as reading a message of known fields needs."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5


def fields(data: bytes | memoryview) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field: an int of a varint, else the bytes.

    Raises ValueError where the message is cut off or of another form.
    """
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise ValueError(f"field number 0 before byte {position}")
        if kind == _VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        if kind == _BYTES:
            size, position = _varint(data, position)
        elif kind in (_EIGHT, _FOUR):
            size = 8 if kind == _EIGHT else 4
        else:
            raise ValueError(f"wire type {kind} before byte {position}")
        end = position + size
        if end > len(data):
            raise ValueError(f"field {number} ends at byte {end} of {len(data)}")
        yield number, bytes(data[position:end])
        position = end


def _varint(data: bytes | memoryview, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            raise ValueError("cut off inside of a number")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ValueError(f"a number of more than ten bytes before byte {position}")


def single(value: int | bytes) -> float:
    """A field of four bytes as a float."""
    if not isinstance(value, bytes) or len(value) != 4:
        raise ValueError("expected a number of four bytes")
    return struct.unpack("<f", value)[0]


def text(value: int | bytes) -> str:
    """A field of bytes as UTF-8."""
    return submessage(value).decode("utf-8")


def submessage(value: int | bytes) -> bytes:
    """A field of bytes as they are."""
    if not isinstance(value, bytes):
        raise ValueError("expected a field of bytes, found a number")
    return value

"""The pieces of a SentencePiece model, read without the library: a message of protocol buffers
whose field 1 is a piece, with its text as field 1 and its kind as field 3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

__all__ = ["read_pieces"]

VARINT, EIGHT_BYTES, COUNTED, FOUR_BYTES = 0, 1, 2, 5


def read_pieces(path: str | Path) -> list[tuple[str, int]]:
    """Texts and kinds of all pieces; 1 is an ordinary piece, 2 the unknown one, 3 a control.

    Raises ValueError where the file is none of SentencePiece's.
    """
    try:
        pieces = [
            _piece(value)
            for field, value in _fields(Path(path).read_bytes())
            if field == 1 and isinstance(value, bytes)
        ]
    except (IndexError, UnicodeDecodeError, ValueError) as error:
        raise ValueError(f"{path} is no SentencePiece model: {error}") from None
    if not pieces:
        raise ValueError(f"{path} is no SentencePiece model: it has no pieces")
    return pieces


def _piece(message: bytes) -> tuple[str, int]:
    text, kind = "", 1
    for field, value in _fields(message):
        if field == 1 and isinstance(value, bytes):
            text = value.decode("utf-8")
        elif field == 3 and isinstance(value, int):
            kind = value
    return text, kind


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Numbers and values of the fields of a message."""
    at = 0
    while at < len(message):
        key, at = _number(message, at)
        wire = key & 7
        if wire == VARINT:
            value, at = _number(message, at)
            yield key >> 3, value
            continue
        if wire == COUNTED:
            size, at = _number(message, at)
        elif wire in (EIGHT_BYTES, FOUR_BYTES):
            size = 8 if wire == EIGHT_BYTES else 4
        else:
            raise ValueError(f"a field of kind {wire}")
        if at + size > len(message):
            raise ValueError("a field goes beyond the end")
        yield key >> 3, message[at : at + size]
        at += size


def _number(message: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits to a byte, and what is behind it."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7

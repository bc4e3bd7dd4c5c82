"""Archives and scripts read, binary and text, compressed matrices too.

A binary object is a NUL, ``B``, and a token: ``FV`` and ``DV`` are vectors of 32- and 64-bit
floats, ``FM`` and ``DM`` matrices, ``CM``, ``CM2`` and ``CM3`` compressed matrices; a vector of
integers has no token. Numbers of rows and columns follow a byte 4, the size of an int32.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

__all__ = ["Table", "read_ark", "read_scp"]

Table = str | os.PathLike | BinaryIO
_FLOATS: dict[str, Any] = {"F": np.dtype("<f4"), "D": np.dtype("<f8")}
_RANGE = re.compile(r"^(.*?)(?:\[([^\]]*)\])?$")


def read_ark(source: Table, kind: str) -> Iterator[tuple[str, Any]]:
    """Names and arrays of an archive.

    Args:
        source: a path (``.gz`` too), or a binary file object.
        kind: ``"matrix"``, ``"vector"`` or ``"integers"``.

    Raises:
        FileNotFoundError: no such file.
        ValueError: the archive is damaged, or holds another kind; the message names the entry.
    """
    with _opened(source) as file:
        while key := _key(file):
            yield key, _object(file, kind, f"{_shown(source)}: {key!r}")


def read_scp(source: Table, kind: str) -> Iterator[tuple[str, Any]]:
    """Names and arrays of a script: lines ``name path:offset`` or ``name path[rows,columns]``.

    Paths are relative to the working folder, as Kaldi's. Ranges have a first and last row, counted
    from 0, both included. Commands (``... |``) are refused.
    """
    with _opened(source) as file:
        lines = file.read().decode().splitlines()
    for line in filter(None, map(str.strip, lines)):
        key, _, place = line.partition(" ")
        yield key, _pointed(place.strip(), kind, f"{_shown(source)}: {key!r}")


def _pointed(place: str, kind: str, where: str) -> Any:
    if not place or place.endswith("|"):
        raise ValueError(
            f"{where}: a path is expected, got {place!r}; write the output of a command "
            "to an archive"
        )
    found = _RANGE.match(place)
    path, ranges = (found[1], found[2]) if found else (place, None)
    path, colon, offset = path.rpartition(":")
    if not colon or not offset.isdigit():
        path, offset = f"{path}{colon}{offset}", "0"
    with _opened(path) as file:
        file.seek(int(offset))
        array = _object(file, kind, where)
    return array if ranges is None else array[_slices(ranges, where)]


def _slices(ranges: str, where: str) -> tuple[slice, ...]:
    found = []
    for part in ranges.split(","):
        first, colon, last = part.strip().partition(":")
        if not part.strip() or part.strip() == ":":
            found.append(slice(None))
        elif colon and first.isdigit() and last.isdigit():
            found.append(slice(int(first), int(last) + 1))
        else:
            raise ValueError(f"{where}: a range first:last is expected, got {part!r}")
    return tuple(found)


def _opened(source: Any) -> Any:
    if hasattr(source, "read"):
        return contextlib.nullcontext(source)
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"no such Kaldi table: {str(path)!r}")
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def _shown(source: Any) -> str:
    return str(source) if isinstance(source, (str, os.PathLike)) else f"<{type(source).__name__}>"


def _key(file: Any) -> str:
    """The name before an object; "" at the end."""
    found = bytearray()
    while (sign := file.read(1)) not in (b"", b" "):
        found += b"" if sign == b"\n" and not found else sign
    return found.decode()


def _exactly(file: Any, count: int, where: str) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise ValueError(f"{where}: the archive breaks off: {len(data)} of {count} bytes read")
    return data


def _object(file: Any, kind: str, where: str) -> Any:
    first = file.read(1)
    if first == b"\0":
        if _exactly(file, 1, where) != b"B":
            raise ValueError(f"{where}: not a Kaldi object: a B is expected after the NUL")
        return _BINARY[kind](file, where)
    return _text(first, file, kind, where)


def _size(file: Any, where: str) -> int:
    data = _exactly(file, 5, where)
    size = int.from_bytes(data[1:], "little", signed=True)
    if data[0] != 4 or size < 0:
        raise ValueError(f"{where}: not a Kaldi object: a size is expected, got {data.hex()}")
    return size


def _token(file: Any, where: str) -> str:
    found = b""
    while (sign := _exactly(file, 1, where)) != b" ":
        found += sign
        if len(found) > 3:
            raise ValueError(f"{where}: not a Kaldi object: a token is expected, got {found!r}")
    return found.decode(errors="replace")


def _numbers(file: Any, dtype: Any, count: int, where: str) -> Any:
    data = _exactly(file, count * dtype.itemsize, where)
    return np.frombuffer(data, dtype).astype(dtype.newbyteorder("="))


def _vector(file: Any, where: str) -> Any:
    token = _token(file, where)
    if token not in ("FV", "DV"):
        raise ValueError(f"{where}: a vector of floats is expected, got the token {token!r}")
    return _numbers(file, _FLOATS[token[0]], _size(file, where), where)


def _integers(file: Any, where: str) -> Any:
    count = _size(file, where)
    data = np.frombuffer(_exactly(file, 5 * count, where), [("size", "i1"), ("value", "<i4")])
    if (data["size"] != 4).any():
        raise ValueError(f"{where}: a vector of 32-bit integers is expected")
    return data["value"].astype(np.int32)


def _matrix(file: Any, where: str) -> Any:
    token = _token(file, where)
    if token in _COMPRESSED:
        low, span = _numbers(file, np.dtype("<f4"), 2, where)
        rows, columns = (int(size) for size in _numbers(file, np.dtype("<i4"), 2, where))
        return _COMPRESSED[token](file, (low, span), (rows, columns), where)
    if token not in ("FM", "DM"):
        raise ValueError(f"{where}: a matrix is expected, got the token {token!r}")
    rows, columns = _size(file, where), _size(file, where)
    return _numbers(file, _FLOATS[token[0]], rows * columns, where).reshape(rows, columns)


def _by_columns(file: Any, scale: Any, shape: tuple[int, int], where: str) -> Any:
    """One byte a value, between four quantiles of its column."""
    (low, span), (rows, columns) = scale, shape
    words = _numbers(file, np.dtype("<u2"), 4 * columns, where).reshape(columns, 4)
    quantiles = (low + span * np.float32(1 / 65535) * words.astype(np.float32)).T[:, :, None]
    value = _numbers(file, np.dtype("u1"), rows * columns, where).reshape(columns, rows)
    value = value.astype(np.float32)
    p0, p25, p75, p100 = quantiles
    found = np.where(
        value <= 64,
        p0 + (p25 - p0) * value * np.float32(1 / 64),
        np.where(
            value <= 192,
            p25 + (p75 - p25) * (value - 64) * np.float32(1 / 128),
            p75 + (p100 - p75) * (value - 192) * np.float32(1 / 63),
        ),
    )
    return np.ascontiguousarray(found.T)


def _linear(dtype: str) -> Any:
    """Integers between the least and the greatest value."""

    def read(file: Any, scale: Any, shape: tuple[int, int], where: str) -> Any:
        kind, (low, span) = np.dtype(dtype), scale
        values = _numbers(file, kind, shape[0] * shape[1], where).astype(np.float32)
        step = span * np.float32(1 / np.iinfo(kind).max)
        return (low + values * step).reshape(shape)

    return read


_COMPRESSED = {"CM": _by_columns, "CM2": _linear("<u2"), "CM3": _linear("u1")}
_BINARY = {"matrix": _matrix, "vector": _vector, "integers": _integers}


def _text(first: bytes, file: Any, kind: str, where: str) -> Any:
    """An object in text: numbers of a line, or rows between brackets."""
    text = (first + file.readline()).decode(errors="replace")
    if kind != "integers":
        while "]" not in text:
            line = file.readline()
            if not line:
                raise ValueError(f"{where}: the text breaks off: a ] is expected")
            text += line.decode(errors="replace")
    try:
        if kind == "integers":
            # Kaldi writes no brackets here, other programs do.
            return np.array(text.replace("[", " ").replace("]", " ").split(), np.int32)
        body = text.strip()
        if not (body.startswith("[") and body.endswith("]")):
            raise ValueError("brackets are expected")
        rows = [np.array(row.split(), np.float32) for row in body[1:-1].splitlines() if row.split()]
        if kind == "vector":
            return np.concatenate([*rows, np.empty(0, np.float32)])
        return np.stack(rows) if rows else np.empty((0, 0), np.float32)
    except ValueError as error:
        raise ValueError(f"{where}: a {kind} in text is expected: {error}") from error

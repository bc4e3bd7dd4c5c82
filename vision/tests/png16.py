"""PNG files with 16 bits a channel, written byte by byte: Pillow writes grey ones only."""

from __future__ import annotations

import struct
import zlib

import numpy as np

COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}
# Adam7: first row and column, distance of rows and columns of each pass.
PASSES = (
    (0, 0, 8, 8),
    (0, 4, 8, 8),
    (4, 0, 8, 4),
    (0, 2, 4, 4),
    (2, 0, 4, 2),
    (0, 1, 2, 2),
    (1, 0, 2, 1),
)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _paeth(a: int, b: int, c: int) -> int:
    p = a + b - c
    distances = abs(p - a), abs(p - b), abs(p - c)
    return (a, b, c)[distances.index(min(distances))]


def _filtered(rows: np.ndarray) -> bytes:
    """Rows (H, W, C) of uint16, filtered by the five types in turn."""
    step, lines = rows.shape[2] * 2, []
    above = np.zeros(rows.shape[1] * step, np.int64)
    for number, row in enumerate(rows):
        raw = np.frombuffer(row.astype(">u2").tobytes(), np.uint8).astype(np.int64)
        left = np.concatenate([np.zeros(step, np.int64), raw[:-step]])
        corner = np.concatenate([np.zeros(step, np.int64), above[:-step]])
        paeth = np.array([_paeth(*each) for each in zip(left, above, corner, strict=True)])
        guess = (0 * raw, left, above, (left + above) // 2, paeth)[number % 5]
        lines.append(bytes([number % 5]) + ((raw - guess) % 256).astype(np.uint8).tobytes())
        above = raw
    return b"".join(lines)


def png16(pixels: np.ndarray, interlaced: bool = False, exif: bytes | None = None) -> bytes:
    """A PNG file of uint16 pixels (H, W, C)."""
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 16, COLOUR_TYPES[channels], 0, 0, interlaced)
    if interlaced:
        parts = [pixels[r::dr, c::dc] for r, c, dr, dc in PASSES]
        data = b"".join(_filtered(part) for part in parts if part.size)
    else:
        data = _filtered(pixels)
    middle = _chunk(b"eXIf", exif) if exif else b""
    chunks = _chunk(b"IHDR", header) + middle + _chunk(b"IDAT", zlib.compress(data))
    return b"\x89PNG\r\n\x1a\n" + chunks + _chunk(b"IEND", b"")

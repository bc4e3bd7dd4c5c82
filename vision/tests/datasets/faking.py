"""Small copies of published data sets, made from their published layouts, with what is in them.

A fake is a function of a folder that fills it and gives the cases: arguments of the data set beside
`root`, and the items that it must have then. It knows nothing of the code that reads it.
"""

from __future__ import annotations

import io
import json
import zlib
from dataclasses import dataclass, field

import numpy as np
from PIL import Image

FAKES = {}


@dataclass
class Case:
    """Arguments of a data set and its items, in order; `attributes` are those it has."""

    items: list
    arguments: dict = field(default_factory=dict)
    attributes: dict = field(default_factory=dict)


def fake(name, needs=None):
    """Register the fake of a data set; `needs` is a library without which it cannot be made."""

    def keep(function):
        FAKES[name] = function
        function.needs = needs
        return function

    return keep


def generator(name):
    """Random numbers that are the same for the same name, everywhere."""
    return np.random.default_rng(zlib.crc32(str(name).encode()))


def pixels(name, size=(7, 5), mode="RGB"):
    """Random pixels of a picture: width and height, and Pillow's mode."""
    width, height = size
    shape = (height, width, 3) if mode == "RGB" else (height, width)
    if mode == "I;16":
        return generator(name).integers(0, 2**16, shape).astype(np.uint16)
    return generator(name).integers(0, 256, shape).astype(np.uint8)


def picture(path, size=(7, 5), mode="RGB", as_mode=None):
    """Write a picture of its own pixels; gives what reading it must give, as `as_mode`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels(path.name, size, mode)).save(path)
    with Image.open(path) as image:
        return np.asarray(image.convert(as_mode) if as_mode else image)


def text(path, lines):
    """Write lines, or one string."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lines if isinstance(lines, str) else "".join(f"{line}\n" for line in lines))


def as_json(path, value):
    """Write a value as JSON."""
    text(path, json.dumps(value))


def mat(path, **arrays):
    """Write a file of MATLAB's."""
    import scipy.io

    path.parent.mkdir(parents=True, exist_ok=True)
    scipy.io.savemat(path, arrays)


def png16(path, array):
    """Write a PNG file of three channels of 16 bits, which Pillow cannot: (H, W, 3) uint16."""
    height, width, _ = array.shape
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in array)

    def chunk(kind, data):
        crc = zlib.crc32(kind + data).to_bytes(4, "big")
        return len(data).to_bytes(4, "big") + kind + data + crc

    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([16, 2, 0, 0, 0])
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + parts)


def pfm(path, array):
    """Write a PFM file: (C, H, W) float32, little-endian, the bottom row first."""
    channels, height, width = array.shape
    head = f"{'PF' if channels == 3 else 'Pf'}\n{width} {height}\n-1.0\n".encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head + array.transpose(1, 2, 0)[::-1].astype("<f4").tobytes())


def flo(path, array):
    """Write a `.flo` file: (2, H, W) float32."""
    _, height, width = array.shape
    head = b"PIEH" + np.array([width, height], "<i4").tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head + array.transpose(1, 2, 0).astype("<f4").tobytes())


def encoded(name, format="JPEG", size=(7, 5)):
    """A picture in memory: its file and its pixels."""
    buffer = io.BytesIO()
    Image.fromarray(pixels(name, size)).save(buffer, format)
    return buffer.getvalue(), np.asarray(Image.open(buffer).convert("RGB"))

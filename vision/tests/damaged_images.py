"""Damaged image files: small ones of every format, mutated; what must hold of each.

The tests try some hundred, ci/fuzz_images.py tens of thousands.
"""

from __future__ import annotations

import io
import random
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from pictures import picture, pixels
from PIL import Image
from png16 import png16

import rushlight as rl
from rushlight_vision.datasets.folder import open_image
from rushlight_vision.io import ImageReadMode, decode_image

SIZE = (14, 11)
# Name: format, mode and options of Pillow's `save`.
SAVED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "png": ("PNG", "RGB", {}),
    "png_alpha": ("PNG", "RGBA", {}),
    "png_grey_alpha": ("PNG", "LA", {}),
    "png_palette": ("PNG", "P", {"transparency": 3}),
    "png_bits": ("PNG", "1", {}),
    "jpeg": ("JPEG", "RGB", {}),
    "jpeg_grey": ("JPEG", "L", {}),
    "jpeg_inks": ("JPEG", "CMYK", {}),
    "jpeg_progressive": ("JPEG", "RGB", {"progressive": True}),
    "gif": ("GIF", "P", {}),
    "webp": ("WEBP", "RGB", {}),
    "webp_lossless": ("WEBP", "RGBA", {"lossless": True}),
    "tiff": ("TIFF", "RGB", {}),
    "tiff_lzw": ("TIFF", "RGB", {"compression": "tiff_lzw"}),
    "tiff_jpeg": ("TIFF", "RGB", {"compression": "jpeg"}),
    "bmp": ("BMP", "RGB", {}),
    "ppm": ("PPM", "RGB", {}),
    "pgm": ("PPM", "L", {}),
}
# What a header may lie with: sides, lengths, numbers of entries.
LIES = (0, 1, 2, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 20_000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
# The greatest image that Pillow opens has twice the pixels of which it warns.
MOST = 2 * (Image.MAX_IMAGE_PIXELS or 0)
CHANNELS = {"GRAY": 1, "GRAY_ALPHA": 2, "RGB": 3, "RGB_ALPHA": 4}


def _saved(image, format, **options):
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def _turned():
    exif = Image.Exif()
    exif[0x0112] = 6
    return _saved(picture(*SIZE), "JPEG", exif=exif)


def _film(format, frames=3, **options):
    more = [picture(*SIZE, seed=number) for number in range(1, frames)]
    return _saved(picture(*SIZE), format, save_all=True, append_images=more, **options)


def seeds():
    """The bytes of a small file of each kind."""
    found = {
        name: _saved(picture(*SIZE, mode=mode), format, **options)
        for name, (format, mode, options) in SAVED.items()
    }
    wide = np.repeat(pixels(*SIZE, 4), 1, 2).astype(np.uint16) * 257
    for channels in (1, 2, 3, 4):
        found[f"png16_{channels}"] = png16(wide[..., :channels], interlaced=channels == 3)
    found |= {"jpeg_turned": _turned(), "gif_film": _film("GIF"), "webp_film": _film("WEBP")}
    found["tiff16"] = _saved(Image.fromarray(wide[..., 0]), "TIFF")
    found["avif"] = _saved(picture(*SIZE), "AVIF")
    return found


def mutated(data, source):
    """A damaged copy, and what was done to it."""
    data = bytearray(data)
    kind = source.choice(("bytes", "header", "cut", "insert", "drop", "repeat", "lie", "size"))
    if kind in ("bytes", "header"):
        reach = len(data) if kind == "bytes" else min(len(data), 64)
        for _ in range(source.randint(1, 8)):
            data[source.randrange(reach)] = source.randrange(256)
    elif kind == "cut":
        del data[source.randrange(1, len(data)) :]
    elif kind == "lie":
        at = source.randrange(min(len(data), 128))
        size, letter = source.choice(((2, "H"), (4, "I")))
        value = source.choice(LIES) & (256**size - 1)
        data[at : at + size] = struct.pack(source.choice("<>") + letter, value)
    elif kind == "size":
        _resized(data, source)
    else:
        begin = source.randrange(len(data))
        end = min(len(data), begin + source.randint(1, 40))
        part = bytes(data[begin:end])
        if kind == "drop":
            del data[begin:end]
        else:
            data[begin:begin] = part if kind == "repeat" else source.randbytes(len(part))
    return bytes(data), kind


def _resized(data, source):
    """Another size in the header, where it is found, and a checksum that fits."""
    height, width = (source.choice((0, 1, 200, 13_000, 65_535)) for _ in range(2))
    if data[:4] == b"\x89PNG":
        data[16:24] = struct.pack(">II", width, height)
        data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
        return
    for order in "<>":
        found = data.find(struct.pack(order + "H", SIZE[1]))
        if found >= 0:
            data[found : found + 2] = struct.pack(order + "H", width)


def fault(data, mode, upright):
    """What is wrong with how a damaged file is decoded; "" where it is an error that names the
    tensor, or an image that can be right."""
    name = f"the tensor of {len(data)} bytes"
    given = rl.frombuffer(bytearray(data), dtype=rl.uint8)
    try:
        image = decode_image(given, mode, upright)
    except RuntimeError as error:
        return "" if name in str(error) else f"an error without a name: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if image.dtype not in (rl.uint8, rl.uint16) or image.dim() not in (3, 4):
        return f"{image.dtype} of shape {list(image.shape)}"
    if 0 in image.shape or image.shape[-1] * image.shape[-2] > MOST:
        return f"a shape of {list(image.shape)}"
    if image.shape[-3] != CHANNELS.get(mode.name, image.shape[-3]) or image.shape[-3] > 4:
        return f"{image.shape[-3]} channels for {mode.name}"
    return ""


def file_fault(data, path: Path):
    """The same of a file as data sets open it: ValueError, or an image."""
    path.write_bytes(data)
    try:
        image = open_image(path, "RGB")
    except ValueError as error:
        return "" if str(path) in str(error) else f"an error without a name: {error}"
    except Exception as error:
        return f"open_image: {type(error).__name__}: {error}"
    return "" if image.mode == "RGB" and min(image.size) > 0 else f"{image.mode} of {image.size}"


_SEEDS = seeds()


def case(number, folder: Path):
    """(name, kind, bytes, fault) of one case by its number."""
    source = random.Random(number)
    name = sorted(_SEEDS)[number % len(_SEEDS)]
    data, kind = mutated(_SEEDS[name], source)
    mode, upright = source.choice(list(ImageReadMode)), source.random() < 0.5
    found = fault(data, mode, upright) or file_fault(data, folder / "damaged")
    return name, kind, data, found

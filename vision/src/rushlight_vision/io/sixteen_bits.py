"""Images with 16 bits a channel as uint16, which Pillow keeps for grey ones only.

Of a PNG with wide colours Pillow keeps the upper byte of every value. Its decoder takes the values
in either byte order, so the file is decoded once as it is and once as if it were little-endian:
that gives the lower bytes. Grey with alpha has no such order; its four bytes a pixel are those of
an 8-bit RGBA file, so the header is changed to say so.
"""

from __future__ import annotations

import struct
import zlib
from io import BytesIO
from typing import Any

from PIL import Image, ImageOps

import rushlight as rl
from rushlight_vision.transforms.functional import pil_to_tensor

# Pillow's modes of 16-bit grey.
MODES = ("I;16", "I;16L", "I;16B", "I;16N")
# Pillow's names of what a PNG holds, and of the same in the other byte order.
GREY_ALPHA = "LA;16B"
LOWER_BYTES = {"RGB;16B": "RGB;16L", "RGBA;16B": "RGBA;16L", GREY_ALPHA: None}
OPAQUE = 65535
# A PNG begins with 8 bytes of signature and the header's 8 bytes of length and name; its 13 bytes
# end with depth, colour type, compression, filter and interlacing, and a checksum follows.
HEADER = slice(12, 29)
DEPTH, COLOUR_TYPE, CHECKSUM = 24, 25, slice(29, 33)
RGBA = 6
# libpng's weights of red and green in grey, of 32768; blue has the rest.
RED, GREEN, ONE = 29890 * 32768 // 100000, 58700 * 32768 // 100000, 32768


def wide_colours(image: Image.Image) -> str | None:
    """What a 16-bit PNG that is not loaded yet holds, if it holds more than grey."""
    tiles: Any = getattr(image, "tile", None)  # of image files, not of images made in memory
    if image.format != "PNG" or not tiles:
        return None
    rawmode = str(tiles[0][3])
    return rawmode if rawmode in LOWER_BYTES else None


def native(image: Image.Image) -> Image.Image:
    """16-bit grey in the byte order of the machine."""
    return image if image.mode == "I;16" else image.convert("I").convert("I;16")


def _bytes(data: bytes, rawmode: str | None, upright: bool) -> rl.Tensor:
    """The channels of an image, int32, decoded as if its values were of `rawmode`."""
    with Image.open(BytesIO(data)) as image:
        if rawmode is not None:
            tiles: Any = [(*tile[:3], rawmode) for tile in image.tile]
            image.tile = tiles
        image.load()
        oriented = ImageOps.exif_transpose(image) if upright else image
        return pil_to_tensor(oriented).to(rl.int32)


def _as_rgba(data: bytes) -> bytes:
    """The same PNG file with a header of 8-bit RGBA."""
    changed = bytearray(data)
    changed[DEPTH], changed[COLOUR_TYPE] = 8, RGBA
    changed[CHECKSUM] = struct.pack(">I", zlib.crc32(changed[HEADER]))
    return bytes(changed)


def planes(data: bytes, rawmode: str, upright: bool) -> rl.Tensor:
    """A 16-bit PNG file that holds `rawmode` as a uint16 tensor (C, H, W)."""
    if rawmode == GREY_ALPHA:
        both = _bytes(_as_rgba(data), None, upright)
        upper, lower = both[0::2], both[1::2]
    else:
        upper = _bytes(data, None, upright)
        lower = _bytes(data, LOWER_BYTES[rawmode], upright)
    return (upper * 256 + lower).to(rl.uint16)


def _grey(colours: rl.Tensor) -> rl.Tensor:
    red, green, blue = colours.to(rl.int64)
    mixed = red * RED + green * GREEN + blue * (ONE - RED - GREEN) + ONE // 2
    return mixed.div(ONE, rounding_mode="floor").to(rl.uint16).unsqueeze(0)


def with_channels(image: rl.Tensor, mode: str | None) -> rl.Tensor:
    """A uint16 image (C, H, W) with the channels of a mode of Pillow's; None leaves them."""
    if mode is None:
        return image
    channels = image.shape[0]
    colours: Any = image[:-1] if channels in (2, 4) else image
    alpha = image[-1:] if channels in (2, 4) else rl.full_like(image[:1], OPAQUE)
    if mode in ("L", "LA"):
        colours = _grey(colours) if colours.shape[0] == 3 else colours
    else:
        colours = colours.expand(3, -1, -1)
    if mode in ("LA", "RGBA"):
        return rl.cat([colours, alpha])
    return colours.contiguous()

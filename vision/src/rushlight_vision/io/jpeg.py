"""JPEG files decoded by libjpeg-turbo straight into a tensor's memory.

Pillow keeps four bytes a pixel and hands them out as three: for a large photo that takes as long
as decoding it. What libjpeg-turbo refuses or warns of is left to Pillow, whose errors are ours.
"""

from __future__ import annotations

import simplejpeg
from PIL import Image

import rushlight as rl

# Exif's orientation -> whether rows and columns are exchanged, and what is flipped after that.
ORIENTATION = 0x0112
UPRIGHT: dict[int, tuple[bool, list[int]]] = {
    2: (False, [2]),
    3: (False, [1, 2]),
    4: (False, [1]),
    5: (True, []),
    6: (True, [2]),
    7: (True, [1, 2]),
    8: (True, [1]),
}
COLOUR_SPACES = {"L": "GRAY", "RGB": "RGB"}


def planes(data: bytes, image: Image.Image, wanted: str | None, upright: bool) -> rl.Tensor | None:
    """The pixels (C, H, W) of a file that Pillow has opened; channels last in memory.

    `wanted` is Pillow's mode, the file's own if None. None for what Pillow reads: other formats
    and modes, and files that are damaged.
    """
    space = COLOUR_SPACES.get(wanted or image.mode)
    if image.format != "JPEG" or image.mode not in COLOUR_SPACES or space is None:
        return None
    # Of the size that Pillow has found and judged: a header that tells libjpeg-turbo of a larger
    # image, or of none, makes it refuse.
    channels = 3 if space == "RGB" else 1
    pixels = rl.empty(image.height, image.width, channels, dtype=rl.uint8)
    try:
        decoded = simplejpeg.decode_jpeg(data, space, buffer=pixels.numpy())
    except ValueError:
        return None
    if decoded.shape != tuple(pixels.shape):
        return None
    channels_first = pixels.permute(2, 0, 1)
    return turned(channels_first, image) if upright else channels_first


def turned(pixels: rl.Tensor, image: Image.Image) -> rl.Tensor:
    """Pixels (C, H, W) as the image's orientation in Exif says."""
    exchanged, flipped = UPRIGHT.get(image.getexif().get(ORIENTATION, 1), (False, []))
    if exchanged:
        pixels = pixels.transpose(1, 2)
    return pixels.flip(flipped) if flipped else pixels

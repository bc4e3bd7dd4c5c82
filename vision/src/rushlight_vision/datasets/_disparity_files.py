"""Files that hold optical flow or disparities: PFM, `.flo`, and PNG of 16 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

from rushlight_vision.datasets.integrity import Location
from rushlight_vision.io import ImageReadMode, read_image

Array = np.ndarray


def read_pfm(path: Location, channels: int) -> Array:
    """The first channels of a PFM file, float32 (C, H, W), the top row first.

    Format: http://www.pauldebevec.com/Research/HDR/PFM/. ValueError with the path if it is none.
    """
    with open(path, "rb") as file:
        kind, lengths, scale = (file.readline().split() for _ in range(3))
        content = file.read()
    try:
        depth = {b"PF": 3, b"Pf": 1}[kind[0]]
        width, height = map(int, lengths)
        order = "<f4" if float(scale[0]) < 0 else ">f4"
        values = np.frombuffer(content, order).reshape(height, width, depth)
    except (KeyError, ValueError, IndexError) as error:
        raise ValueError(f"{path} is no PFM file, or not whole: {error}") from None
    return np.ascontiguousarray(values[::-1].transpose(2, 0, 1)[:channels], dtype=np.float32)


def read_flo(path: Location) -> Array:
    """The flow in a `.flo` file (Middlebury's format), float32 (2, H, W): x and y, in pixels."""
    with open(path, "rb") as file:
        content = file.read()
    if content[:4] != b"PIEH":
        raise ValueError(f"{path} is no .flo file: it starts with {content[:4]!r}, not b'PIEH'")
    width, height = np.frombuffer(content, "<i4", 2, 4).tolist()
    values = np.frombuffer(content, "<f4", offset=12)
    if values.size != 2 * width * height:
        raise ValueError(f"{path} is truncated or altered: it has {values.size} numbers")
    return values.reshape(height, width, 2).transpose(2, 0, 1)


def read_flow_png(path: Location) -> tuple[Array, Array]:
    """The flow in a PNG file of three 16-bit channels (KITTI's format): float32 (2, H, W), and
    where it is known (bool, (H, W))."""
    values = read_image(str(path), ImageReadMode.UNCHANGED).float().numpy()
    return (values[:2] - 2**15) / 64, values[2] != 0


def read_picture(path: Location, dtype: Any = None) -> Array:
    """The pixels of a picture, in the layout they are stored in."""
    return np.asarray(Image.open(path), dtype=dtype)

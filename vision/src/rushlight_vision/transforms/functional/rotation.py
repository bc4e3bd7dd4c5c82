"""Turning an image by an angle."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PIL import Image

from rushlight_vision.transforms.functional.images import Picture, check_image, is_pil
from rushlight_vision.transforms.functional.padding import fill_color
from rushlight_vision.transforms.functional.warping import affine_grid, affine_matrix, sample
from rushlight_vision.transforms.interpolation import InterpolationMode, interpolation_mode


def turned_size(
    width: int, height: int, angle: float, center: tuple[float, float]
) -> tuple[int, int]:
    """Width and height of the box of whole pixels around the image turned about `center`."""
    cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    xs, ys = [], []
    for x in (-0.5 * width - center[0], 0.5 * width - center[0]):
        for y in (-0.5 * height - center[1], 0.5 * height - center[1]):
            xs.append(cosine * x - sine * y)
            ys.append(sine * x + cosine * y)
    lengths = []
    for values, shift in ((xs, 0.5 * width + center[0]), (ys, 0.5 * height + center[1])):
        # A corner that lies on a pixel's edge but for rounding counts as on it.
        low, high = (round(value + shift, 4) for value in (min(values), max(values)))
        lengths.append(math.ceil(high) - math.floor(low))
    return lengths[0], lengths[1]


def rotate(
    img: Picture,
    angle: float,
    interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: float | Sequence[float] | None = None,
) -> Picture:
    """The image turned counter-clockwise by `angle` degrees about `center`, (x, y) in pixels.

    `expand` makes the result large enough for the whole image turned about its middle; with another
    `center` the size is that of the turned image, and a part of it falls outside, as in Pillow.
    Outside is `fill`, black without it. Tensors take `NEAREST` and `BILINEAR`.
    """
    mode = interpolation_mode(interpolation, "rotate")
    if not isinstance(angle, (int, float)):
        raise TypeError(f"rotate: angle {angle!r}; expected a number of degrees")
    if center is not None and not (isinstance(center, (list, tuple)) and len(center) == 2):
        raise TypeError(f"rotate: center {center!r}; expected two numbers, x and y")
    check_image(img, "rotate")
    if is_pil(img):
        return img.rotate(
            angle,
            Image.Resampling(mode.pillow_code),
            expand,
            None if center is None else tuple(center),
            fillcolor=fill_color(fill, img, "rotate"),
        )
    if mode.value not in ("nearest", "bilinear"):
        raise ValueError(
            f"rotate: interpolation {mode.value!r}; tensors take 'nearest' and 'bilinear'"
        )
    height, width = img.shape[-2:]
    middle = (0.0, 0.0) if center is None else (center[0] - width * 0.5, center[1] - height * 0.5)
    new = turned_size(width, height, angle, middle) if expand else (width, height)
    matrix = affine_matrix(middle, -angle, (0.0, 0.0), 1.0, (0.0, 0.0))
    grid = affine_grid(matrix, (height, width), (new[1], new[0])).to(img.device)
    return sample(img, grid, mode.value, fill, "rotate")

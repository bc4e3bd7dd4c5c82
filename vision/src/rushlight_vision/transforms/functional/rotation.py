"""Turning an image by an angle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from PIL import Image

import rushlight as rl
from rushlight_vision.transforms.functional.images import check_image, is_pil
from rushlight_vision.transforms.functional.padding import fill_color
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


def _source_positions(
    size: tuple[int, int], new_size: tuple[int, int], angle: float, center: tuple[float, float]
) -> tuple[rl.Tensor, rl.Tensor]:
    """For every output pixel the column and row it comes from, shape (new height, new width)."""
    width, height = size
    new_width, new_height = new_size
    cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    x = rl.arange(new_width, dtype=rl.float32) + (0.5 - 0.5 * new_width)
    y = rl.arange(new_height, dtype=rl.float32) + (0.5 - 0.5 * new_height)
    x, y = x.unsqueeze(0) - center[0], y.unsqueeze(1) - center[1]
    columns = cosine * x - sine * y + (center[0] + 0.5 * width - 0.5)
    rows = sine * x + cosine * y + (center[1] + 0.5 * height - 0.5)
    return columns, rows


def _sample(image: rl.Tensor, column: rl.Tensor, row: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
    """Pixels at whole positions (zeros outside), and where the positions lie inside."""
    height, width = image.shape[-2:]
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    place = row.clamp(0, height - 1) * width + column.clamp(0, width - 1)
    pixels = image.reshape(*image.shape[:-2], height * width)
    pixels = pixels.index_select(-1, place.reshape(-1).to(rl.int64))
    return pixels.reshape(*image.shape[:-2], *column.shape) * inside, inside


def _rotate_tensor(
    image: rl.Tensor,
    angle: float,
    mode: str,
    expand: bool,
    center: tuple[float, float],
    fill: Any,
) -> rl.Tensor:
    height, width = image.shape[-2:]
    size = (width, height)
    if expand:
        size = turned_size(width, height, angle, center)
    columns, rows = _source_positions((width, height), size, angle, center)
    working = image if image.is_floating_point() else image.to(rl.float32)
    if mode == "nearest":
        result, inside = _sample(working, columns.round(), rows.round())
        share = inside.to(working.dtype)
    else:
        left, top = columns.floor(), rows.floor()
        result, share = rl.zeros(()), rl.zeros(())
        for right in (0, 1):
            for below in (0, 1):
                column, row = left + right, top + below
                weight = (1 - (columns - column).abs()) * (1 - (rows - row).abs())
                pixels, inside = _sample(working, column, row)
                result = result + pixels * weight
                share = share + inside * weight
    if fill is not None:
        values = rl.tensor(fill, dtype=working.dtype).reshape(-1, 1, 1)
        result = (
            rl.where(share < 0.5, values, result)
            if mode == "nearest"
            else (result * share + (1.0 - share) * values)
        )
    if not image.is_floating_point():
        result = result.round()
    return result.to(image.dtype)


def _tensor_fill(fill: Any, image: rl.Tensor) -> list[float] | None:
    """`fill` as one value or one for every channel."""
    if fill is None:
        return None
    values = [float(v) for v in fill] if isinstance(fill, (list, tuple)) else [float(fill)]
    channels = 1 if image.ndim == 2 else image.shape[-3]
    if len(values) not in (1, channels):
        raise ValueError(
            f"rotate: fill has {len(values)} values; the tensor of shape {tuple(image.shape)} has "
            f"{channels} channels"
        )
    return values


def rotate(
    img: Any,
    angle: float,
    interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: Any = None,
) -> Any:
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
    values = _tensor_fill(fill, img)
    if img.ndim == 2:
        turned = _rotate_tensor(img.unsqueeze(0), angle, mode.value, expand, middle, values)
        return turned[0]
    return _rotate_tensor(img, angle, mode.value, expand, middle, values)

"""Many images as one, for looking at them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, BinaryIO

import rushlight as rl
from rushlight_vision.transforms.functional import to_pil_image


def _batch(images: Any) -> rl.Tensor:
    """One tensor (N, C, H, W), one channel made three."""
    if isinstance(images, (list, tuple)) and images and all(map(rl.is_tensor, images)):
        shapes = sorted({tuple(image.shape) for image in images})
        if len(shapes) > 1:
            raise ValueError(f"make_grid: the images have different shapes: {shapes}")
        images = rl.stack(list(images), dim=0)
    if not isinstance(images, rl.Tensor):
        raise TypeError(f"tensor or list of tensors expected, got {type(images).__name__}")
    if images.ndim not in (2, 3, 4):
        raise ValueError(
            f"make_grid: expected a tensor (N, C, H, W), (C, H, W) or (H, W); got shape "
            f"{tuple(images.shape)}"
        )
    if images.ndim == 2:
        images = images.unsqueeze(0)
    if images.ndim == 3:
        images = images.unsqueeze(0)
    return rl.cat([images] * 3, dim=1) if images.shape[1] == 1 else images


def _normalized(image: rl.Tensor, value_range: tuple[float, float] | None) -> rl.Tensor:
    """The image with `value_range`, or its own range, moved to 0 ... 1."""
    if value_range is None:
        low, high = float(image.min()), float(image.max())
    else:
        low, high = value_range
    return image.clamp(low, high).sub(low).div(max(high - low, 1e-5))


@rl.no_grad()
def make_grid(
    tensor: rl.Tensor | Sequence[rl.Tensor],
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[int, int] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> rl.Tensor:
    """Images (N, C, H, W), or a list of equal ones, as one image of `nrow` images in a row.

    One channel becomes three. `padding` pixels of `pad_value` go around every image. `normalize`
    moves `value_range`, or the least and the largest value there are (of each image with
    `scale_each`), to 0 and 1. One image alone comes back without padding.
    """
    images = _batch(tensor)
    if normalize:
        if value_range is not None and not isinstance(value_range, tuple):
            raise TypeError(f"make_grid: value_range {value_range!r}; expected a tuple (min, max)")
        if scale_each:
            images = rl.stack([_normalized(image, value_range) for image in images.unbind(0)])
        else:
            images = _normalized(images, value_range)
    if images.shape[0] == 1:
        return images[0]
    count = images.shape[0]
    columns = min(nrow, count)
    rows = -(-count // columns)
    height, width = images.shape[2] + padding, images.shape[3] + padding
    grid = images.new_full(
        (images.shape[1], height * rows + padding, width * columns + padding), pad_value
    )
    for number, image in enumerate(images.unbind(0)):
        top = number // columns * height + padding
        left = number % columns * width + padding
        grid[:, top : top + height - padding, left : left + width - padding] = image
    return grid


@rl.no_grad()
def save_image(
    tensor: rl.Tensor | Sequence[rl.Tensor],
    fp: str | os.PathLike[str] | BinaryIO,
    format: str | None = None,
    **kwargs: Any,
) -> None:
    """Write images as one image file; see `make_grid` for the other arguments.

    Floats and bools hold 0 ... 1, uint8 holds 0 ... 255 and is written as it is. `format` is
    needed if `fp` is an open file instead of a name.

    Raises `RuntimeError` for other integers, which do not say what white is.
    """
    to_pil_image(_levels(make_grid(tensor, **kwargs)).cpu()).save(fp, format=format)


def _levels(grid: rl.Tensor) -> rl.Tensor:
    """An image as bytes."""
    if grid.dtype is rl.uint8:
        return grid
    if not grid.is_floating_point() and grid.dtype is not rl.bool:
        raise RuntimeError(
            f"save_image: images of {grid.dtype}; expected floats in 0 ... 1, bools, or uint8"
        )
    return grid.mul(255).add(0.5).clamp(0, 255).to(rl.uint8)

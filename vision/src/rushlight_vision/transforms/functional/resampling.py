"""Resizing tensors: every output line is a weighted sum of input lines, axis after axis.

The weights of one axis are a matrix (output length, input length), so a resize is two matrix
products and its gradient comes from theirs. Weights follow Pillow with `antialias` (the filter is
stretched to the input lines that fall on one output line; Turkowski, Filters for common resampling
tasks, 1990) and PyTorch's `interpolate(align_corners=False)` without.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import PIL

import rushlight as rl

PILLOW_MAJOR = int(PIL.__version__.split(".")[0])
SUPPORT = {"bilinear": 1.0, "bicubic": 2.0}
CUBIC_SMOOTHED, CUBIC_PLAIN = -0.5, -0.75  # Keys' parameter, as Pillow and as PyTorch choose it


def _triangle(distance: rl.Tensor) -> rl.Tensor:
    return (1.0 - distance.abs()).clamp(min=0.0)


def _cubic(distance: rl.Tensor, a: float) -> rl.Tensor:
    """Keys' cubic convolution kernel (1981)."""
    x = distance.abs()
    near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    far = (((x - 5.0) * x + 8.0) * x - 4.0) * a
    return rl.where(x < 1.0, near, rl.where(x < 2.0, far, rl.zeros_like(x)))


def _smoothed_weights(size: int, new_size: int, mode: str) -> rl.Tensor:
    """Weights with antialiasing, shape (new_size, size), rows summing to 1."""
    scale = size / new_size
    stretch = max(scale, 1.0)
    support = SUPPORT[mode] * stretch
    center = (rl.arange(new_size, dtype=rl.float64) + 0.5).unsqueeze(1) * scale
    line = rl.arange(size, dtype=rl.float64).unsqueeze(0)
    first = (center - support + 0.5).trunc().clamp(min=0.0)
    last = (center + support + 0.5).trunc().clamp(max=float(size))
    distance = (line - center + 0.5) / stretch
    weights = _triangle(distance) if mode == "bilinear" else _cubic(distance, CUBIC_SMOOTHED)
    weights = weights * ((line >= first) & (line < last))
    return weights / weights.sum(dim=1, keepdim=True)


def _plain_weights(size: int, new_size: int, mode: str) -> rl.Tensor:
    """Weights without antialiasing: two or four neighbours, the edge repeated beyond it."""
    scale = size / new_size
    position = (rl.arange(new_size, dtype=rl.float64) + 0.5) * scale - 0.5
    taps: tuple[int, ...]
    if mode == "bilinear":
        position = position.clamp(min=0.0)
        taps = (0, 1)
    else:
        taps = (-1, 0, 1, 2)
    base = position.floor()
    line = rl.arange(size, dtype=rl.float64).unsqueeze(0)
    weights = rl.zeros((new_size, size), dtype=rl.float64)
    for tap in taps:
        neighbour = base + tap
        distance = position - neighbour
        weight = _triangle(distance) if mode == "bilinear" else _cubic(distance, CUBIC_PLAIN)
        at = neighbour.clamp(0.0, float(size - 1)).unsqueeze(1) == line
        weights = weights + weight.unsqueeze(1) * at
    return weights


@lru_cache(maxsize=32)
def _weights(size: int, new_size: int, mode: str, antialias: bool, dtype: Any) -> rl.Tensor:
    """Transposed weights of one axis, shape (size, new_size)."""
    with rl.no_grad():
        make = _smoothed_weights if antialias else _plain_weights
        return make(size, new_size, mode).to(dtype).t().contiguous()


def _axis_order(height: int, width: int, size: tuple[int, int]) -> tuple[int, int]:
    """The axes in Pillow's order: the width first, from Pillow 13 on the one that shrinks more."""
    shorter, narrower = height - size[0], width - size[1]
    height_first = PILLOW_MAJOR >= 13 and shorter > max(0, 2 * narrower)
    return (-2, -1) if height_first else (-1, -2)


def _resize_bytes(image: rl.Tensor, size: tuple[int, int], mode: str, smooth: bool) -> rl.Tensor:
    """Bytes by core's kernel, all planes (..., H, W) as channels of one image.

    It takes the width first. Cubic ones that are smoothed go by the order of Pillow: each pass is
    cut off to bytes, and where the cubic overshoots 0 ... 255 the other order gives other colours.
    """
    height, width = image.shape[-2:]
    planes: Any = image.reshape(1, -1, height, width)
    if smooth and mode == "bicubic" and _axis_order(height, width, size)[0] == -2:
        planes = rl.nn.functional.interpolate(planes, (size[0], width), mode=mode, antialias=True)
    found = rl.nn.functional.interpolate(planes, size, mode=mode, antialias=smooth)
    return found.reshape(*image.shape[:-2], *size)


def _nearest_lines(size: int, new_size: int, exact: bool) -> rl.Tensor:
    """For every output line the input line it copies."""
    number = rl.arange(new_size, dtype=rl.float32)
    if exact:
        number = number + 0.5
    # float32, as PyTorch counts: at some lengths float64 would choose the neighbour
    scale = rl.tensor(size, dtype=rl.float32) / rl.tensor(new_size, dtype=rl.float32)
    return (number * scale).floor().clamp(max=float(size - 1)).to(rl.int64)


def _bilinear(image: rl.Tensor, size: tuple[int, int], antialias: bool) -> rl.Tensor:
    """Bytes and float32 by core's kernel, all planes (..., H, W) as channels of one image."""
    planes: Any = image.reshape(1, -1, *image.shape[-2:]).to(rl.float32)
    result = rl.nn.functional.interpolate(planes, size, mode="bilinear", antialias=antialias)
    result = result.reshape(*image.shape[:-2], *size)
    return result if image.dtype is rl.float32 else result.round().to(image.dtype)


def resize_tensor(
    image: rl.Tensor, size: tuple[int, int], mode: str, antialias: bool, in_bytes: bool
) -> rl.Tensor:
    """A tensor (..., H, W) resampled to `size` (height, width); integers are rounded at the end.

    `mode` is "nearest", "nearest-exact", "bilinear" or "bicubic". With `in_bytes`, uint8 is
    computed in whole numbers, which are rounded after each axis: as torchvision has it, transforms
    of the second version do so, those of the first do not.
    """
    height, width = image.shape[-2:]
    if mode.startswith("nearest"):
        exact = mode == "nearest-exact"
        image = image.index_select(-2, _nearest_lines(height, size[0], exact))
        return image.index_select(-1, _nearest_lines(width, size[1], exact))
    if image.dtype is rl.uint8 and (in_bytes or (mode == "bicubic" and antialias)):
        return _resize_bytes(image, size, mode, antialias)
    if mode == "bilinear" and image.dtype in (rl.uint8, rl.float32):
        return _bilinear(image, size, antialias)
    working: Any = image if image.dtype in (rl.float32, rl.float64) else image.to(rl.float32)
    if width != size[1]:
        weights = _weights(width, size[1], mode, antialias, working.dtype)
        working = rl.matmul(working, weights)
    if height != size[0]:
        weights = _weights(height, size[0], mode, antialias, working.dtype)
        working = rl.matmul(working.transpose(-1, -2).contiguous(), weights).transpose(-1, -2)
    if image.dtype is working.dtype:
        return working.contiguous()
    if not image.dtype.is_floating_point:
        if mode == "bicubic" and image.dtype is rl.uint8:
            working = working.clamp(0, 255)
        working = working.round()
    return working.to(image.dtype).contiguous()

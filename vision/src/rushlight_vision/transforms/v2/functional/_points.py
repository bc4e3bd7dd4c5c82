"""Key points: moved, clamped and sanitized."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as rl
from rushlight_vision import tv_tensors
from rushlight_vision.transforms.v2.functional._registry import is_pure_tensor
from rushlight_vision.tv_tensors._base import plain

Size = tuple[int, int]


def moved_points(points: rl.Tensor, change: Callable[[rl.Tensor], rl.Tensor]) -> rl.Tensor:
    """Points after `change`, in their dtype."""
    working = points if points.is_floating_point() else points.to(rl.float32)
    return change(working).to(points.dtype)


def _clamped(points: rl.Tensor, canvas_size: Size) -> rl.Tensor:
    height, width = canvas_size
    x, y = points.unbind(-1)
    return rl.stack([x.clamp(0, width - 1), y.clamp(0, height - 1)], dim=-1)


def _sized(points: Any, canvas_size: Size | None, name: str) -> Size:
    """The canvas of plain points, which is given, or of KeyPoints, which know it."""
    if is_pure_tensor(points):
        if canvas_size is None:
            raise ValueError(f"{name}: plain tensors need canvas_size")
        return canvas_size
    if canvas_size is not None:
        raise ValueError(f"{name}: KeyPoints know their canvas_size")
    return points.canvas_size


def clamp_keypoints(inpt: rl.Tensor, canvas_size: Size | None = None) -> rl.Tensor:
    """Points moved into the image, 0 ... width - 1 and 0 ... height - 1.

    Plain tensors need `canvas_size`, KeyPoints must not have it: ValueError.
    """
    size = _sized(inpt, canvas_size, "clamp_keypoints")
    if is_pure_tensor(inpt):
        return _clamped(inpt, size)
    return tv_tensors.wrap(_clamped(plain(inpt), size), like=inpt)


def sanitize_keypoints(
    key_points: rl.Tensor, canvas_size: Size | None = None
) -> tuple[rl.Tensor, rl.Tensor]:
    """The points, or groups of points, that lie in the image, and a mask (N,) of which these are.

    Plain tensors need `canvas_size`, KeyPoints must not have it: ValueError.
    """
    height, width = _sized(key_points, canvas_size, "sanitize_keypoints")
    values = key_points if is_pure_tensor(key_points) else plain(key_points)
    x, y = values.unbind(-1)
    valid = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    if valid.ndim > 1:
        valid = valid.flatten(1).all(dim=1)
    kept = values[valid]
    return tv_tensors.wrap(kept, like=key_points), valid

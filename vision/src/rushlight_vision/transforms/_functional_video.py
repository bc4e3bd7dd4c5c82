"""Functions of clips (C, T, H, W), under the module path that older programs import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as rl
from rushlight.nn.functional import interpolate

__all__ = ["center_crop", "crop", "hflip", "normalize", "resize", "resized_crop", "to_tensor"]


def _check(name: str, clip: Any) -> None:
    if not isinstance(clip, rl.Tensor):
        raise TypeError(f"{name}: clip must be a tensor, got {type(clip).__name__}")
    if clip.ndim != 4:
        raise ValueError(f"{name}: clip must have 4 dimensions, got shape {tuple(clip.shape)}")


def crop(clip: rl.Tensor, i: int, j: int, h: int, w: int) -> rl.Tensor:
    """The `h` x `w` pixels of a clip (C, T, H, W) from row `i` and column `j` on: a view."""
    _check("crop", clip)
    return clip[..., i : i + h, j : j + w]


def resize(clip: rl.Tensor, target_size: Sequence[int], interpolation_mode: str) -> rl.Tensor:
    """A clip with frames of `target_size` (height, width); the mode is one of `interpolate` that
    knows corners, such as ``"bilinear"``. Pixels are not averaged when they become fewer."""
    if len(target_size) != 2:
        raise ValueError(f"resize: target_size must be (height, width), got {target_size}")
    return interpolate(clip, list(target_size), mode=interpolation_mode, align_corners=False)


def resized_crop(
    clip: rl.Tensor, i: int, j: int, h: int, w: int, size: Sequence[int],
    interpolation_mode: str = "bilinear",
) -> rl.Tensor:  # fmt: skip
    """:func:`crop`, then :func:`resize`."""
    return resize(crop(clip, i, j, h, w), size, interpolation_mode)


def center_crop(clip: rl.Tensor, crop_size: Sequence[int]) -> rl.Tensor:
    """The middle of a clip, (height, width).

    >>> center_crop(rl.arange(5.0).reshape(1, 1, 1, 5), (1, 3))
    tensor([[[[1., 2., 3.]]]])
    """
    _check("center_crop", clip)
    (down, across), (height, width) = clip.shape[2:], crop_size
    if down < height or across < width:
        raise ValueError(
            f"center_crop: crop_size {tuple(crop_size)} is larger than the frames of "
            f"{down} x {across}"
        )
    top, left = round((down - height) / 2), round((across - width) / 2)
    return crop(clip, top, left, height, width)


def to_tensor(clip: rl.Tensor) -> rl.Tensor:
    """Frames of bytes (T, H, W, C) as a clip (C, T, H, W) of float32 from 0 to 1."""
    _check("to_tensor", clip)
    if clip.dtype is not rl.uint8:
        raise TypeError(f"to_tensor: clip must be of uint8, got {clip.dtype}")
    return clip.float().permute(3, 0, 1, 2) / 255.0


def normalize(
    clip: rl.Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False
) -> rl.Tensor:
    """``(clip - mean) / std``, channel by channel, of a clip (C, T, H, W)."""
    _check("normalize", clip)
    middle, width = (
        rl.as_tensor(each, dtype=clip.dtype, device=clip.device)[:, None, None, None]
        for each in (mean, std)
    )
    if inplace:
        return clip.sub_(middle).div_(width)
    return clip.sub(middle).div_(width)


def hflip(clip: rl.Tensor) -> rl.Tensor:
    """A clip with left and right exchanged."""
    _check("hflip", clip)
    return clip.flip(-1)

"""Transforms of clips (C, T, H, W), under the module path that older programs import. New ones
use `transforms.v2`, which takes videos as images are taken."""

from __future__ import annotations

import random
from collections.abc import Sequence

import rushlight as rl
from rushlight_vision.transforms import _functional_video as F
from rushlight_vision.transforms.geometry import RandomCrop, RandomResizedCrop

__all__ = [
    "CenterCropVideo",
    "NormalizeVideo",
    "RandomCropVideo",
    "RandomHorizontalFlipVideo",
    "RandomResizedCropVideo",
    "ToTensorVideo",
]


def _size(size: int | Sequence[int]) -> tuple[int, ...]:
    return (int(size), int(size)) if isinstance(size, (int, float)) else tuple(size)


class RandomCropVideo:
    """A part of `size`, one number or (height, width), at a random place, the same of all
    frames."""

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = _size(size)

    def __call__(self, clip: rl.Tensor) -> rl.Tensor:
        """The part of a clip (C, T, H, W); draws as `RandomCrop`."""
        height, width = self.size
        return F.crop(clip, *RandomCrop.get_params(clip, (height, width)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size})"


class RandomResizedCropVideo:
    """A part of random size, shape and place, resized to `size`; `scale` and `ratio` as of
    `RandomResizedCrop`, the mode as of `nn.functional.interpolate`.

    Raises ValueError for a size of more or fewer than two numbers.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation_mode: str = "bilinear",
    ) -> None:
        self.size = _size(size)
        if len(self.size) != 2:
            raise ValueError(
                f"RandomResizedCropVideo: size must be one number or (height, width), got {size}"
            )
        self.scale, self.ratio, self.interpolation_mode = scale, ratio, interpolation_mode

    def __call__(self, clip: rl.Tensor) -> rl.Tensor:
        """The part of a clip (C, T, H, W), resized; draws as `RandomResizedCrop`."""
        part = RandomResizedCrop.get_params(clip, self.scale, self.ratio)
        return F.resized_crop(clip, *part, self.size, self.interpolation_mode)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(size={self.size}, "
            f"interpolation_mode={self.interpolation_mode}, scale={self.scale}, "
            f"ratio={self.ratio})"
        )


class CenterCropVideo:
    """The middle of all frames; `crop_size` is one number or (height, width)."""

    def __init__(self, crop_size: int | Sequence[int]) -> None:
        self.crop_size = _size(crop_size)

    def __call__(self, clip: rl.Tensor) -> rl.Tensor:
        """The middle of a clip (C, T, H, W)."""
        return F.center_crop(clip, self.crop_size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(crop_size={self.crop_size})"


class NormalizeVideo:
    """``(clip - mean) / std``, channel by channel."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        self.mean, self.std, self.inplace = mean, std, inplace

    def __call__(self, clip: rl.Tensor) -> rl.Tensor:
        """The clip (C, T, H, W), with `inplace` the very same one."""
        return F.normalize(clip, self.mean, self.std, self.inplace)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mean={self.mean}, std={self.std}, inplace={self.inplace})"


class ToTensorVideo:
    """Frames of bytes (T, H, W, C) as a clip (C, T, H, W) of float32 from 0 to 1."""

    def __call__(self, clip: rl.Tensor) -> rl.Tensor:
        """The clip."""
        return F.to_tensor(clip)

    def __repr__(self) -> str:
        return type(self).__name__


class RandomHorizontalFlipVideo:
    """Left and right of all frames exchanged with probability `p`, by Python's `random`."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def __call__(self, clip: rl.Tensor) -> rl.Tensor:
        """The clip (C, T, H, W), flipped or not."""
        return F.hflip(clip) if random.random() < self.p else clip

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"

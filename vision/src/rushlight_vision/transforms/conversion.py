"""Conversions as transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.transforms import functional as F


class ToTensor:
    """A PIL image or an array (H, W, C) as a tensor (C, H, W); bytes become floats in 0 ... 1."""

    def __call__(self, pic: Any) -> rl.Tensor:
        """The tensor."""
        return F.to_tensor(pic)

    def __repr__(self) -> str:
        return "ToTensor()"


class PILToTensor:
    """A PIL image as a tensor (C, H, W) with the values and the dtype it is stored with."""

    def __call__(self, pic: Any) -> rl.Tensor:
        """The tensor."""
        return F.pil_to_tensor(pic)

    def __repr__(self) -> str:
        return "PILToTensor()"


class ToPILImage:
    """A tensor (C, H, W) or an array (H, W, C) as a PIL image; see `functional.to_pil_image`."""

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        """The PIL image."""
        return F.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        return "ToPILImage()" if self.mode is None else f"ToPILImage(mode={self.mode})"


class ConvertImageDtype(nn.Module):
    """A tensor image in another dtype, its values scaled to that dtype's range."""

    def __init__(self, dtype: Any) -> None:
        super().__init__()
        if not isinstance(dtype, rl.dtype):
            raise TypeError(f"ConvertImageDtype: expected a dtype, got {dtype!r}")
        self.dtype = dtype

    def forward(self, image: rl.Tensor) -> rl.Tensor:
        """The converted tensor."""
        return F.convert_image_dtype(image, self.dtype)


class Normalize(nn.Module):
    """`(image - mean) / std`, channel by channel, of a floating tensor (..., C, H, W)."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def forward(self, tensor: rl.Tensor) -> rl.Tensor:
        """The normalised tensor."""
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def __repr__(self) -> str:
        return f"Normalize(mean={self.mean}, std={self.std})"

"""Layers that several networks of the zoo are made of."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.transforms import functional


def block(before: int, after: int, stride: int = 1) -> nn.Sequential:
    """A convolution of 3 x 3, normalised, and ReLU."""
    return nn.Sequential(
        nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(after),
        nn.ReLU(inplace=True),
    )


class SmallPicture(nn.Module):
    """Makes a picture what a network of the zoo takes: of some channels and size, 0 to 1.

    Parameters
    ----------
    channels : int
        1 (grey) or 3.
    size : int or None
        Height and width; None: as they are.

    Example
    -------
    >>> SmallPicture(1, 28)(rl.zeros(3, 40, 40, dtype=rl.uint8)).shape
    rushlight.Size([1, 28, 28])
    """

    def __init__(self, channels: int, size: int | None = None) -> None:
        super().__init__()
        self.channels, self.size = channels, size

    def forward(self, img: Any) -> rl.Tensor:
        """The tensor (..., channels, size, size), float32, of a PIL image or a tensor."""
        if not isinstance(img, rl.Tensor):
            img = functional.pil_to_tensor(img.convert("L" if self.channels == 1 else "RGB"))
        if img.shape[-3] != self.channels:
            img = functional.rgb_to_grayscale(img) if self.channels == 1 else _colored(img)
        if self.size is not None and tuple(img.shape[-2:]) != (self.size, self.size):
            img = functional.resize(img, [self.size, self.size], antialias=True)
        return functional.convert_image_dtype(img, rl.float32)

    def __repr__(self) -> str:
        return f"SmallPicture(channels={self.channels}, size={self.size})"


def _colored(img: Any) -> Any:
    """A grey picture with three channels."""
    if img.shape[-3] != 1:
        raise ValueError(f"expected pictures of 1 or 3 channels, got {tuple(img.shape)}")
    return img.expand(*img.shape[:-3], 3, *img.shape[-2:])

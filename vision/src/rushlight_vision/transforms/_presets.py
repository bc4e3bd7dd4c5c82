"""What images go through before a published model sees them."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.transforms import functional
from rushlight_vision.transforms.interpolation import InterpolationMode

__all__ = ["ImageClassification", "ObjectDetection", "SemanticSegmentation"]


def _shown(preset: nn.Module, *names: str) -> str:
    """A preset with its settings, one a line."""
    lines = [f"    {name}={getattr(preset, name)}" for name in names]
    return "\n".join([f"{type(preset).__name__}(", *lines, ")"])


class ImageClassification(nn.Module):
    """Resize, crop the centre, scale to 0 ... 1 and normalise.

    Parameters
    ----------
    crop_size : int
        Side of the result.
    resize_size : int, default 256
        Length that the shorter side gets before it is cropped.
    mean, std : tuple of float
        Of the channels; default: those of ImageNet.
    interpolation : InterpolationMode, default BILINEAR
    antialias : bool, default True

    Example
    -------
    >>> ImageClassification(crop_size=8, resize_size=10)(rl.zeros(3, 20, 30)).shape
    rushlight.Size([3, 8, 8])
    """

    def __init__(
        self,
        *,
        crop_size: int,
        resize_size: int = 256,
        mean: tuple[float, ...] = (0.485, 0.456, 0.406),
        std: tuple[float, ...] = (0.229, 0.224, 0.225),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.crop_size = [crop_size]
        self.resize_size = [resize_size]
        self.mean = list(mean)
        self.std = list(std)
        self.interpolation = interpolation
        self.antialias = antialias

    def forward(self, img: Any) -> rl.Tensor:
        """The tensor (..., C, crop_size, crop_size) of a PIL image or a tensor (..., C, H, W)."""
        img = functional.resize(
            img, self.resize_size, interpolation=self.interpolation, antialias=self.antialias
        )
        img = functional.center_crop(img, self.crop_size)
        if not isinstance(img, rl.Tensor):
            img = functional.pil_to_tensor(img)
        img = functional.convert_image_dtype(img, rl.float32)
        return functional.normalize(img, mean=self.mean, std=self.std)

    def __repr__(self) -> str:
        return _shown(self, "crop_size", "resize_size", "mean", "std", "interpolation")

    def describe(self) -> str:
        """The steps in one sentence."""
        return (
            "Takes PIL images and tensors (..., C, H, W): resizes the shorter side to "
            f"{self.resize_size[0]} pixels by {self.interpolation}, crops the centre of "
            f"{self.crop_size[0]} x {self.crop_size[0]} pixels, scales values to 0 ... 1 and "
            f"normalises them with mean={self.mean} and std={self.std}."
        )


class ObjectDetection(nn.Module):
    """Scale to 0 ... 1: detectors normalise images themselves.

    >>> ObjectDetection()(rl.full((3, 1, 1), 255, dtype=rl.uint8)).flatten()
    tensor([1., 1., 1.])
    """

    def forward(self, img: Any) -> rl.Tensor:
        """The tensor (..., C, H, W), float32, of a PIL image or a tensor (..., C, H, W)."""
        if not isinstance(img, rl.Tensor):
            img = functional.pil_to_tensor(img)
        return functional.convert_image_dtype(img, rl.float32)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def describe(self) -> str:
        """The steps in one sentence."""
        return "Takes PIL images and tensors (..., C, H, W): scales values to 0 ... 1."


class SemanticSegmentation(nn.Module):
    """Resize, scale to 0 ... 1 and normalise.

    Parameters
    ----------
    resize_size : int or None
        Length that the shorter side gets; None: as it is.
    mean, std : tuple of float
        Of the channels; default: those of ImageNet.
    interpolation : InterpolationMode, default BILINEAR
    antialias : bool, default True

    Example
    -------
    >>> SemanticSegmentation(resize_size=10)(rl.zeros(3, 20, 30)).shape
    rushlight.Size([3, 10, 15])
    """

    def __init__(
        self,
        *,
        resize_size: int | None,
        mean: tuple[float, ...] = (0.485, 0.456, 0.406),
        std: tuple[float, ...] = (0.229, 0.224, 0.225),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.resize_size = None if resize_size is None else [resize_size]
        self.mean = list(mean)
        self.std = list(std)
        self.interpolation = interpolation
        self.antialias = antialias

    def forward(self, img: Any) -> rl.Tensor:
        """The tensor (..., C, H, W) of a PIL image or a tensor (..., C, H, W)."""
        if self.resize_size is not None:
            options: Any = {"interpolation": self.interpolation, "antialias": self.antialias}
            img = functional.resize(img, self.resize_size, **options)
        if not isinstance(img, rl.Tensor):
            img = functional.pil_to_tensor(img)
        img = functional.convert_image_dtype(img, rl.float32)
        return functional.normalize(img, mean=self.mean, std=self.std)

    def __repr__(self) -> str:
        return _shown(self, "resize_size", "mean", "std", "interpolation")

    def describe(self) -> str:
        """The steps in one sentence."""
        return (
            "Takes PIL images and tensors (..., C, H, W): resizes the shorter side to "
            f"{self.resize_size} pixels by {self.interpolation}, scales values to 0 ... 1 and "
            f"normalises them with mean={self.mean} and std={self.std}."
        )

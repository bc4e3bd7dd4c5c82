"""What images go through before a published model sees them."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.transforms import functional
from rushlight_vision.transforms.interpolation import InterpolationMode

__all__ = [
    "ImageClassification",
    "ObjectDetection",
    "OpticalFlow",
    "SemanticSegmentation",
    "VideoClassification",
]


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


class VideoClassification(nn.Module):
    """Resize, crop the centre, scale to 0 ... 1 and normalise, frame by frame.

    Parameters
    ----------
    crop_size : (int, int)
        Height and width of the result.
    resize_size : (int,) or (int, int)
        Length of the shorter side, or height and width, before it is cropped.
    mean, std : tuple of float
        Of the channels; default: those of Kinetics-400.
    interpolation : InterpolationMode, default BILINEAR

    Example
    -------
    >>> preset = VideoClassification(crop_size=(8, 8), resize_size=(10,))
    >>> preset(rl.zeros(4, 3, 20, 30)).shape  # frames first, channels first in the result
    rushlight.Size([3, 4, 8, 8])
    """

    def __init__(
        self,
        *,
        crop_size: tuple[int, int],
        resize_size: tuple[int] | tuple[int, int],
        mean: tuple[float, ...] = (0.43216, 0.394666, 0.37645),
        std: tuple[float, ...] = (0.22803, 0.22145, 0.216989),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    ) -> None:
        super().__init__()
        self.crop_size = list(crop_size)
        self.resize_size = list(resize_size)
        self.mean = list(mean)
        self.std = list(std)
        self.interpolation = interpolation

    def forward(self, vid: rl.Tensor) -> rl.Tensor:
        """The tensor (C, T, H, W) or (N, C, T, H, W) of one (T, C, H, W) or (N, T, C, H, W)."""
        one = vid.ndim < 5
        video: Any = vid.unsqueeze(0) if one else vid
        options: Any = {"interpolation": self.interpolation, "antialias": False}
        frames: Any = functional.resize(video.flatten(0, 1), self.resize_size, **options)
        frames = functional.center_crop(frames, self.crop_size)
        frames = functional.convert_image_dtype(frames, rl.float32)
        frames = functional.normalize(frames, mean=self.mean, std=self.std)
        video = frames.reshape(*video.shape[:3], *self.crop_size).permute(0, 2, 1, 3, 4)
        return video.squeeze(0) if one else video

    def __repr__(self) -> str:
        return _shown(self, "crop_size", "resize_size", "mean", "std", "interpolation")

    def describe(self) -> str:
        """The steps in one sentence."""
        return (
            "Takes tensors of frames (T, C, H, W) and batches (N, T, C, H, W): resizes frames to "
            f"{self.resize_size} by {self.interpolation}, crops the centre of {self.crop_size}, "
            f"scales values to 0 ... 1, normalises them with mean={self.mean} and std={self.std}, "
            "and puts channels before frames."
        )


class OpticalFlow(nn.Module):
    """Scale two images to -1 ... 1.

    >>> first, second = OpticalFlow()(*(rl.full((3, 1, 1), each) for each in (0.0, 1.0)))
    >>> first[0].item(), second[0].item()
    (-1.0, 1.0)
    """

    def forward(self, img1: Any, img2: Any) -> tuple[rl.Tensor, rl.Tensor]:
        """The tensors (..., C, H, W), float32, of PIL images or tensors (..., C, H, W)."""
        return self._scaled(img1), self._scaled(img2)

    def _scaled(self, img: Any) -> rl.Tensor:
        if not isinstance(img, rl.Tensor):
            img = functional.pil_to_tensor(img)
        img = functional.convert_image_dtype(img, rl.float32)
        return functional.normalize(img, mean=[0.5] * 3, std=[0.5] * 3).contiguous()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def describe(self) -> str:
        """The steps in one sentence."""
        return "Takes two PIL images or tensors (..., C, H, W): scales values to -1 ... 1."

"""Transforms of images: PIL images and tensors of shape (..., C, H, W)."""

from rushlight_vision.transforms import functional
from rushlight_vision.transforms.color import ColorJitter, Grayscale, RandomGrayscale, RandomInvert
from rushlight_vision.transforms.composition import (
    Compose,
    Lambda,
    RandomApply,
    RandomChoice,
    RandomOrder,
)
from rushlight_vision.transforms.conversion import (
    ConvertImageDtype,
    Normalize,
    PILToTensor,
    ToPILImage,
    ToTensor,
)
from rushlight_vision.transforms.erasing import RandomErasing
from rushlight_vision.transforms.geometry import (
    CenterCrop,
    FiveCrop,
    Pad,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
    Resize,
    TenCrop,
)
from rushlight_vision.transforms.interpolation import InterpolationMode

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ConvertImageDtype",
    "FiveCrop",
    "Grayscale",
    "InterpolationMode",
    "Lambda",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RandomApply",
    "RandomChoice",
    "RandomCrop",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomOrder",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
    "Resize",
    "TenCrop",
    "ToPILImage",
    "ToTensor",
    "functional",
]

"""Transforms of images: PIL images and tensors of shape (..., C, H, W)."""

from rushlight_vision.transforms import functional
from rushlight_vision.transforms.augmentations import (
    AutoAugmentPolicy,
)
from rushlight_vision.transforms.autoaugment import (
    AugMix,
    AutoAugment,
    RandAugment,
    TrivialAugmentWide,
)
from rushlight_vision.transforms.chances import (
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomPosterize,
    RandomSolarize,
)
from rushlight_vision.transforms.color import (
    ColorJitter,
    Grayscale,
    RandomGrayscale,
    RandomInvert,
)
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
from rushlight_vision.transforms.erasing import (
    RandomErasing,
)
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
from rushlight_vision.transforms.warps import (
    ElasticTransform,
    GaussianBlur,
    LinearTransformation,
    RandomAffine,
    RandomPerspective,
)

from rushlight_vision.transforms import transforms  # isort: skip  # noqa: F401 - a module path

__all__ = [
    "AugMix",
    "AutoAugment",
    "AutoAugmentPolicy",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ConvertImageDtype",
    "ElasticTransform",
    "FiveCrop",
    "GaussianBlur",
    "Grayscale",
    "InterpolationMode",
    "Lambda",
    "LinearTransformation",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChoice",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomOrder",
    "RandomPerspective",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
    "TenCrop",
    "ToPILImage",
    "ToTensor",
    "TrivialAugmentWide",
    "functional",
]

"""Transforms as functions, for PIL images and for tensors of shape (..., C, H, W)."""

from rushlight_vision.transforms.functional.color import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    invert,
    rgb_to_grayscale,
    to_grayscale,
)
from rushlight_vision.transforms.functional.conversion import (
    convert_image_dtype,
    normalize,
    pil_to_tensor,
    to_pil_image,
    to_tensor,
)
from rushlight_vision.transforms.functional.filtering import adjust_sharpness, gaussian_blur
from rushlight_vision.transforms.functional.geometry import (
    center_crop,
    crop,
    erase,
    five_crop,
    hflip,
    resize,
    resized_crop,
    ten_crop,
    vflip,
)
from rushlight_vision.transforms.functional.images import (
    get_dimensions,
    get_image_num_channels,
    get_image_size,
)
from rushlight_vision.transforms.functional.levels import (
    autocontrast,
    equalize,
    posterize,
    solarize,
)
from rushlight_vision.transforms.functional.padding import pad
from rushlight_vision.transforms.functional.rotation import rotate
from rushlight_vision.transforms.functional.warping import affine, elastic_transform, perspective
from rushlight_vision.transforms.interpolation import InterpolationMode

__all__ = [
    "InterpolationMode",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "affine",
    "autocontrast",
    "center_crop",
    "convert_image_dtype",
    "crop",
    "elastic_transform",
    "equalize",
    "erase",
    "five_crop",
    "gaussian_blur",
    "get_dimensions",
    "get_image_num_channels",
    "get_image_size",
    "hflip",
    "invert",
    "normalize",
    "pad",
    "perspective",
    "pil_to_tensor",
    "posterize",
    "resize",
    "resized_crop",
    "rgb_to_grayscale",
    "rotate",
    "solarize",
    "ten_crop",
    "to_grayscale",
    "to_pil_image",
    "to_tensor",
    "vflip",
]

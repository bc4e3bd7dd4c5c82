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
from rushlight_vision.transforms.functional.padding import pad
from rushlight_vision.transforms.functional.rotation import rotate
from rushlight_vision.transforms.interpolation import InterpolationMode

__all__ = [
    "InterpolationMode",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "center_crop",
    "convert_image_dtype",
    "crop",
    "erase",
    "five_crop",
    "get_dimensions",
    "get_image_num_channels",
    "get_image_size",
    "hflip",
    "invert",
    "normalize",
    "pad",
    "pil_to_tensor",
    "resize",
    "resized_crop",
    "rgb_to_grayscale",
    "rotate",
    "ten_crop",
    "to_grayscale",
    "to_pil_image",
    "to_tensor",
    "vflip",
]

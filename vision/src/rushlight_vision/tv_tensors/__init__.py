"""Tensors that say what they hold: images, videos, masks, bounding boxes and key points."""

from rushlight_vision.tv_tensors._base import TVTensor, set_return_type, wrap
from rushlight_vision.tv_tensors._geometry import (
    BoundingBoxes,
    BoundingBoxFormat,
    KeyPoints,
    is_rotated_bounding_format,
)
from rushlight_vision.tv_tensors._images import Image, Mask, Video

__all__ = [
    "BoundingBoxFormat",
    "BoundingBoxes",
    "Image",
    "KeyPoints",
    "Mask",
    "TVTensor",
    "Video",
    "is_rotated_bounding_format",
    "set_return_type",
    "wrap",
]

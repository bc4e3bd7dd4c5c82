"""Tensors that say what they hold: images, videos, masks, bounding boxes and key points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushlight_vision.tv_tensors._base import TVTensor, set_return_type, wrap
from rushlight_vision.tv_tensors._geometry import (
    BoundingBoxes,
    BoundingBoxFormat,
    KeyPoints,
    is_rotated_bounding_format,
)
from rushlight_vision.tv_tensors._images import Image, Mask, Video

if TYPE_CHECKING:
    from collections.abc import Collection

    from rushlight_vision.datasets.vision import VisionDataset

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
    "wrap_dataset_for_transforms_v2",
]


def wrap_dataset_for_transforms_v2(
    dataset: VisionDataset, target_keys: Collection[str] | str | None = None
) -> VisionDataset:
    """A data set with tv_tensors as targets: that of :mod:`rushlight_vision.datasets`."""
    from rushlight_vision import datasets

    return datasets.wrap_dataset_for_transforms_v2(dataset, target_keys)

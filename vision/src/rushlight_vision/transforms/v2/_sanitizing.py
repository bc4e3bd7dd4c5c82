"""Sanitizing boxes and key points, and linear maps of whole images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import PIL.Image

import rushlight as rl
from rushlight_vision import tv_tensors
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2._arguments import labels_getter as as_getter
from rushlight_vision.transforms.v2._transform import (
    Transform,
    flattened,
    get_bounding_boxes,
    get_keypoints,
    has_any,
    rebuilt,
)
from rushlight_vision.transforms.warps import LinearTransformation as FirstLinear
from rushlight_vision.tv_tensors._base import plain


class LinearTransformation(Transform):
    """A flattened image, less a mean vector (D,), times a matrix (D, D); PIL is refused."""

    def __init__(self, transformation_matrix: rl.Tensor, mean_vector: rl.Tensor) -> None:
        super().__init__()
        self._linear = FirstLinear(transformation_matrix, mean_vector)
        self.transformation_matrix, self.mean_vector = transformation_matrix, mean_vector

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Refuse PIL images."""
        if has_any(flat_inputs, PIL.Image.Image):
            raise TypeError("LinearTransformation: PIL images are not supported")

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The changed image."""
        return tv_tensors.wrap(self._linear(plain(inpt)), like=inpt)


class _Sanitizing(Transform):
    """Takes out boxes or points, and the labels that belong to them."""

    def __init__(self, labels_getter: Any) -> None:
        super().__init__()
        self.labels_getter = labels_getter
        self._getter = as_getter(labels_getter)

    def _labels(self, sample: Any, count: int) -> list[Any]:
        found = self._getter(sample)
        if found is None:
            return []
        labels = [found] if isinstance(found, rl.Tensor) else list(found)
        name = type(self).__name__
        for each in labels:
            if not isinstance(each, rl.Tensor):
                raise ValueError(f"{name}: labels must be tensors, got {type(each).__name__}")
            if each.shape[0] != count:
                raise ValueError(f"{name}: {each.shape[0]} labels for {count} rows")
        return labels

    def _kept(self, sample: Any, kinds: tuple[type, ...], valid: rl.Tensor) -> Any:
        """The sample, everything of `kinds` and all labels with their valid rows alone."""
        flat, spec = flattened(sample)
        labels = self._labels(sample, valid.shape[0])

        def change(each: Any) -> Any:
            if not (isinstance(each, kinds) or any(each is label for label in labels)):
                return each
            if isinstance(each, tv_tensors.TVTensor):
                return tv_tensors.wrap(plain(each)[valid], like=each)
            return each[valid]

        return rebuilt([change(each) for each in flat], spec)


class SanitizeBoundingBoxes(_Sanitizing):
    """Takes out boxes that are too small or leave the image, with their masks and labels.

    Parameters
    ----------
    min_size : float, default 1.0
        Least width and height.
    min_area : float, default 1.0
    labels_getter : "default", key, function or None
        Where the labels are; "default" looks for "labels" in a dict; None where there are none.

    Raises `ValueError` for sizes below 1 and where no boxes or labels are found.
    """

    def __init__(
        self, min_size: float = 1.0, min_area: float = 1.0, labels_getter: Any = "default"
    ) -> None:
        super().__init__(labels_getter)
        if min_size < 1 or min_area < 1:
            raise ValueError(f"min_size {min_size} and min_area {min_area} must be at least 1")
        self.min_size, self.min_area = min_size, min_area

    def forward(self, *inputs: Any) -> Any:
        """The sample without those boxes."""
        sample = inputs if len(inputs) > 1 else inputs[0]
        boxes: Any = get_bounding_boxes(flattened(sample)[0])
        _, valid = F.sanitize_bounding_boxes(boxes, min_size=self.min_size, min_area=self.min_area)
        return self._kept(sample, (tv_tensors.BoundingBoxes, tv_tensors.Mask), valid)


class SanitizeKeyPoints(_Sanitizing):
    """Takes out key points, or groups of them, that leave the image, with their labels."""

    def __init__(self, labels_getter: Callable[[Any], Any] | str | None = None) -> None:
        super().__init__(labels_getter)

    def forward(self, *inputs: Any) -> Any:
        """The sample without those points."""
        sample = inputs if len(inputs) > 1 else inputs[0]
        points: Any = get_keypoints(flattened(sample)[0])
        _, valid = F.sanitize_keypoints(points)
        return self._kept(sample, (tv_tensors.KeyPoints,), valid)

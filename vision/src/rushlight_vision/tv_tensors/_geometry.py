"""Bounding boxes and key points, which know the size of the image they belong to."""

from __future__ import annotations

from enum import Enum
from typing import Any

import rushlight as rl
from rushlight_vision.tv_tensors._base import TVTensor


class BoundingBoxFormat(Enum):
    """What the numbers of a box are.

    `XYXY` two corners; `XYWH` corner, width, height; `CXCYWH` centre, width, height; `XYWHR` and
    `CXCYWHR` the same with an angle in degrees; `XYXYXYXY` four corners.
    """

    XYXY = "XYXY"
    XYWH = "XYWH"
    CXCYWH = "CXCYWH"
    XYWHR = "XYWHR"
    CXCYWHR = "CXCYWHR"
    XYXYXYXY = "XYXYXYXY"


ROTATED = (BoundingBoxFormat.XYWHR, BoundingBoxFormat.CXCYWHR, BoundingBoxFormat.XYXYXYXY)
CLAMPING_MODES = ("soft", "hard", None)


def as_format(format: BoundingBoxFormat | str) -> BoundingBoxFormat:
    """A format by its name in any case; KeyError where there is none."""
    return format if isinstance(format, BoundingBoxFormat) else BoundingBoxFormat[format.upper()]


def is_rotated_bounding_format(format: BoundingBoxFormat | str) -> bool:
    """Whether boxes of this format can be rotated.

    >>> is_rotated_bounding_format("XYWHR")
    True
    """
    return as_format(format) in ROTATED


class BoundingBoxes(TVTensor):
    """Boxes of shape (N, numbers of the format), in pixels of an image of `canvas_size`.

    Parameters
    ----------
    data : tensor or anything that `rushlight.as_tensor` takes
        One dimension stands for one box.
    format : BoundingBoxFormat or str
    canvas_size : (height, width)
    clamping_mode : "soft" (the default), "hard" or None
        How boxes that leave the image are cut off.
    dtype, device, requires_grad : default: those of `data`

    Raises
    ------
    ValueError
        For more than two dimensions, for integers in a rotated format, for another clamping mode.
    KeyError
        For an unknown format.

    Example
    -------
    >>> boxes = BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=(10, 10))
    >>> boxes.format, boxes.canvas_size
    (<BoundingBoxFormat.XYXY: 'XYXY'>, (10, 10))
    """

    format: BoundingBoxFormat
    canvas_size: tuple[int, int]
    clamping_mode: str | None

    def __new__(
        cls,
        data: object,
        *,
        format: BoundingBoxFormat | str,
        canvas_size: tuple[int, int],
        clamping_mode: str | None = "soft",
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> Any:
        """See the class."""
        tensor = cls._tensor(data, dtype, device, requires_grad)
        if not tensor.is_floating_point() and is_rotated_bounding_format(format):
            raise ValueError(
                f"BoundingBoxes: rotated boxes must be floating point, got {tensor.dtype}"
            )
        return cls._wrapped(tensor, format, canvas_size, clamping_mode)

    @classmethod
    def _wrapped(cls, tensor: rl.Tensor, format: Any, canvas_size: Any, clamping_mode: Any) -> Any:
        if clamping_mode not in CLAMPING_MODES:
            raise ValueError(
                f"BoundingBoxes: clamping_mode must be None, 'hard' or 'soft', got {clamping_mode}"
            )
        if tensor.ndim > 2:
            raise ValueError(f"BoundingBoxes: expected 1D or 2D data, got {tensor.ndim}D")
        boxes = (tensor.unsqueeze(0) if tensor.ndim == 1 else tensor).as_subclass(cls)
        boxes.format = as_format(format)
        boxes.canvas_size = canvas_size
        boxes.clamping_mode = clamping_mode
        return boxes

    @classmethod
    def _wrap_like(cls, tensor: rl.Tensor, like: Any, **changes: Any) -> Any:
        names = ("format", "canvas_size", "clamping_mode")
        boxes = tensor.as_subclass(cls)
        for name in names:
            setattr(boxes, name, changes.get(name, getattr(like, name)))
        boxes.format = as_format(boxes.format)
        return boxes

    def __repr__(self, **_: Any) -> str:
        return self._described(
            format=self.format, canvas_size=self.canvas_size, clamping_mode=self.clamping_mode
        )


class KeyPoints(TVTensor):
    """Points (..., 2), x and y in pixels of an image of `canvas_size`.

    Parameters
    ----------
    data : tensor or anything that `rushlight.as_tensor` takes
    canvas_size : (height, width)
    dtype, device, requires_grad : default: those of `data`

    Raises
    ------
    ValueError
        If the last dimension is not 2.

    Example
    -------
    >>> KeyPoints([[1, 2]], canvas_size=(10, 10)).canvas_size
    (10, 10)
    """

    canvas_size: tuple[int, int]

    def __new__(
        cls,
        data: object,
        *,
        canvas_size: tuple[int, int],
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> Any:
        """See the class."""
        tensor = cls._tensor(data, dtype, device, requires_grad)
        tensor = tensor.unsqueeze(0) if tensor.ndim == 1 else tensor
        if tensor.shape[-1] != 2:
            raise ValueError(f"KeyPoints: expected shape (..., 2), got {tuple(tensor.shape)}")
        points = tensor.as_subclass(cls)
        points.canvas_size = canvas_size
        return points

    @classmethod
    def _wrap_like(cls, tensor: rl.Tensor, like: Any, **changes: Any) -> Any:
        points = tensor.as_subclass(cls)
        points.canvas_size = changes.get("canvas_size", like.canvas_size)
        return points

    def __repr__(self, **_: Any) -> str:
        return self._described(canvas_size=self.canvas_size)

"""Suppression of detections that are not the best nearby."""

from __future__ import annotations

from typing import Any

from rushlight.ops.signal.suppression import _suppressed
from rushlight.tensor.tensor import Tensor

__all__ = ["non_maximum_suppression"]


def non_maximum_suppression(boxes: Tensor, threshold: float, groups: Tensor | None = None):
    """Which boxes stay where each removes the later ones that overlap it too much.

    Args:
        boxes: (N, 4) of a floating dtype, corners ``x1, y1, x2, y2``, the best box first within
            its group. Ratios of float16 and bfloat16 are computed in float32.
        threshold: boxes whose intersection over union with an earlier one that stays is larger go.
        groups: (N,), whole numbers; boxes of one group stand together, and only they compete.
            Default: all boxes compete.

    Returns:
        bool (N,). Nothing is recorded for gradients.

    Raises TypeError for boxes or groups of another dtype, ValueError for other shapes.

    >>> boxes = rushlight.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.9], [5.0, 5.0, 6.0, 6.0]])
    >>> rushlight.signal.non_maximum_suppression(boxes, 0.5)
    tensor([ True, False,  True])

    Reference: R. Girshick and others, Rich feature hierarchies, 2014, section 2.2.
    """
    _check(boxes, groups)
    members: Any = boxes.new_zeros(boxes.shape[0], dtype=int) if groups is None else groups.long()
    return _suppressed(boxes.detach(), members, float(threshold))


def _check(boxes, groups):
    name = "non_maximum_suppression"
    if not boxes.is_floating_point():
        raise TypeError(f"{name}: boxes must have a floating dtype, got {boxes.dtype}")
    if boxes.dim() != 2 or boxes.shape[1] != 4:
        raise ValueError(f"{name}: boxes must have shape (N, 4), got {tuple(boxes.shape)}")
    if groups is None:
        return
    if groups.is_floating_point() or groups.is_complex():
        raise TypeError(f"{name}: groups must be whole numbers, got {groups.dtype}")
    if tuple(groups.shape) != (boxes.shape[0],):
        raise ValueError(
            f"{name}: groups must have shape ({boxes.shape[0]},), one for each box, got "
            f"{tuple(groups.shape)}"
        )

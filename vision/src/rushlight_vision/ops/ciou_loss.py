"""The loss of the complete intersection over union (Zheng et al., 2020)."""

from __future__ import annotations

import math

import rushlight as rl
from rushlight_vision.ops._utils import _upcast_non_float, reduced
from rushlight_vision.ops.boxes import _aspects
from rushlight_vision.ops.diou_loss import _diou_iou_loss


def complete_box_iou_loss(
    boxes1: rl.Tensor, boxes2: rl.Tensor, reduction: str = "none", eps: float = 1e-7
) -> rl.Tensor:
    """One minus the complete intersection over union of each box with its partner: the loss of the
    distance, and a penalty for different ratios of the sides.

    Parameters
    ----------
    boxes1, boxes2 : Tensor (N, 4) or (4,)
        ``x1, y1, x2, y2`` with ``x1 < x2`` and ``y1 < y2``.
    reduction : {"none", "mean", "sum"}
    eps : float, default 1e-7
        Added to what is divided by.

    Returns
    -------
    Tensor (N,), or () after a reduction

    Raises
    ------
    ValueError
        For another reduction.

    Example
    -------
    >>> boxes = rl.tensor([[0.0, 0.0, 1.0, 1.0]])
    >>> complete_box_iou_loss(boxes, boxes + rl.tensor([1.0, 0.0, 1.0, 0.0]), reduction="sum")
    tensor(1.2000)
    """
    boxes1, boxes2 = _upcast_non_float(boxes1), _upcast_non_float(boxes2)
    distance, iou = _diou_iou_loss(boxes1, boxes2, eps)
    unlike = (4 / math.pi**2) * (_aspects(boxes2) - _aspects(boxes1)) ** 2
    with rl.no_grad():
        weight = unlike / (1 - iou + unlike + eps)
    return reduced("complete_box_iou_loss", distance + weight * unlike, reduction)

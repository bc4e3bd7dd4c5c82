"""The loss of the generalised intersection over union (Rezatofighi et al., 2019)."""

from __future__ import annotations

import rushlight as rl
from rushlight_vision.ops._utils import (
    _hull_sides,
    _loss_inter_union,
    _upcast_non_float,
    reduced,
)


def generalized_box_iou_loss(
    boxes1: rl.Tensor, boxes2: rl.Tensor, reduction: str = "none", eps: float = 1e-7
) -> rl.Tensor:
    """One minus the generalised intersection over union of each box with its partner.

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
    >>> generalized_box_iou_loss(boxes, boxes + rl.tensor([1.0, 0.0, 1.0, 0.0]), reduction="sum")
    tensor(1.)
    """
    boxes1, boxes2 = _upcast_non_float(boxes1), _upcast_non_float(boxes2)
    inter, union = _loss_inter_union(boxes1, boxes2)
    width, height = _hull_sides(boxes1, boxes2)
    hull = width * height
    giou = inter / (union + eps) - (hull - union) / (hull + eps)
    return reduced("generalized_box_iou_loss", 1 - giou, reduction)

"""The loss of the distance intersection over union (Zheng et al., 2020)."""

from __future__ import annotations

import rushlight as rl
from rushlight_vision.ops._utils import (
    _hull_sides,
    _loss_inter_union,
    _upcast_non_float,
    reduced,
)


def distance_box_iou_loss(
    boxes1: rl.Tensor, boxes2: rl.Tensor, reduction: str = "none", eps: float = 1e-7
) -> rl.Tensor:
    """One minus the distance intersection over union of each box with its partner.

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
    >>> distance_box_iou_loss(boxes, boxes + rl.tensor([1.0, 0.0, 1.0, 0.0]), reduction="sum")
    tensor(1.2000)
    """
    boxes1, boxes2 = _upcast_non_float(boxes1), _upcast_non_float(boxes2)
    loss, _ = _diou_iou_loss(boxes1, boxes2, eps)
    return reduced("distance_box_iou_loss", loss, reduction)


def _diou_iou_loss(
    boxes1: rl.Tensor, boxes2: rl.Tensor, eps: float = 1e-7
) -> tuple[rl.Tensor, rl.Tensor]:
    """The loss and the intersection over union of each pair."""
    inter, union = _loss_inter_union(boxes1, boxes2)
    iou = rl.div(inter, union + eps)
    left, top, right, bottom = boxes1.unbind(dim=-1)
    left2, top2, right2, bottom2 = boxes2.unbind(dim=-1)
    width, height = _hull_sides(boxes1, boxes2)
    diagonal = width**2 + height**2 + eps
    across = (right + left) / 2 - (left2 + right2) / 2
    down = (bottom + top) / 2 - (top2 + bottom2) / 2
    apart = (across.square() + down.square()) / diagonal
    return 1 - iou + apart, iou

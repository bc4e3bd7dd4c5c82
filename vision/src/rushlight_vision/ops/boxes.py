"""Boxes: areas, overlaps, formats, clipping, and suppression of those that overlap."""

from __future__ import annotations

import math

import rushlight as rl
from rushlight_vision.ops._box_convert import FORMATS, UPRIGHT, converted
from rushlight_vision.ops._suppression import kept_boxes
from rushlight_vision.ops._utils import _upcast

__all__ = [
    "batched_nms",
    "box_area",
    "box_convert",
    "box_iou",
    "clip_boxes_to_image",
    "complete_box_iou",
    "distance_box_iou",
    "generalized_box_iou",
    "masks_to_boxes",
    "nms",
    "remove_small_boxes",
]

# Up to so many coordinates boxes of different classes are moved apart, as in torchvision, which
# rounds them; beyond, classes are compared.
MOVED_COORDINATES = 4000


def _check_nms(boxes: rl.Tensor, scores: rl.Tensor) -> None:
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise RuntimeError(f"nms: boxes must have shape (N, 4), got {tuple(boxes.shape)}")
    if tuple(scores.shape) != (boxes.shape[0],):
        raise RuntimeError(
            f"nms: scores must have shape ({boxes.shape[0]},), one for each box, got "
            f"{tuple(scores.shape)}"
        )
    if not boxes.is_floating_point() or boxes.dtype != scores.dtype:
        raise RuntimeError(
            f"nms: boxes and scores must have the same floating dtype, got {boxes.dtype} and "
            f"{scores.dtype}"
        )


def nms(boxes: rl.Tensor, scores: rl.Tensor, iou_threshold: float) -> rl.Tensor:
    """Non-maximum suppression: indices of the boxes that overlap no better one that stays.

    Parameters
    ----------
    boxes : Tensor (N, 4)
        ``x1, y1, x2, y2``.
    scores : Tensor (N,)
        Of the dtype of `boxes`. Of equal scores the first is better.
    iou_threshold : float
        Boxes with a larger intersection over union than this compete.

    Returns
    -------
    Tensor (K,) of int64
        Best first.

    Raises
    ------
    RuntimeError
        For other shapes, or dtypes that differ or are not floating.

    Example
    -------
    >>> boxes = rl.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.9], [5.0, 5.0, 6.0, 6.0]])
    >>> nms(boxes, rl.tensor([0.5, 0.9, 0.7]), 0.5)
    tensor([1, 2])
    """
    _check_nms(boxes, scores)
    return kept_boxes(_upcast(boxes), scores, iou_threshold)


def batched_nms(
    boxes: rl.Tensor, scores: rl.Tensor, idxs: rl.Tensor, iou_threshold: float
) -> rl.Tensor:
    """:func:`nms` where only boxes of the same class compete.

    Parameters
    ----------
    boxes : Tensor (N, 4)
    scores : Tensor (N,)
    idxs : Tensor (N,)
        The class of every box.
    iou_threshold : float

    Returns
    -------
    Tensor (K,) of int64
        Indices of the boxes that stay, best first.

    Example
    -------
    >>> boxes = rl.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 2.0]])
    >>> batched_nms(boxes, rl.tensor([0.5, 0.9]), rl.tensor([0, 1]), 0.5)
    tensor([1, 0])
    """
    _check_nms(boxes, scores)
    if tuple(idxs.shape) != tuple(scores.shape):
        raise RuntimeError(
            f"batched_nms: idxs must have shape {tuple(scores.shape)}, got {tuple(idxs.shape)}"
        )
    if boxes.numel() > MOVED_COORDINATES:
        return kept_boxes(_upcast(boxes), scores, iou_threshold, idxs)
    if boxes.numel() == 0:
        return rl.empty((0,), dtype=rl.int64, device=boxes.device)
    offsets = idxs.to(boxes) * (boxes.max() + rl.tensor(1).to(boxes))
    return nms(boxes + offsets[:, None], scores, iou_threshold)


def remove_small_boxes(boxes: rl.Tensor, min_size: float) -> rl.Tensor:
    """Indices (K,) of the boxes (N, 4) with both sides at least `min_size`.

    >>> remove_small_boxes(rl.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 9.0, 1.0]]), 2.0)
    tensor([0])
    """
    sides = boxes[:, 2:] - boxes[:, :2]
    return rl.where((sides >= min_size).all(1))[0]


def clip_boxes_to_image(boxes: rl.Tensor, size: tuple[int, int]) -> rl.Tensor:
    """Boxes (..., 4) with all corners inside of an image of `size` height and width.

    >>> clip_boxes_to_image(rl.tensor([[-1.0, 2.0, 9.0, 4.0]]), (3, 5))
    tensor([[0., 2., 5., 3.]])
    """
    height, width = size
    across, down = boxes[..., 0::2].clamp(0, width), boxes[..., 1::2].clamp(0, height)
    return rl.stack((across, down), dim=-1).reshape(boxes.shape)


def box_convert(boxes: rl.Tensor, in_fmt: str, out_fmt: str) -> rl.Tensor:
    """Boxes (..., K) in another format: a new tensor.

    Formats of upright boxes are ``'xyxy'`` (two corners), ``'xywh'`` (corner and size) and
    ``'cxcywh'`` (centre and size); of turned ones ``'xywhr'`` and ``'cxcywhr'`` (with an angle in
    degrees, counter-clockwise) and ``'xyxyxyxy'`` (four corners from the top left one, clockwise).

    Raises `ValueError` for other formats and `NotImplementedError` between upright and turned ones.

    >>> box_convert(rl.tensor([[1.0, 2.0, 3.0, 6.0]]), "xyxy", "cxcywh")
    tensor([[2., 4., 2., 4.]])
    """
    if in_fmt not in FORMATS or out_fmt not in FORMATS:
        raise ValueError(
            f"box_convert: formats are {', '.join(FORMATS)}; got in_fmt={in_fmt!r} and "
            f"out_fmt={out_fmt!r}"
        )
    if in_fmt == out_fmt:
        return boxes.clone()
    if (in_fmt in UPRIGHT) != (out_fmt in UPRIGHT):
        raise NotImplementedError(
            f"box_convert: {in_fmt} to {out_fmt}: only between {', '.join(UPRIGHT)}, or between "
            f"{', '.join(FORMATS[3:])}"
        )
    return converted(boxes, in_fmt, out_fmt)


def _check_upright(name: str, fmt: str) -> None:
    if fmt not in UPRIGHT:
        raise ValueError(f"{name}: fmt must be one of {', '.join(UPRIGHT)}, got {fmt!r}")


def box_area(boxes: rl.Tensor, fmt: str = "xyxy") -> rl.Tensor:
    """Areas (...,) of boxes (..., 4) of the format ``'xyxy'``, ``'xywh'`` or ``'cxcywh'``.

    At least 32 bits wide. Raises `ValueError` for other formats.

    >>> box_area(rl.tensor([[1.0, 2.0, 3.0, 6.0]]))
    tensor([8.])
    """
    _check_upright("box_area", fmt)
    boxes = _upcast(boxes)
    if fmt == "xyxy":
        return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
    return boxes[..., 2] * boxes[..., 3]


def _corners(boxes: rl.Tensor, fmt: str) -> tuple[rl.Tensor, rl.Tensor]:
    """Top left and bottom right corners (..., 2)."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if fmt == "xyxy":
        return first, second
    if fmt == "xywh":
        return first, first + second
    return first - second / 2, first + second / 2


def _box_inter_union(
    boxes1: rl.Tensor, boxes2: rl.Tensor, fmt: str = "xyxy"
) -> tuple[rl.Tensor, rl.Tensor]:
    """Areas (..., N, M) of the intersections and unions of all pairs."""
    areas = box_area(boxes1, fmt)[..., None] + box_area(boxes2, fmt)[..., None, :]
    (start, end), (start2, end2) = _corners(boxes1, fmt), _corners(boxes2, fmt)
    first = rl.max(start[..., None, :], start2[..., None, :, :])
    last = rl.min(end[..., None, :], end2[..., None, :, :])
    sides = _upcast(last - first).clamp(min=0)
    inter = sides[..., 0] * sides[..., 1]
    return inter, areas - inter


def _hulls(boxes1: rl.Tensor, boxes2: rl.Tensor) -> rl.Tensor:
    """Sides (..., N, M, 2) of the smallest boxes around both boxes of all pairs."""
    first = rl.min(boxes1[..., None, :2], boxes2[..., None, :, :2])
    last = rl.max(boxes1[..., None, 2:], boxes2[..., None, :, 2:])
    return _upcast(last - first).clamp(min=0)


def box_iou(boxes1: rl.Tensor, boxes2: rl.Tensor, fmt: str = "xyxy") -> rl.Tensor:
    """Intersection over union (..., N, M) of boxes (..., N, 4) with boxes (..., M, 4).

    `fmt` is ``'xyxy'``, ``'xywh'`` or ``'cxcywh'``; others raise `ValueError`.

    >>> box_iou(rl.tensor([[0.0, 0.0, 2.0, 2.0]]), rl.tensor([[0.0, 0.0, 2.0, 1.0]]))
    tensor([[0.5000]])
    """
    _check_upright("box_iou", fmt)
    inter, union = _box_inter_union(boxes1, boxes2, fmt)
    return inter / union


def generalized_box_iou(boxes1: rl.Tensor, boxes2: rl.Tensor) -> rl.Tensor:
    """Generalised intersection over union (..., N, M) of boxes ``x1, y1, x2, y2``: (..., N, 4) with
    (..., M, 4).

    Below the intersection over union by the share of the smallest box around both that neither
    covers (Rezatofighi et al., 2019).

    >>> generalized_box_iou(rl.tensor([[0.0, 0.0, 1.0, 1.0]]), rl.tensor([[1.0, 0.0, 3.0, 1.0]]))
    tensor([[0.]])
    """
    inter, union = _box_inter_union(boxes1, boxes2)
    sides = _hulls(boxes1, boxes2)
    hull = sides[..., 0] * sides[..., 1]
    return inter / union - (hull - union) / hull


def _distance_and_plain_iou(
    boxes1: rl.Tensor, boxes2: rl.Tensor, eps: float
) -> tuple[rl.Tensor, rl.Tensor]:
    iou = box_iou(boxes1, boxes2)
    sides = _hulls(boxes1, boxes2)
    diagonal = sides[..., 0] ** 2 + sides[..., 1] ** 2 + eps
    centers1 = (boxes1[..., :2] + boxes1[..., 2:]) / 2
    centers2 = (boxes2[..., :2] + boxes2[..., 2:]) / 2
    between = _upcast(centers1[..., None, :] - centers2[..., None, :, :]) ** 2
    return iou - (between[..., 0] + between[..., 1]) / diagonal, iou


def distance_box_iou(boxes1: rl.Tensor, boxes2: rl.Tensor, eps: float = 1e-7) -> rl.Tensor:
    """Distance intersection over union (..., N, M) of boxes ``x1, y1, x2, y2``: (..., N, 4) with
    (..., M, 4).

    Below the intersection over union by the squared distance of the centres over the squared
    diagonal of the smallest box around both, plus `eps` (Zheng et al., 2020).

    >>> distance_box_iou(rl.tensor([[0.0, 0.0, 2.0, 2.0]]), rl.tensor([[0.0, 0.0, 2.0, 2.0]]))
    tensor([[1.]])
    """
    return _distance_and_plain_iou(_upcast(boxes1), _upcast(boxes2), eps)[0]


def _aspects(boxes: rl.Tensor) -> rl.Tensor:
    """The angle of the diagonal of each box (...,)."""
    return rl.atan((boxes[..., 2] - boxes[..., 0]) / (boxes[..., 3] - boxes[..., 1]))


def complete_box_iou(boxes1: rl.Tensor, boxes2: rl.Tensor, eps: float = 1e-7) -> rl.Tensor:
    """Complete intersection over union (..., N, M) of boxes ``x1, y1, x2, y2``: (..., N, 4) with
    (..., M, 4).

    :func:`distance_box_iou` less a penalty for different ratios of the sides, whose weight is a
    constant for the gradient (Zheng et al., 2020).

    >>> complete_box_iou(rl.tensor([[0.0, 0.0, 2.0, 2.0]]), rl.tensor([[0.0, 0.0, 2.0, 2.0]]))
    tensor([[1.]])
    """
    boxes1, boxes2 = _upcast(boxes1), _upcast(boxes2)
    distance, iou = _distance_and_plain_iou(boxes1, boxes2, eps)
    difference = _aspects(boxes1)[..., None] - _aspects(boxes2)[..., None, :]
    unlike = (4 / math.pi**2) * difference**2
    with rl.no_grad():
        weight = unlike / (1 - iou + unlike + eps)
    return distance - weight * unlike


def masks_to_boxes(masks: rl.Tensor) -> rl.Tensor:
    """The boxes ``x1, y1, x2, y2`` (N, 4), float32, around the pixels of masks (N, H, W) that are
    not 0: columns and rows of the outermost pixels.

    Raises `RuntimeError` for a mask without pixels.

    >>> masks_to_boxes(rl.tensor([[[0, 0, 0], [0, 1, 1]]]))
    tensor([[1., 1., 2., 1.]])
    """
    if masks.numel() == 0:
        return rl.zeros((0, 4), dtype=rl.float32, device=masks.device)
    covered = masks.ne(0)
    columns, rows = covered.any(1), covered.any(2)
    if not bool(columns.any(1).all()):
        empty = (~columns.any(1)).nonzero()[:, 0].tolist()
        raise RuntimeError(f"masks_to_boxes: masks without pixels have no box: {empty}")
    ends = [
        edge
        for lines in (columns, rows)
        for edge in (_first(lines), lines.shape[1] - 1 - _first(lines.flip(1)))
    ]
    left, right, top, bottom = ends
    return rl.stack((left, top, right, bottom), dim=1).float()


def _first(lines: rl.Tensor) -> rl.Tensor:
    """Where the first True of each row is."""
    return lines.int().argmax(1)

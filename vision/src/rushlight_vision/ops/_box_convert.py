"""Box formats: each conversion is a path of steps over corners (xyxy) or turned boxes (xywhr).

Turned boxes have an angle in degrees, counter-clockwise in the image; their ``x1, y1`` is the
corner that is the top left one before turning.
"""

from __future__ import annotations

import math

import rushlight as rl

FORMATS = ("xyxy", "xywh", "cxcywh", "xywhr", "cxcywhr", "xyxyxyxy")
UPRIGHT = FORMATS[:3]


def _xywh_to_xyxy(boxes: rl.Tensor) -> rl.Tensor:
    x, y, w, h = boxes.unbind(-1)
    return rl.stack((x, y, x + w, y + h), dim=-1)


def _xyxy_to_xywh(boxes: rl.Tensor) -> rl.Tensor:
    x1, y1, x2, y2 = boxes.unbind(-1)
    return rl.stack((x1, y1, x2 - x1, y2 - y1), dim=-1)


def _cxcywh_to_xyxy(boxes: rl.Tensor) -> rl.Tensor:
    cx, cy, w, h = boxes.unbind(-1)
    across, down = 0.5 * w, 0.5 * h
    return rl.stack((cx - across, cy - down, cx + across, cy + down), dim=-1)


def _xyxy_to_cxcywh(boxes: rl.Tensor) -> rl.Tensor:
    x1, y1, x2, y2 = boxes.unbind(-1)
    return rl.stack(((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1), dim=-1)


def _cosine_and_sine(degrees: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
    radians = degrees * math.pi / 180.0
    return rl.cos(radians), rl.sin(radians)


def _stacked(values: tuple[rl.Tensor, ...], dtype: rl.dtype) -> rl.Tensor:
    """Coordinates as the last dimension; integer boxes stay integer, rounded to the nearest."""
    boxes = rl.stack(values, dim=-1)
    return boxes if dtype.is_floating_point else boxes.round().to(dtype)


def _cxcywhr_to_xywhr(boxes: rl.Tensor) -> rl.Tensor:
    cx, cy, w, h, r = boxes.unbind(-1)
    cos, sin = _cosine_and_sine(r)
    x1 = cx - w / 2 * cos - h / 2 * sin
    y1 = cy - h / 2 * cos + w / 2 * sin
    return _stacked((x1, y1, w, h, r), boxes.dtype)


def _xywhr_to_cxcywhr(boxes: rl.Tensor) -> rl.Tensor:
    x1, y1, w, h, r = boxes.unbind(-1)
    cos, sin = _cosine_and_sine(r)
    cx = x1 + w / 2 * cos + h / 2 * sin
    cy = y1 - w / 2 * sin + h / 2 * cos
    return _stacked((cx, cy, w, h, r), boxes.dtype)


def _xywhr_to_xyxyxyxy(boxes: rl.Tensor) -> rl.Tensor:
    x1, y1, w, h, r = boxes.unbind(-1)
    cos, sin = _cosine_and_sine(r)
    x2, y2 = x1 + w * cos, y1 - w * sin
    x3, y3 = x2 + h * sin, y2 + h * cos
    x4, y4 = x1 + h * sin, y1 + h * cos
    return _stacked((x1, y1, x2, y2, x3, y3, x4, y4), boxes.dtype)


def _xyxyxyxy_to_xywhr(boxes: rl.Tensor) -> rl.Tensor:
    x1, y1, x2, y2, x3, y3, _, _ = boxes.unbind(-1)
    r = rl.atan2(y1 - y2, x2 - x1) * 180 / math.pi
    w = ((x2 - x1) ** 2 + (y1 - y2) ** 2).sqrt()
    h = ((x3 - x2) ** 2 + (y3 - y2) ** 2).sqrt()
    return _stacked((x1, y1, w, h, r), boxes.dtype)


# To the format in the middle of a family and from it.
_TO_MIDDLE = {
    "xywh": _xywh_to_xyxy,
    "cxcywh": _cxcywh_to_xyxy,
    "cxcywhr": _cxcywhr_to_xywhr,
    "xyxyxyxy": _xyxyxyxy_to_xywhr,
}
_FROM_MIDDLE = {
    "xywh": _xyxy_to_xywh,
    "cxcywh": _xyxy_to_cxcywh,
    "cxcywhr": _xywhr_to_cxcywhr,
    "xyxyxyxy": _xywhr_to_xyxyxyxy,
}


def converted(boxes: rl.Tensor, in_fmt: str, out_fmt: str) -> rl.Tensor:
    """Boxes of one format in another one of the same family."""
    if in_fmt in _TO_MIDDLE:
        boxes = _TO_MIDDLE[in_fmt](boxes)
    return _FROM_MIDDLE[out_fmt](boxes) if out_fmt in _FROM_MIDDLE else boxes

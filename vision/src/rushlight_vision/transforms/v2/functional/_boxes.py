"""Bounding boxes: formats, clamping, and what every map of the plane makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as rl
from rushlight_vision import ops, tv_tensors
from rushlight_vision.transforms.v2.functional._registry import is_pure_tensor
from rushlight_vision.tv_tensors import BoundingBoxFormat as Format
from rushlight_vision.tv_tensors._base import plain
from rushlight_vision.tv_tensors._geometry import CLAMPING_MODES, as_format
from rushlight_vision.tv_tensors._geometry import is_rotated_bounding_format as is_rotated

Size = tuple[int, int]


def converted(boxes: rl.Tensor, old: Format, new: Format) -> rl.Tensor:
    """Boxes in another format; whole numbers are rounded down."""
    if old is new:
        return boxes
    if is_rotated(old) != is_rotated(new):
        raise ValueError("convert_bounding_box_format: rotated and unrotated boxes do not convert")
    if boxes.is_floating_point():
        return ops.box_convert(boxes, old.value.lower(), new.value.lower())
    whole = ops.box_convert(boxes.to(rl.float64), old.value.lower(), new.value.lower())
    return whole.floor().to(boxes.dtype)


def convert_bounding_box_format(
    inpt: rl.Tensor,
    old_format: Format | str | None = None,
    new_format: Format | str | None = None,
    inplace: bool = False,
) -> rl.Tensor:
    """Boxes in `new_format`; plain tensors need an `old_format`, BoundingBoxes must have none.

    Raises `TypeError` without `new_format`, `ValueError` for a missing or needless `old_format`
    and between rotated and unrotated formats.
    """
    if new_format is None:
        raise TypeError("convert_bounding_box_format: new_format is missing")
    pure = is_pure_tensor(inpt)
    known = inpt.format if isinstance(inpt, tv_tensors.BoundingBoxes) else old_format
    if known is None or pure == (old_format is None):
        raise ValueError(
            "convert_bounding_box_format: plain tensors need old_format, BoundingBoxes know theirs"
        )
    old = as_format(known)
    new = as_format(new_format)
    values = inpt if pure else plain(inpt)
    result = converted(values, old, new)
    if inplace and result.shape == values.shape and result is not values:
        values.copy_(result)
        result = values
    return result if pure else tv_tensors.wrap(result, like=inpt, format=new)


def corners(boxes: rl.Tensor, format: Format) -> rl.Tensor:
    """The four corners (N, 4, 2) of floating boxes, clockwise from the first."""
    if is_rotated(format):
        return converted(boxes, format, Format.XYXYXYXY).reshape(-1, 4, 2)
    left, top, right, bottom = converted(boxes, format, Format.XYXY).reshape(-1, 4).unbind(-1)
    return rl.stack([left, top, right, top, right, bottom, left, bottom], dim=-1).reshape(-1, 4, 2)


def rectangles(points: rl.Tensor) -> rl.Tensor:
    """Rectangles (N, 8) around the centres of parallelograms (N, 4, 2).

    The longer side keeps its direction; both ends of the longer diagonal stay where they are.
    """
    first, second, third, fourth = points.unbind(1)
    across, down, middle = second - first, fourth - first, (first + third) / 2
    diagonal, other = across + down, across - down
    wide = across.norm(dim=-1, keepdim=True) >= down.norm(dim=-1, keepdim=True)
    down_turned = rl.stack([down[:, 1], -down[:, 0]], dim=-1)
    axis = rl.where(wide, across, down_turned)
    axis = axis / axis.norm(dim=-1, keepdim=True).clamp(min=1e-12)
    normal = rl.stack([-axis[:, 1], axis[:, 0]], dim=-1)
    longest = diagonal.norm(dim=-1, keepdim=True) >= other.norm(dim=-1, keepdim=True)
    kept = rl.where(longest, diagonal, other)
    half_width = (kept * axis).sum(-1, keepdim=True).abs() / 2 * axis
    half_height = (kept * normal).sum(-1, keepdim=True).abs() / 2 * normal
    signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    return rl.stack([middle + a * half_width + b * half_height for a, b in signs], 1).reshape(-1, 8)


def moved(
    boxes: rl.Tensor,
    format: Format | str,
    canvas_size: Size,
    clamping_mode: str | None,
    change: Callable[[rl.Tensor], rl.Tensor],
) -> rl.Tensor:
    """Boxes around what `change` makes of the corners (N, 4, 2), cut off at `canvas_size`."""
    old = as_format(format)
    working = boxes if boxes.is_floating_point() else boxes.to(rl.float32)
    points = change(corners(working, old))
    if is_rotated(old):
        found, between = rectangles(points), Format.XYXYXYXY
    else:
        found, between = rl.cat([points.amin(dim=1), points.amax(dim=1)], dim=1), Format.XYXY
    found = clamped(found, between, canvas_size, clamping_mode)
    return converted(found, between, old).to(boxes.dtype).reshape(boxes.shape)


def clamped(
    boxes: rl.Tensor, format: Format, canvas_size: Size, clamping_mode: str | None
) -> rl.Tensor:
    """Boxes cut off at the edges of the image."""
    if clamping_mode is None:
        return boxes.clone()
    if is_rotated(format):
        if clamping_mode == "hard":
            raise NotImplementedError(
                "clamp_bounding_boxes: clamping_mode='hard' is not available for rotated boxes; "
                "use 'soft' or None"
            )
        points = converted(boxes, format, Format.XYXYXYXY).reshape(-1, 4, 2)
        return converted(_soft(points, canvas_size).reshape(-1, 8), Format.XYXYXYXY, format)
    height, width = canvas_size
    edges = converted(boxes, format, Format.XYXY)
    left, top, right, bottom = edges.unbind(-1)
    columns = [each.clamp(0, width) for each in (left, right)]
    rows = [each.clamp(0, height) for each in (top, bottom)]
    inside = rl.stack([columns[0], rows[0], columns[1], rows[1]], dim=-1)
    return converted(inside, Format.XYXY, format)


def _soft(points: rl.Tensor, canvas_size: Size) -> rl.Tensor:
    """The smallest rectangles of the same angle around the parts (N, 4, 2) inside of the image.

    The corners of such a part are corners of the rectangle inside the image, corners of the image
    inside the rectangle, and crossings of their edges; boxes without any become empty.
    """
    height, width = canvas_size
    origin, across, down = points[:, 0], points[:, 1] - points[:, 0], points[:, 3] - points[:, 0]
    frame = rl.tensor([[0, 0], [width, 0], [width, height], [0, height]], dtype=points.dtype)
    frame = frame.expand(points.shape[0], 4, 2)
    candidates = rl.cat([points, frame, _crossings(points, canvas_size)], dim=1)
    limits = rl.tensor([width, height], dtype=points.dtype)
    small = 1e-4
    within = ((candidates >= -small) & (candidates <= limits + small)).all(dim=-1)
    relative = candidates - origin.unsqueeze(1)
    shares = []
    for side in (across, down):
        length = (side * side).sum(-1, keepdim=True).clamp(min=1e-12)
        share = (relative * side.unsqueeze(1)).sum(-1) / length
        within = within & (share >= -small) & (share <= 1 + small)
        shares.append(share)
    empty = ~within.any(dim=1, keepdim=True)
    bounds = []
    for share in shares:
        low = share.masked_fill(~within, float("inf")).amin(dim=1, keepdim=True)
        high = share.masked_fill(~within, float("-inf")).amax(dim=1, keepdim=True)
        bounds.append((low.clamp(0, 1), high.clamp(0, 1)))
    (left, right), (top, bottom) = bounds
    ends = ((left, top), (right, top), (right, bottom), (left, bottom))
    found = rl.stack([origin + a * across + b * down for a, b in ends], dim=1)
    return rl.where(empty.unsqueeze(-1), rl.zeros_like(found), found)


def _crossings(points: rl.Tensor, canvas_size: Size) -> rl.Tensor:
    """Where the edges of quadrangles (N, 4, 2) meet the lines of the image's edges, (N, 16, 2)."""
    height, width = canvas_size
    start, step = points, points.roll(-1, 1) - points
    found = []
    for axis, limit in ((0, width), (1, height)):
        for value in (0.0, float(limit)):
            along = step[..., axis : axis + 1]
            flat = along.abs() < 1e-12
            share = (value - start[..., axis : axis + 1]) / rl.where(
                flat, rl.ones_like(along), along
            )
            share = rl.where(flat | (share < 0) | (share > 1), rl.zeros_like(share), share)
            found.append(start + share * step)
    return rl.cat(found, dim=1)


def clamp_bounding_boxes(
    inpt: rl.Tensor,
    format: Format | str | None = None,
    canvas_size: Size | None = None,
    clamping_mode: str | None = "auto",
) -> rl.Tensor:
    """Boxes cut off at the edges of the image.

    `clamping_mode` "soft" lets rotated boxes reach out as far as their part inside needs, None
    changes nothing, "auto" takes that of the boxes. Plain tensors need all three arguments,
    BoundingBoxes must have neither `format` nor `canvas_size`: ValueError.
    """
    if clamping_mode not in (*CLAMPING_MODES, "auto"):
        raise ValueError(
            f"clamp_bounding_boxes: clamping_mode must be 'soft', 'hard', 'auto' or None, got "
            f"{clamping_mode}"
        )
    if is_pure_tensor(inpt):
        if format is None or canvas_size is None or clamping_mode == "auto":
            raise ValueError(
                "clamp_bounding_boxes: plain tensors need format, canvas_size and clamping_mode"
            )
        return _restored(inpt, as_format(format), canvas_size, clamping_mode)
    if format is not None or canvas_size is not None:
        raise ValueError("clamp_bounding_boxes: BoundingBoxes know their format and canvas_size")
    boxes: Any = inpt
    mode = boxes.clamping_mode if clamping_mode == "auto" else clamping_mode
    return tv_tensors.wrap(
        _restored(plain(boxes), boxes.format, boxes.canvas_size, mode), like=boxes
    )


def _restored(boxes: rl.Tensor, format: Format, canvas_size: Size, mode: str | None) -> rl.Tensor:
    return clamped(boxes, format, canvas_size, mode).to(boxes.dtype).reshape(boxes.shape)


def sanitize_bounding_boxes(
    bounding_boxes: rl.Tensor,
    format: Format | str | None = None,
    canvas_size: Size | None = None,
    min_size: float = 1.0,
    min_area: float = 1.0,
) -> tuple[rl.Tensor, rl.Tensor]:
    """The boxes that lie in the image and are large enough, and a mask (N,) of which these are.

    Plain tensors need `format` and `canvas_size`, BoundingBoxes must have neither: ValueError.
    """
    pure = is_pure_tensor(bounding_boxes)
    if pure and (format is None or canvas_size is None):
        raise ValueError("sanitize_bounding_boxes: plain tensors need format and canvas_size")
    if not pure and (format is not None or canvas_size is not None):
        raise ValueError("sanitize_bounding_boxes: BoundingBoxes know their format and canvas_size")
    given: Any = bounding_boxes
    values = bounding_boxes if pure else plain(given)
    height, width = canvas_size if canvas_size is not None else given.canvas_size
    valid = _valid(values, as_format(format or given.format), (height, width), min_size, min_area)
    kept = values[valid]
    return (kept if pure else tv_tensors.wrap(kept, like=given)), valid


def _valid(
    boxes: rl.Tensor, format: Format, canvas_size: Size, min_size: float, min_area: float
) -> rl.Tensor:
    height, width = canvas_size
    if is_rotated(format):
        edges = converted(boxes, format, Format.XYXYXYXY).reshape(-1, 4, 2)
        sides = [(edges[:, n] - edges[:, 0]).norm(dim=-1) for n in (1, 3)]
    else:
        edges = converted(boxes, format, Format.XYXY).reshape(-1, 2, 2)
        sides = list((edges[:, 1] - edges[:, 0]).unbind(-1))
    valid = (sides[0] >= min_size) & (sides[1] >= min_size) & (sides[0] * sides[1] >= min_area)
    limits = rl.tensor([width, height], dtype=edges.dtype, device=edges.device)
    return valid & ((edges >= 0) & (edges <= limits)).all(dim=-1).all(dim=-1)

"""Pooling."""

from __future__ import annotations

import math

import rushlight as rl
import rushlight.nn.functional as F  # noqa: N812 - the usual name
from rushlight.onnx._operators.arranging import _padded
from rushlight.onnx._operators.layers import pads_of
from rushlight.onnx._operators.registry import ints, operator

_MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}


def _windows(x, kernel, strides, dilations, pads, ceil_mode, fill, beyond=None):
    """All windows of an input with `pads` before and after, (N, C, *counts, elements), and where
    each element is from."""
    (before, after), rank = pads, len(kernel)
    sizes, places = x.shape[2:], []
    for d in range(rank):
        span = dilations[d] * (kernel[d] - 1) + 1
        total = sizes[d] + before[d] + after[d] - span
        count = (math.ceil if ceil_mode else math.floor)(total / strides[d]) + 1
        if ceil_mode and (count - 1) * strides[d] >= sizes[d] + before[d]:
            count -= 1  # a window that begins behind the input
        need = (count - 1) * strides[d] + span - sizes[d] - before[d]
        x = _padded(x, d + 2, before[d], min(max(0, need), after[d]), "constant", fill)
        rest = max(0, need - after[d])  # behind the padding, with ceil_mode
        x = _padded(x, d + 2, 0, rest, "constant", fill if beyond is None else beyond)
        starts = rl.arange(count)[:, None] * strides[d]
        places.append(starts + rl.arange(kernel[d]) * dilations[d])
    for d, where in enumerate(places):
        x = x.index_select(2 + 2 * d, where.reshape(-1))
        x = x.reshape(*x.shape[: 2 + 2 * d], *where.shape, *x.shape[3 + 2 * d :])
    order = [0, 1, *range(2, 2 + 2 * rank, 2), *range(3, 3 + 2 * rank, 2)]
    return x.permute(order).flatten(2 + rank), [p - b for p, b in zip(places, before, strict=True)]


def _settings(x, kernel_shape, strides, dilations, auto_pad, pads):
    rank = len(kernel_shape)
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    pads = pads_of(auto_pad, pads, x.shape[2:], kernel_shape, strides, dilations)
    return strides, dilations, pads


def _lowest(x):
    return -math.inf if x.dtype.is_floating_point else rl.iinfo(x.dtype).min


@operator()
def MaxPool(
    x, kernel_shape, auto_pad="NOTSET", ceil_mode=0, dilations=None, pads=None, storage_order=0,
    strides=None, outputs=1,
):  # fmt: skip
    strides, dilations, pads = _settings(x, kernel_shape, strides, dilations, auto_pad, pads)
    before, after = pads
    fits = before == after and all(2 * p <= k for p, k in zip(before, kernel_shape, strict=True))
    if outputs == 1 and fits and x.dtype.is_floating_point and not ceil_mode:
        return _MAX[len(kernel_shape)](
            x, tuple(kernel_shape), tuple(strides), tuple(before), tuple(dilations)
        )
    found, places = _windows(x, kernel_shape, strides, dilations, pads, ceil_mode, _lowest(x))
    values, best = found.max(-1)
    if outputs == 1:
        return values
    return values, _indices(x, best, places, kernel_shape, storage_order)


def _indices(x, best, places, kernel, storage_order):
    """Where the largest elements are in the flat input."""
    sizes, rank = x.shape[2:], len(kernel)
    coordinates, left = [], best
    for k in reversed(kernel):
        coordinates.insert(0, left % k)
        left = left // k
    flat = rl.zeros_like(best)
    for d in range(rank):
        shape = [1, 1, *[-1 if n == d else 1 for n in range(rank)]]
        rows = rl.arange(len(places[d])).reshape(shape).expand(best.shape)
        where = places[d][rows, coordinates[d]]
        weight = math.prod(sizes[:d]) if storage_order else math.prod(sizes[d + 1 :])
        flat = flat + where * weight
    batch = rl.arange(math.prod(x.shape[:2])).reshape(*x.shape[:2], *[1] * rank)
    return flat + batch * math.prod(sizes)


@operator()
def AveragePool(
    x, kernel_shape, auto_pad="NOTSET", ceil_mode=0, count_include_pad=0, dilations=None,
    pads=None, strides=None,
):  # fmt: skip
    strides, dilations, pads = _settings(x, kernel_shape, strides, dilations, auto_pad, pads)
    total, _ = _windows(x, kernel_shape, strides, dilations, pads, ceil_mode, 0)
    ones = rl.ones(1, 1, *x.shape[2:], dtype=x.dtype)
    settings = kernel_shape, strides, dilations, pads, ceil_mode
    count, _ = _windows(ones, *settings, 1 if count_include_pad else 0, 0)
    return total.sum(-1) / count.sum(-1)


@operator()
def LpPool(
    x, kernel_shape, auto_pad="NOTSET", ceil_mode=0, dilations=None, p=2, pads=None, strides=None
):
    strides, dilations, pads = _settings(x, kernel_shape, strides, dilations, auto_pad, pads)
    found, _ = _windows(x.abs() ** p, kernel_shape, strides, dilations, pads, ceil_mode, 0)
    return found.sum(-1) ** (1 / p)


@operator()
def GlobalAveragePool(x):
    return x.mean(list(range(2, x.ndim)), keepdim=True)


@operator()
def GlobalMaxPool(x):
    return x.amax(list(range(2, x.ndim)), keepdim=True)


@operator()
def GlobalLpPool(x, p=2):
    return (x.abs() ** p).sum(list(range(2, x.ndim)), keepdim=True) ** (1 / p)


@operator()
def MaxUnpool(x, indices, output_shape=None, kernel_shape=(), pads=None, strides=None):
    rank = len(kernel_shape)
    strides, pads = strides or [1] * rank, pads or [0] * (2 * rank)
    sizes = [
        (size - 1) * strides[d] + kernel_shape[d] - pads[d] - pads[d + rank]
        for d, size in enumerate(x.shape[2:])
    ]
    whole = [*x.shape[:2], *sizes]
    found = rl.zeros(math.prod(whole), dtype=x.dtype)
    found[indices.reshape(-1)] = x.reshape(-1)
    found = found.reshape(whole)
    if output_shape is not None:
        for dim, wanted in enumerate(ints(output_shape)):
            found = _padded(found, dim, 0, wanted - found.shape[dim], "constant", 0)
    return found


@operator()
def RoiAlign(
    x, rois, batch_indices, coordinate_transformation_mode="half_pixel", mode="avg",
    output_height=1, output_width=1, sampling_ratio=0, spatial_scale=1.0,
):  # fmt: skip
    shift = 0.5 if coordinate_transformation_mode == "half_pixel" else 0.0
    found = []
    for box, number in zip(rois, batch_indices.tolist(), strict=True):
        left, top, right, bottom = (box * spatial_scale - shift).tolist()
        wide, high = right - left, bottom - top
        if not shift:
            wide, high = max(wide, 1.0), max(high, 1.0)
        box, size = (left, top, wide, high), (output_height, output_width)
        found.append(_region(x[number], box, size, sampling_ratio, mode))
    return rl.stack(found) if found else x.new_zeros(0, x.shape[1], output_height, output_width)


def _region(image, box, size, ratio, mode):
    (left, top, wide, high), (rows, columns) = box, size
    down = ratio or math.ceil(high / rows)
    across = ratio or math.ceil(wide / columns)
    ys = top + (rl.arange(rows * down) + 0.5) * high / (rows * down)
    xs = left + (rl.arange(columns * across) + 0.5) * wide / (columns * across)
    values = _sampled(image, ys, xs, mode)
    parts = values.reshape(len(image), rows, down, columns, across)
    return parts.mean((2, 4)) if mode == "avg" else parts.amax((2, 4))


def _sampled(image, ys, xs, mode):
    height, width = image.shape[1:]
    outside = ((ys < -1) | (ys > height))[:, None] | ((xs < -1) | (xs > width))[None]
    y, x = ys.clamp(0, height - 1), xs.clamp(0, width - 1)
    low_y, low_x = y.floor().long(), x.floor().long()
    high_y, high_x = (low_y + 1).clamp(max=height - 1), (low_x + 1).clamp(max=width - 1)
    dy, dx = (y - low_y)[:, None], (x - low_x)[None]
    corners = [
        image[:, a][:, :, b] * share
        for a, b, share in (
            (low_y, low_x, (1 - dy) * (1 - dx)),
            (low_y, high_x, (1 - dy) * dx),
            (high_y, low_x, dy * (1 - dx)),
            (high_y, high_x, dy * dx),
        )
    ]
    if mode == "avg":
        total = sum(corners[1:], corners[0])
    else:
        total = rl.stack(corners).amax(0)
    return total.masked_fill(outside, 0)


@operator()
def MaxRoiPool(x, rois, pooled_shape, spatial_scale=1.0):
    rows, columns = pooled_shape
    found = []
    for number, *box in rois.tolist():
        left, top, right, bottom = (round(v * spatial_scale) for v in box)
        high, wide = max(bottom - top + 1, 1), max(right - left + 1, 1)
        part = []
        for r in range(rows):
            for c in range(columns):
                y0, y1 = top + r * high // rows, top + -(-(r + 1) * high // rows)
                x0, x1 = left + c * wide // columns, left + -(-(c + 1) * wide // columns)
                window = x[int(number), :, max(y0, 0) : max(y1, 0), max(x0, 0) : max(x1, 0)]
                part.append(window.amax((1, 2)) if window.numel() else x.new_zeros(x.shape[1]))
        found.append(rl.stack(part, 1).reshape(-1, rows, columns))
    return rl.stack(found)


@operator()
def NonMaxSuppression(
    boxes, scores, most=None, iou_threshold=None, score_threshold=None, center_point_box=0
):
    count = int(most.reshape(-1)[0]) if most is not None else 0
    overlap = float(iou_threshold.reshape(-1)[0]) if iou_threshold is not None else 0.0
    least = float(score_threshold.reshape(-1)[0]) if score_threshold is not None else -math.inf
    found = []
    for number, rows in enumerate(scores):
        corners = _corners(boxes[number], center_point_box)
        for label, values in enumerate(rows):
            for place in _kept(corners, values, count, overlap, least):
                found.append([number, label, place])
    return rl.tensor(found, dtype=rl.int64).reshape(-1, 3)


def _corners(boxes, centers):
    if centers:
        x, y, w, h = boxes.unbind(1)
        return rl.stack([y - h / 2, x - w / 2, y + h / 2, x + w / 2], 1)
    low, high = rl.minimum(boxes[:, :2], boxes[:, 2:]), rl.maximum(boxes[:, :2], boxes[:, 2:])
    return rl.cat([low, high], 1)


def _kept(corners, values, count, overlap, least):
    kept = []
    areas = (corners[:, 2:] - corners[:, :2]).prod(1)
    for place in values.argsort(descending=True, stable=True).tolist():
        if len(kept) >= count or values[place] <= least:
            break
        one = corners[place]
        good = True
        for other in kept:
            sides = rl.minimum(one[2:], corners[other, 2:]) - rl.maximum(
                one[:2], corners[other, :2]
            )
            shared = sides.clamp(min=0).prod()
            if shared / (areas[place] + areas[other] - shared) > overlap:
                good = False
                break
        if good:
            kept.append(place)
    return kept

"""Greedy suppression of boxes that overlap a better one."""

from __future__ import annotations

from rushlight.kernels.launch.execution import REFERENCE, chunk, compute_array, language_type
from rushlight.kernels.launch.prepared import word_of
from rushlight.kernels.signal import suppression_kernels as native
from rushlight.machine import np, threads

__all__ = ["limit_of", "suppressed", "suppressed_reference"]

_BOX_WORK = 256  # units of work of a box: it meets those of its group


def suppressed_reference(boxes, groups, threshold):
    """Which boxes (N, 4), best first, stay: bool (N,). Those of one of the `groups` (N,) stand
    together, and alone compete: a box stays unless its intersection over union with an earlier
    one that stays is above `threshold`."""
    boxes = compute_array(boxes)
    stays, limit = np.ones(len(boxes), bool), limit_of(threshold, boxes.dtype)
    changes = np.flatnonzero(groups[1:] != groups[:-1]) + 1
    ends = np.repeat([*changes, len(boxes)], np.diff([0, *changes, len(boxes)]))
    with np.errstate(all="ignore"):
        for i, end in enumerate(ends.tolist()):
            if stays[i]:
                stays[i + 1 : end] &= ~(_ratios(boxes[i], boxes[i + 1 : end]) > limit)
    return stays


def _ratios(box, others):
    """Intersection over union (N,) of a box (4,) with others (N, 4), in their dtype."""
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    sides = np.maximum(sides, box.dtype.type(0))
    inter = sides[:, 0] * sides[:, 1]
    return inter / (_areas(others) + _areas(box) - inter)


def _areas(boxes):
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def limit_of(threshold, dtype):
    """The largest number of `dtype` that is not above a threshold: a ratio is above the threshold
    exactly where it is above this. Rounding to the nearest could change that."""
    limit = dtype.type(threshold)
    return np.nextafter(limit, dtype.type(-np.inf)) if float(limit) > threshold else limit


def suppressed(boxes, groups, threshold):
    """:func:`suppressed_reference`, compiled; `groups` are int64."""
    if REFERENCE or not boxes.size:
        return suppressed_reference(boxes, groups, threshold)
    boxes, groups = compute_array(boxes), np.ascontiguousarray(groups)
    count, stays = len(boxes), np.empty(len(boxes), bool)
    code = native.suppressed.address(real=language_type(boxes.dtype))
    words = [0, 0, 0, 0, count, word_of(float(limit_of(threshold, boxes.dtype)))]
    plan = threads.plan(code, count, chunk(count, _BOX_WORK), words)
    threads.run(plan, None, stays, boxes, groups)
    return stays

"""Compiled loops behind :mod:`rushlight.kernels.signal.suppression`. Import at first need.

Items are boxes; whoever has the first box of a group decides the whole group, wherever it ends.
Ratios are rounded as NumPy rounds them: no product is fused with a sum.
"""

from __future__ import annotations

from rushlight.machine.language.functions import (
    array,
    bitcast,
    f32,
    f64,
    function,
    i64,
    independent,
    maximum,
    minimum,
    range_kernel,
    real,
    u8,
)
from rushlight.machine.worker_pool import scratch

# Argument words: which boxes stay, boxes, groups, the number of boxes, the largest ratio (f64).
STAYS, BOXES, GROUPS, COUNT, LIMIT = range(1, 6)


@function(fused=False)
def spread(boxes, room, count):
    """Corners and areas of a group as five rows, which are read contiguously."""
    size = 4 if real is f32 else 8
    box, row = array(real, boxes), size * count
    x1, y1 = array(real, room), array(real, room + row)
    x2, y2 = array(real, room + 2 * row), array(real, room + 3 * row)
    area = array(real, room + 4 * row)
    for j in independent(count):
        x1[j] = box[4 * j]
        y1[j] = box[4 * j + 1]
        x2[j] = box[4 * j + 2]
        y2[j] = box[4 * j + 3]
        area[j] = (box[4 * j + 2] - box[4 * j]) * (box[4 * j + 3] - box[4 * j + 1])


@function(fused=False)
def remove(room, stays, i, count, limit):
    """Strike out the boxes behind box `i` that overlap it too much."""
    size = 4 if real is f32 else 8
    first, row = room + size * i, size * count
    x1, y1 = array(real, first), array(real, first + row)
    x2, y2 = array(real, first + 2 * row), array(real, first + 3 * row)
    area, later = array(real, first + 4 * row), array(u8, stays + i)
    u1, v1, u2, v2, own = x1[0], y1[0], x2[0], y2[0], area[0]
    for k in independent(count - i - 1):
        j = k + 1
        width = maximum(minimum(x2[j], u2) - maximum(x1[j], u1), real(0))
        height = maximum(minimum(y2[j], v2) - maximum(y1[j], v1), real(0))
        inter = width * height
        over = inter / (area[j] + own - inter) > limit
        later[j] = u8(0) if over else later[j]


@range_kernel(fused=False)
def suppressed(args, lo, hi, tid):
    """Decide the groups that begin among the items, best box first."""
    g = array(i64, args)
    count, groups, size = g[COUNT], array(i64, g[GROUPS]), 4 if real is f32 else 8
    limit = real(bitcast(f64, g[LIMIT]))
    start = lo
    while start < hi:
        group, end = groups[start], start + 1
        while end < count and groups[end] == group:
            end += 1
        if start == 0 or groups[start - 1] != group:
            stays, members = g[STAYS] + start, end - start
            room = scratch(tid, 5 * size * members)
            spread(g[BOXES] + 4 * size * start, room, members)
            alive = array(u8, stays)
            for j in independent(members):
                alive[j] = u8(1)
            for i in range(members):
                if alive[i] != u8(0):
                    remove(room, stays, i, members, limit)
        start = end

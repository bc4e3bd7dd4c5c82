"""Compiled loops behind :mod:`rushlight.kernels.resampling.byte_taps`. Import at first need.

Along columns, sixteen rows are turned so that their bytes are neighbours, summed, and turned
back; along rows, those of a row are so already. PLANE and STEP are the bytes from one plane and
one row to the next. Tables hold where the bytes of an element of the result begin (int32) and their
weights (int16), one element after the other.
"""

from __future__ import annotations

from rushlight.kernels.resampling.byte_emitters import LANES, turn, weigh
from rushlight.machine.language.functions import array, function, i32, i64, range_kernel, u8
from rushlight.machine.worker_pool import memcpy, scratch

# Argument words.
X, OUT, ROWS, WIDTH, LENGTH, PLANE, STEP, STARTS, WEIGHTS, TAPS, SHIFT = range(11)


@function
def turned(source, step, count, target):
    """`count` columns of 16 rows, one after the other."""
    for j in range(0, count - LANES + 1, LANES):
        turn(source + j, step, target + LANES * j, i64(LANES))
    if count < LANES:
        x, out = array(u8, source), array(u8, target)
        for j in range(count):
            for i in range(LANES):
                out[j * LANES + i] = x[i * step + j]
    elif count % LANES > 0:
        last = count - LANES
        turn(source + last, step, target + LANES * last, i64(LANES))


@function
def turned_back(source, count, target, step):
    """16 rows out of `count` columns."""
    for j in range(0, count - LANES + 1, LANES):
        turn(source + LANES * j, i64(LANES), target + j, step)
    if count < LANES:
        x, out = array(u8, source), array(u8, target)
        for i in range(LANES):
            for j in range(count):
                out[i * step + j] = x[j * LANES + i]
    elif count % LANES > 0:
        last = count - LANES
        turn(source + LANES * last, i64(LANES), target + last, step)


@range_kernel(wide=True)
def across(args, lo, hi, tid):
    """Rows of WIDTH bytes to rows of LENGTH: an item is 16 of the ROWS of a plane. In the last of
    them those that are missing are some memory of its own."""
    g = array(i64, args)
    width, length, taps, step = g[WIDTH], g[LENGTH], g[TAPS], g[STEP]
    starts, groups = array(i32, g[STARTS]), (g[ROWS] + LANES - 1) // LANES
    room = scratch(tid, 2 * LANES * (width + length))  # what is copied, and then given out, too
    columns = room + LANES * width
    copied = columns + LANES * length
    for item in range(lo, hi):
        plane, first = item // groups, (item % groups) * LANES
        count = min(i64(LANES), g[ROWS] - first)
        source, target = g[X] + plane * g[PLANE] + first * step, copied
        own = g[OUT] + (plane * g[ROWS] + first) * length
        if count < LANES:
            for row in range(count):
                memcpy(copied + row * width, source + row * step, width)
            turned(copied, width, width, room)
        else:
            target = own
            turned(source, step, width, room)
        for j in range(length):
            weigh(room + LANES * i64(starts[j]), i64(LANES), g[WEIGHTS] + 2 * taps * j, taps,
                  columns + LANES * j, g[SHIFT])  # fmt: skip
        turned_back(columns, length, target, length)
        if count < LANES:
            memcpy(own, target, count * length)


@range_kernel(wide=True)
def down(args, lo, hi, tid):
    """Planes of rows of WIDTH bytes to planes of LENGTH rows: an item is a row of them all."""
    g = array(i64, args)
    width, length, taps, step = g[WIDTH], g[LENGTH], g[TAPS], g[STEP]
    starts = array(i32, g[STARTS])
    room = scratch(tid, LANES * (taps + 1))
    for item in range(lo, hi):
        plane, row = item // length, item % length
        source = g[X] + plane * g[PLANE] + i64(starts[row]) * step
        target, weights = g[OUT] + item * width, g[WEIGHTS] + 2 * taps * row
        for j in range(0, width - LANES + 1, LANES):
            weigh(source + j, step, weights, taps, target + j, g[SHIFT])
        if width < LANES:
            for k in range(taps):
                memcpy(room + LANES * k, source + k * step, width)
            weigh(room, i64(LANES), weights, taps, room + LANES * taps, g[SHIFT])
            memcpy(target, room + LANES * taps, width)
        elif width % LANES > 0:
            last = width - LANES
            weigh(source + last, step, weights, taps, target + last, g[SHIFT])

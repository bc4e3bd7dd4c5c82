"""Compiled loops of :mod:`rushlight.kernels.convolution.live_taps`. Import at first need."""

from __future__ import annotations

from rushlight.machine.language.functions import Parameter, array, f32, i64, range_kernel
from rushlight.machine.worker_pool import memcpy

# Argument words: images, the pixels of a rectangle, a value per channel or zero; then the sizes of
# the images, and of the rectangle its first pixel, its size and the rows from one to the next.
X, PIXELS, BIAS, N, C, H, WIDTH, ROW, COLUMN, ROWS, COLUMNS, ROW_STEP = range(12)

step = Parameter("step")  # columns of an image from one pixel of the rectangle to the next
fresh = Parameter("fresh")  # 1 where images hold nothing yet


@range_kernel
def take(args, lo, hi, tid):
    """Pixels of a rectangle of images (N, C, H, W) as (C, N, ROWS, COLUMNS). Items are (c, n)."""
    g = array(i64, args)
    count = g[COLUMNS]
    for item in range(lo, hi):
        channel, n = item // g[N], item % g[N]
        first = (n * g[C] + channel) * g[H] + g[ROW]
        for r in range(g[ROWS]):
            source = g[X] + 4 * ((first + r * g[ROW_STEP]) * g[WIDTH] + g[COLUMN])
            target = g[PIXELS] + 4 * (item * g[ROWS] + r) * count
            if step == 1:
                memcpy(target, source, 4 * count)
                continue
            x, out = array(f32, source), array(f32, target)
            for j in range(count):
                out[j] = x[j * step]


@range_kernel
def add(args, lo, hi, tid):
    """The inverse of :func:`take`: pixels are added to what images hold, or (``fresh``) to the
    values of their channels. Items are (n, c)."""
    g = array(i64, args)
    count = g[COLUMNS]
    bias = array(f32, g[BIAS])
    for item in range(lo, hi):
        n, channel = item // g[C], item % g[C]
        first = item * g[H]
        if fresh == 1:
            plane = array(f32, g[X] + 4 * first * g[WIDTH])
            start = f32(0)
            if g[BIAS] != 0:
                start = bias[channel]
            for j in range(g[H] * g[WIDTH]):
                plane[j] = start
        for r in range(g[ROWS]):
            line = first + g[ROW] + r * g[ROW_STEP]
            out = array(f32, g[X] + 4 * (line * g[WIDTH] + g[COLUMN]))
            values = array(f32, g[PIXELS] + 4 * ((channel * g[N] + n) * g[ROWS] + r) * count)
            for j in range(count):
                out[j * step] += values[j]

"""Compiled loops of :mod:`rushlight.kernels.convolution.dilated`. Import at first need."""

from __future__ import annotations

from rushlight.machine.language.functions import (
    Parameter,
    array,
    f32,
    i32,
    i64,
    range_kernel,
    static,
)
from rushlight.machine.worker_pool import memset

# Argument words: images and sub-images, then sizes of both.
X, Y, C, H, WIDTH, SH, SW = range(7)

step = Parameter("step")  # the dilation


@range_kernel
def part(args, lo, hi, tid):
    """Images (N, C, H, W) as their sub-images (N, step, step, C, SH, SW), zeros where there is no
    pixel: Y[n, r, s, c, i, j] = X[n, c, r + i * step, s + j * step]. Items are (n, c)."""
    g = array(i64, args)
    channels, height, width, rows, columns = g[C], g[H], g[WIDTH], g[SH], g[SW]
    for item in range(lo, hi):
        n, c = item // channels, item % channels
        for r in range(step):
            for i in range(rows):
                line = r + i * step
                source = g[X] + 4 * (item * height + line) * width
                for s in range(step):
                    plane = ((n * step + r) * step + s) * channels + c
                    target = g[Y] + 4 * (plane * rows + i) * columns
                    if line >= height:
                        memset(target, i32(0), 4 * columns)
                        continue
                    x, out = array(f32, source + 4 * s), array(f32, target)
                    count = max(i64(0), (width - s + step - 1) // step)
                    for j in range(count):
                        out[j] = x[j * step]
                    for j in range(count, columns):
                        out[j] = 0


@range_kernel
def join(args, lo, hi, tid):
    """The images of sub-images: the inverse of :func:`part`. Items are (n, c)."""
    g = array(i64, args)
    channels, height, width, rows, columns = g[C], g[H], g[WIDTH], g[SH], g[SW]
    apart = channels * rows * columns
    whole = width // step
    for item in range(lo, hi):
        n, c = item // channels, item % channels
        for line in range(height):
            r, i = line % step, line // step
            plane = (n * step + r) * step * channels + c
            source = array(f32, g[Y] + 4 * (plane * rows + i) * columns)
            out = array(f32, g[X] + 4 * (item * height + line) * width)
            for j in range(whole):
                for s in static(step):
                    out[j * step + s] = source[s * apart + j]
            for more in range(width - whole * step):
                out[whole * step + more] = source[more * apart + whole]

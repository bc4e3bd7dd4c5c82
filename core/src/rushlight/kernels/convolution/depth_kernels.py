"""Compiled loops of :mod:`rushlight.kernels.convolution.depth`. Import at first need."""

from __future__ import annotations

from rushlight.machine.language.functions import array, f32, i32, i64, range_kernel
from rushlight.machine.worker_pool import memcpy, memset

# Argument words. Arrays are (N, C, D, plane) and (N, OD, C, KD, plane), planes being dense.
X, Y, C, D, OD, KD, STEP, PADDING, DILATION, UP, PLANE = range(11)


@range_kernel
def collect(args, lo, hi, tid):
    """Y[n, z, c, k] = X[n, c, (z * STEP - PADDING + k * DILATION) / UP], zeros beyond the ends and
    where there is a remainder.

    Items are (n, z, c).
    """
    g = array(i64, args)
    channels, depth, out, taps, size = g[C], g[D], g[OD], g[KD], 4 * g[PLANE]
    for item in range(lo, hi):
        c, rest = item % channels, item // channels
        z, n = rest % out, rest // out
        target = g[Y] + item * taps * size
        source = g[X] + (n * channels + c) * depth * size
        for k in range(taps):
            reach = z * g[STEP] - g[PADDING] + k * g[DILATION]
            place = reach // g[UP]
            if reach == place * g[UP] and 0 <= place < depth:
                memcpy(target + k * size, source + place * size, size)
            else:
                memset(target + k * size, i32(0), size)


@range_kernel
def spread(args, lo, hi, tid):
    """The transpose of :func:`collect`: X[n, c, d] is the sum of all Y that are copies of it.

    Items are (n, c, d).
    """
    g = array(i64, args)
    channels, depth, out, taps, plane = g[C], g[D], g[OD], g[KD], g[PLANE]
    for item in range(lo, hi):
        d, rest = item % depth, item // depth
        c, n = rest % channels, rest // channels
        target, found = g[X] + 4 * item * plane, i64(0)
        for k in range(taps):
            reach = d * g[UP] + g[PADDING] - k * g[DILATION]
            z = reach // g[STEP]
            if reach == z * g[STEP] and 0 <= z < out:
                source = g[Y] + 4 * (((n * out + z) * channels + c) * taps + k) * plane
                if found == 0:
                    memcpy(target, source, 4 * plane)
                else:
                    x, y = array(f32, target), array(f32, source)
                    for i in range(plane):
                        x[i] += y[i]
                found = i64(1)
        if found == 0:
            memset(target, i32(0), 4 * plane)

"""Compiled loops behind :mod:`rushlight.kernels.resampling.pixels`. Import at first need.

Argument words, but for `deal`: a number, OUT, X; rows and columns of the small planes, the factor.
Items are a row of all the small planes that one large plane is made of.
"""

from __future__ import annotations

from rushlight.machine.language.functions import (
    Parameter,
    array,
    element,
    i64,
    range_kernel,
    static,
)
from rushlight.machine.worker_pool import memcpy

size = Parameter("size")  # bytes of an element
factor = Parameter("factor")  # where it is small, else 0
OUT, X, H, W, FACTOR = range(1, 6)


@range_kernel(wide=True)
def spread(args, lo, hi, tid):
    """Elements of `factor` rows in turn: small planes to large ones."""
    g = array(i64, args)
    height, width, times = g[H], g[W], g[FACTOR]
    for item in range(lo, hi):
        plane, row = item // height, item % height
        for i in range(times):
            x = g[X] + size * (((plane * times + i) * times * height + row) * width)
            out = array(element, g[OUT] + size * (item * times + i) * times * width)
            if factor > 0:
                for w in range(width):
                    for j in static(factor):
                        out[w * factor + j] = array(element, x + size * j * height * width)[w]
            else:
                for j in range(times):
                    source = array(element, x + size * j * height * width)
                    for w in range(width):
                        out[w * times + j] = source[w]


@range_kernel(wide=True)
def gather(args, lo, hi, tid):
    """The inverse: large planes to small ones."""
    g = array(i64, args)
    height, width, times = g[H], g[W], g[FACTOR]
    for item in range(lo, hi):
        plane, row = item // height, item % height
        for i in range(times):
            x = array(element, g[X] + size * (item * times + i) * times * width)
            out = g[OUT] + size * (((plane * times + i) * times * height + row) * width)
            if factor > 0:
                for j in static(factor):
                    target = array(element, out + size * j * height * width)
                    for w in range(width):
                        target[w] = x[w * factor + j]
            else:
                for j in range(times):
                    target = array(element, out + size * j * height * width)
                    for w in range(width):
                        target[w] = x[w * times + j]


@range_kernel
def deal(args, lo, hi, tid):
    """Planes (N, groups, others) transposed to (N, others, groups): items are those of the result.
    Words: a number, OUT, X, groups, others, bytes of a plane."""
    g = array(i64, args)
    groups, others, plane = g[3], g[4], g[5]
    for item in range(lo, hi):
        place = item % (groups * others)
        source = item - place + place % groups * others + place // groups
        memcpy(g[OUT] + item * plane, g[X] + source * plane, plane)

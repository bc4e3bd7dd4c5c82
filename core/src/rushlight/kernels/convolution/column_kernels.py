"""Compiled loops of :mod:`rushlight.kernels.convolution.columns`. Import at first need.

Argument words follow :mod:`rushlight.kernels.launch.prepared`: a number, the result, the input,
constants. Images are (planes, H, W), columns (planes, KH, KW, OH, OW).
"""

from __future__ import annotations

from rushlight.machine.language.functions import (
    Parameter,
    array,
    element,
    f32,
    function,
    i64,
    independent,
    range_kernel,
    real,
)

OUT, X, H, WIDTH, OH, OW, KH, KW, SY, PY, PX, DY, DX = range(1, 14)

step = Parameter("step")  # from window to window in a row
size = Parameter("size")  # bytes of an element


@function
def meeting(g, kx):
    """First and last (exclusive) window whose tap `kx` is in the image; where the tap of the
    first one is."""
    shift = kx * g[DX] - g[PX]
    first = min(g[OW], max(0, (step - 1 - shift) // step))
    last = max(first, min(g[OW], (g[WIDTH] - 1 - shift) // step + 1))
    return first, last, first * step + shift


@range_kernel
def gather_columns(args, lo, hi, tid):
    """The windows of images as columns. Items are (plane, tap)."""
    g = array(i64, args)
    taps, height, ow, row = g[KH] * g[KW], g[H], g[OW], size * g[WIDTH]
    for item in range(lo, hi):
        plane, tap = item // taps, item % taps
        first, last, start = meeting(g, tap % g[KW])
        count, rest = last - first, ow - last
        y = tap // g[KW] * g[DY] - g[PY]
        source = g[X] + row * (plane * height + y) + size * start
        target = g[OUT] + size * item * g[OH] * ow
        for _ in range(g[OH]):
            out = array(element, target)
            if 0 <= y < height:
                x = array(element, source)
                inside = array(element, target + size * first)
                behind = array(element, target + size * last)
                for j in range(first):
                    out[j] = element(0)
                for j in independent(count):
                    inside[j] = x[j * step]
                for j in range(rest):
                    behind[j] = element(0)
            else:
                for j in independent(ow):
                    out[j] = element(0)
            y += g[SY]
            source += g[SY] * row
            target += size * ow


@range_kernel
def add_columns(args, lo, hi, tid):
    """Columns added up to images. Items are (plane, row of the image)."""
    g = array(i64, args)
    height, width, oh, ow, bytes_ = g[H], g[WIDTH], g[OH], g[OW], 4 if real is f32 else 8
    for item in range(lo, hi):
        plane, y = item // height, item % height
        target = g[OUT] + bytes_ * item * width
        out = array(real, target)
        for j in independent(width):
            out[j] = real(0)
        for ky in range(g[KH]):
            reach = y + g[PY] - ky * g[DY]
            i = reach // g[SY]
            if reach % g[SY] == 0 and 0 <= i < oh:
                for kx in range(g[KW]):
                    first, last, start = meeting(g, kx)
                    place = (((plane * g[KH] + ky) * g[KW] + kx) * oh + i) * ow + first
                    x, into = (
                        array(real, g[X] + bytes_ * place),
                        array(real, target + bytes_ * start),
                    )
                    for j in independent(last - first):
                        into[j * step] += x[j]

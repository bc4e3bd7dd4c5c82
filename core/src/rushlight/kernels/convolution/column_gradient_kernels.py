"""Compiled loops of :mod:`rushlight.kernels.convolution.columns_product`. Import at first need."""

from __future__ import annotations

from rushlight.machine.language.functions import array, f32, function, i32, i64, range_kernel, real
from rushlight.machine.openblas import NO_TRANSPOSE, ROW_MAJOR, TRANSPOSE, dgemm, sgemm
from rushlight.machine.worker_pool import memset, scratch

# Argument words. DY and DX are gradients; C and O are channels of a group.
DY, W, DX, C, H, WIDTH, O, HO, WO, KH, KW, STEP_Y, STEP_X, PY, PX = range(15)  # noqa: E741
APART_Y, APART_X, GROUPS, PARTS = range(15, 19)


@function
def add_columns(g, columns, target):
    """Add the columns of one channel, (KH, KW, HO, WO), to the pixels that they are copies of."""
    size = 4 if real is f32 else 8
    for tap in range(g[KH] * g[KW]):
        top, left = tap // g[KW] * g[APART_Y] - g[PY], tap % g[KW] * g[APART_X] - g[PX]
        step = g[STEP_X]
        first = max(i64(0), (step - 1 - left) // step)
        last = min(g[WO], (g[WIDTH] - left + step - 1) // step)
        for i in range(g[HO]):
            y = i * g[STEP_Y] + top
            if 0 <= y < g[H]:
                source = array(real, columns + size * (tap * g[HO] + i) * g[WO])
                line = array(real, target + size * (y * g[WIDTH] + left))
                for j in range(first, last):
                    line[j * step] += source[j]


@range_kernel
def input_gradient(args, lo, hi, tid):
    """Items are (image, group, part of its channels)."""
    g = array(i64, args)
    size = 4 if real is f32 else 8
    taps, pixels, plane = g[KH] * g[KW], g[HO] * g[WO], g[H] * g[WIDTH]
    most = (g[C] + g[PARTS] - 1) // g[PARTS]
    columns = scratch(tid, size * most * taps * pixels)
    for item in range(lo, hi):
        place, part = item // g[PARTS], item % g[PARTS]
        first, last = g[C] * part // g[PARTS], g[C] * (part + 1) // g[PARTS]
        weight = place % g[GROUPS] * g[O] * g[C] + first
        a, b = g[W] + size * weight * taps, g[DY] + size * place * g[O] * pixels
        rows, row = (last - first) * taps, g[C] * taps
        if real is f32:
            sgemm(i32(ROW_MAJOR), i32(TRANSPOSE), i32(NO_TRANSPOSE), rows, pixels, g[O], 1.0, a,
                  row, b, pixels, 0.0, columns, pixels)  # fmt: skip
        else:
            dgemm(i32(ROW_MAJOR), i32(TRANSPOSE), i32(NO_TRANSPOSE), rows, pixels, g[O], 1.0, a,
                  row, b, pixels, 0.0, columns, pixels)  # fmt: skip
        target = g[DX] + size * (place * g[C] + first) * plane
        memset(target, i32(0), size * (last - first) * plane)
        for c in range(last - first):
            add_columns(g, columns + size * c * taps * pixels, target + size * c * plane)

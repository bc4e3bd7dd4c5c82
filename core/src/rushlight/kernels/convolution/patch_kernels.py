"""Compiled loops of :mod:`rushlight.kernels.convolution.patches`. Import at first need."""

from __future__ import annotations

from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.microkernel import (
    MAX_ROWS,
    PANEL,
    START_BIAS,
    START_ZERO,
    TILE_WORDS,
    call_tile,
    split,
)
from rushlight.kernels.gemm.tiles import pack_transposed
from rushlight.kernels.gemm.transposes import transpose
from rushlight.machine.language.functions import (
    Parameter,
    array,
    f32,
    i32,
    i64,
    masked,
    range_kernel,
    stack,
)
from rushlight.machine.worker_pool import memset, scratch

# Argument words: images and patches, or products and results, or images, results, packed weights
# and biases; then sizes.
X, Y, W, BIAS, C, H, WIDTH, HO, WO, KH, O, BLOCKS = range(12)  # noqa: E741
PARTS, TILE = BLOCKS, 12
BLOCK = 64  # output channels of an item that are turned together

across = Parameter("across")  # taps in a row


@range_kernel
def cut(args, lo, hi, tid):
    """Images (N, C, H, W) as rows, (N, HO, WO) of (C, KH, across). Items are (n, row of HO)."""
    g = array(i64, args)
    channels, height, width, wo, high = g[C], g[H], g[WIDTH], g[WO], g[KH]
    depth = channels * high * across
    for item in range(lo, hi):
        n, row = item // g[HO], item % g[HO]
        for c in range(channels):
            for k in range(high):
                line = (n * channels + c) * height + row * high + k
                source = g[X] + 4 * line * width
                target = g[Y] + 4 * (item * wo * depth + (c * high + k) * across)
                for j in range(wo):
                    x = array(f32, source + 4 * across * j)
                    out = array(f32, target + 4 * depth * j)
                    for i in masked(across):
                        out[i] = x[i]


@range_kernel
def paste(args, lo, hi, tid):
    """The inverse of :func:`cut`, with zeros where no patch is. Items are (n, row of HO or after
    the last)."""
    g = array(i64, args)
    channels, height, width, wo, high = g[C], g[H], g[WIDTH], g[WO], g[KH]
    depth, items = channels * high * across, (height + high - 1) // high
    covered = wo * across
    for item in range(lo, hi):
        n, row = item // items, item % items
        for c in range(channels):
            for k in range(min(high, height - row * high)):
                target = g[X] + 4 * ((n * channels + c) * height + row * high + k) * width
                if row >= g[HO]:
                    memset(target, i32(0), 4 * width)
                    continue
                first = (n * g[HO] + row) * wo * depth
                source = g[Y] + 4 * (first + (c * high + k) * across)
                for j in range(wo):
                    x = array(f32, target + 4 * across * j)
                    part = array(f32, source + 4 * depth * j)
                    for i in masked(across):
                        x[i] = part[i]
                memset(target + 4 * covered, i32(0), 4 * (width - covered))


@range_kernel
def pack_weight(args, lo, hi, tid):
    """Weights (O, depth) as panels. Items are panels."""
    g = array(i64, args)
    depth = g[C] * g[KH] * across
    for panel in range(lo, hi):
        source = g[X] + 4 * panel * PANEL * depth
        valid = min(i64(PANEL), g[O] - panel * PANEL)
        pack_transposed(source, 4 * depth, g[Y] + 4 * panel * PANEL * depth, valid, depth)


@range_kernel
def forward_rows(args, lo, hi, tid):
    """Results (N, O, HO, WO), from images as they are: a patch is C * KH runs of taps. Items are
    (n, part of the rows of HO)."""
    g = array(i64, args)
    channels, height, width, wo, high = g[C], g[H], g[WIDTH], g[WO], g[KH]
    depth, pixels, outputs = channels * high * across, g[HO] * wo, g[O]
    runs = channels * high
    block = stack(TILE_WORDS)
    memory = scratch(tid, 16 * runs + 4 * PANEL * MAX_ROWS)
    tile, segments = memory, array(i64, memory + 4 * PANEL * MAX_ROWS)
    for run in range(runs):
        segments[2 * run] = 4 * (run // high * height + run % high) * width
        segments[2 * run + 1] = 4 * run * across * PANEL
    p = array(i64, block)
    p[mk.SEGMENTS], p[mk.SEGMENT_COUNT] = memory + 4 * PANEL * MAX_ROWS, runs
    p[mk.A_ROW], p[mk.A_K], p[mk.C_ROW] = 4 * across, 4, 4 * PANEL
    p[mk.DEPTH], p[mk.C] = i64(across), tile
    p[mk.START] = START_BIAS if g[BIAS] != 0 else START_ZERO
    for item in range(lo, hi):
        n, part = item // g[PARTS], item % g[PARTS]
        image = g[X] + 4 * n * channels * height * width
        for panel in range((outputs + PANEL - 1) // PANEL):
            valid = min(i64(PANEL), outputs - panel * PANEL)
            p[mk.B], p[mk.COLUMNS] = g[W] + 4 * panel * PANEL * depth, valid
            p[mk.BIAS] = g[BIAS] + 4 * panel * PANEL
            result = g[Y] + 4 * (n * outputs + panel * PANEL) * pixels
            for row in range(g[HO] * part // g[PARTS], g[HO] * (part + 1) // g[PARTS]):
                line = image + 4 * row * high * width
                for t in range((wo + MAX_ROWS - 1) // MAX_ROWS):
                    first, count = split(wo, MAX_ROWS, t)
                    p[mk.A] = line + 4 * first * across
                    call_tile(g[TILE], count, block)
                    transpose(tile, 4 * PANEL, result + 4 * (row * wo + first), 4 * pixels, count,
                              valid, 0)  # fmt: skip


@range_kernel
def turn(args, lo, hi, tid):
    """Products (N, pixels, O) as images (N, O, pixels). Items are (n, block of channels)."""
    g = array(i64, args)
    pixels, outputs, blocks = g[HO] * g[WO], g[O], g[BLOCKS]
    for item in range(lo, hi):
        n, first = item // blocks, (item % blocks) * BLOCK
        source = g[X] + 4 * (n * pixels * outputs + first)
        target = g[Y] + 4 * (n * outputs + first) * pixels
        count = min(BLOCK, outputs - first)
        transpose(source, 4 * outputs, target, 4 * pixels, pixels, count, 0)

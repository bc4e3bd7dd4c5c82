"""Compiled loops of :mod:`rushlight.kernels.patch_convolution`. Import at first need."""

from __future__ import annotations

from rushlight.backends.kernel_language import Parameter, array, f32, i32, i64, masked, range_kernel
from rushlight.backends.microkernel import transpose
from rushlight.backends.worker_pool import memset

# Argument words: images and patches, or products and results; then sizes.
X, Y, C, H, WIDTH, HO, WO, KH, O, BLOCKS = range(10)  # noqa: E741
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
    """The inverse of :func:`cut`, with zeros where no patch lies. Items are (n, row of HO or after
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

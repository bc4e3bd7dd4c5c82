"""Convolution over pixels in vectors, two spatial dims, NCHW: float32 of few channels, float64.

The implicit product of :mod:`direct_convolution` puts output channels into vectors; with 6 of them
more than half of every vector is empty, and with one input channel its sums are too short. Here
the padded planes of one image are split by the strides as in :mod:`depthwise`, so that every tap of
every channel is an offset, and one tile is some output channels times 16 to 96 pixels: weights
are read as they are, the values of a tap straight from its plane. Rows follow each other at the
planes' pitch; what falls between two rows is thrown away. float64 goes this way wherever planes
stay in a cache, the outputs of few images in parts.
Shapes alone decide the chunks. Import at first need: it imports the compiler.
"""

from __future__ import annotations

import functools
import math

from rushlight.kernels.convolution.depthwise import split_plane, split_sizes, step_x, step_y
from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.epilogue_emitters import finish
from rushlight.kernels.gemm.microkernel import (
    MAX_ROWS,
    NV,
    START_ZERO,
    TILE_WORDS,
    VL,
    call_tile,
    split,
)
from rushlight.kernels.gemm.tiles import ready_block
from rushlight.kernels.launch.execution import FLOAT32, chunk, language_type
from rushlight.machine import np, threads
from rushlight.machine.language.element_vectors import DOUBLE, SINGLE
from rushlight.machine.language.functions import array, f32, i32, i64, range_kernel, real, stack
from rushlight.machine.worker_pool import memset, scratch

__all__ = ["Forward", "fits"]

# Argument words, the first ones as in `depthwise`. The first four are given at each call, EPILOGUE
# where there is one.
X, W, Y, BIAS, EPILOGUE, N, C, H, WIDTH, O, HO, WO, PY, PX = range(14)  # noqa: E741
TAPS, TABLE, TILE, GROUPS, PARTS, ACROSS = range(14, 20)
PLANE_BYTES = 512 * 1024  # padded planes of an image: L2
MAX_DEPTH = 1024  # taps times channels
DOUBLE_BYTES, DOUBLE_DEPTH = 32 << 20, 4608  # the same of float64, results among the bytes
MOST_VECTORS = 6  # of a tile
REGISTERS = 32 if VL == 16 else 16
ITEMS = 8  # of float64, at least, where outputs can be parted


@range_kernel
def forward_images(args, lo, hi, tid):
    """Items are (image, group, part of its outputs): C and O are channels of a group."""
    g = array(i64, args)
    size, columns = 4 if real is f32 else 8, g[ACROSS]
    ho, wo, depth, phases = g[HO], g[WO], g[C] * g[TAPS], step_y * step_x
    pitch, plane = split_sizes(g)
    count = (ho - 1) * pitch + wo
    values = g[C] * phases * plane + columns  # tiles read on behind the last row
    most = (g[O] + g[PARTS] - 1) // g[PARTS]
    padded = scratch(tid, size * (values + most * count))
    memset(padded, i32(0), size * values)
    flat = padded + size * values
    block = stack(TILE_WORDS)
    ready_block(block)
    p = array(i64, block)
    p[mk.A_ROW], p[mk.C_ROW], p[mk.DEPTH] = size * depth, size * count, depth
    p[mk.START], p[mk.B_OFFSETS] = i64(START_ZERO), g[TABLE]
    for item in range(lo, hi):
        image, part = item // g[PARTS], item % g[PARTS]
        first_output = g[O] * part // g[PARTS]
        outputs = g[O] * (part + 1) // g[PARTS] - first_output
        channel = image % g[GROUPS] * g[O] + first_output
        weight, bias = g[W] + size * channel * depth, array(real, g[BIAS] + size * channel)
        for c in range(g[C]):
            source = g[X] + size * (image * g[C] + c) * g[H] * g[WIDTH]
            split_plane(g, source, padded + size * c * phases * plane, pitch, plane)
        products, result = flat, g[Y] + size * (image * g[O] + first_output) * ho * wo
        if pitch == wo:
            products = result  # nothing falls between rows
        for column in range(0, count, columns):
            p[mk.B], p[mk.COLUMNS] = padded + size * column, count - column
            for t in range((outputs + MAX_ROWS - 1) // MAX_ROWS):
                first, rows = split(outputs, MAX_ROWS, t)
                p[mk.A] = weight + size * first * depth
                p[mk.C] = products + size * (first * count + column)
                call_tile(g[TILE], rows, block)
        if pitch != wo or g[BIAS] != 0:
            for o in range(outputs):
                more = real(0)
                if g[BIAS] != 0:
                    more = bias[o]
                for i in range(ho):
                    line = array(real, products + size * (o * count + i * pitch))
                    y = array(real, result + size * (o * ho + i) * wo)
                    for j in range(wo):
                        y[j] = line[j] + more
        finish(g[EPILOGUE], result, outputs * ho * wo)


def _split_sizes(image, stride, padding):
    """Pitch and values of one split plane."""
    pitch = -(-(image[1] + 2 * padding[1]) // stride[1])
    return pitch, -(-(image[0] + 2 * padding[0]) // stride[0]) * pitch


def fits(c, image, o, kernel, stride, padding):
    """Whether planes stay in the cache and the other way would leave vectors half empty."""
    _, plane = _split_sizes(image, stride, padding)
    small = 4 * c * stride[0] * stride[1] * plane <= PLANE_BYTES
    return small and c * kernel[0] * kernel[1] <= MAX_DEPTH and (o <= 12 or c <= 4)


def fits_double(c, image, o, size, kernel, stride, padding):
    """Whether this is the way of float64."""
    _, plane = _split_sizes(image, stride, padding)
    depth, results = c * math.prod(kernel), o * math.prod(size)
    small = 8 * (c * stride[0] * stride[1] * plane + results) <= DOUBLE_BYTES
    return small and depth <= DOUBLE_DEPTH


def tap_table(c, image, kernel, stride, padding, dilation, itemsize=4):
    """Byte offsets of every (channel, tap) in the split planes of an image."""
    pitch, plane = _split_sizes(image, stride, padding)
    offsets = []
    for channel in range(c):
        for y in range(0, kernel[0] * dilation[0], dilation[0]):
            for x in range(0, kernel[1] * dilation[1], dilation[1]):
                phase = y % stride[0] * stride[1] + x % stride[1]
                place = (channel * stride[0] * stride[1] + phase) * plane
                offsets.append(itemsize * (place + y // stride[0] * pitch + x // stride[1]))
    return np.array(offsets, np.int64)


@functools.cache
def _tiles(vectors, itemsize):
    """Tiles of some vectors of pixels."""
    return mk.TileTable("offsets", vectors, kind=SINGLE if itemsize == 4 else DOUBLE)


def _vectors(outputs, count, lanes):
    """How many vectors of pixels a tile has: the more there are, the fewer wait for the sum before;
    as many as registers hold, but for what the last tile would have too much."""
    rows = -(-outputs // max(1, -(-outputs // MAX_ROWS)))
    most = max(NV, min(MOST_VECTORS, (REGISTERS - 1) // (rows + 1)))
    return min(range(most, NV - 1, -1), key=lambda v: -(-count // (v * lanes)) * v)


class Forward:
    """Plan of a forward convolution, or (``flipped``) of an input gradient at stride 1.

    ``c`` and ``o`` are channels of one group.
    """

    every_group = True  # in one run
    epilogues = "all"

    def __init__(self, n, c, image, o, size, kernel, stride, padding, dilation, flipped,
                 groups=1, dtype=FLOAT32):  # fmt: skip
        self.flipped, self.weights = flipped, (groups, c, o, *kernel)
        self.table = tap_table(c, image, kernel, stride, padding, dilation, dtype.itemsize)
        words = [0] * N + [n, c, *image, o, *size, *padding, kernel[0] * kernel[1]]
        parts = 1 if dtype == FLOAT32 else min(-(-o // MAX_ROWS), -(-ITEMS // (n * groups)))
        pitch, _ = _split_sizes(image, stride, padding)
        lanes = 4 * VL // dtype.itemsize
        vectors = _vectors(-(-o // parts), (size[0] - 1) * pitch + size[1], lanes)
        tile = _tiles(vectors, dtype.itemsize).need(
            *{o * (i + 1) // parts - o * i // parts for i in range(parts)}
        )
        words += [self.table.ctypes.data, tile, groups, parts, vectors * lanes]
        real = language_type(dtype)
        code = forward_images.address(real=real, step_y=stride[0], step_x=stride[1])
        items, work = n * groups * parts, o * self.table.size * size[0] * size[1] // parts
        self.plan = threads.plan(code, items, chunk(items, work, 131_072), words)

    def run(self, x, w, y, bias, epilogue=None):
        """Write the convolution of x and w, plus bias (or None), into y, the epilogue behind it;
        all dense."""
        if self.flipped:
            turned = w.reshape(self.weights).transpose(0, 2, 1, 3, 4)
            w = np.ascontiguousarray(turned[..., ::-1, ::-1])
        threads.run(self.plan, x, w, y, bias, None if epilogue is None else epilogue.table)

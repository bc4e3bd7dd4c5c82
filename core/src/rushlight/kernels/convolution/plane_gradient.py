"""Weight gradients of convolutions with few channels, by dot products over rows of pixels: float32.

An element of the gradient is the dot product of an output's gradient with the input shifted by a
tap. The planes of one image are padded and split by the strides (:mod:`plane_convolution`), so that
both run along rows: OUTPUTS outputs times SHIFTS taps share what they load, in registers. Partial
sums of chunks of images are added in fixed order. Shapes alone decide the chunks. Import at first
need: it imports the compiler.
"""

from __future__ import annotations

from rushlight.kernels.convolution.depthwise import split_plane, split_sizes, step_x, step_y
from rushlight.kernels.convolution.planes import tap_table
from rushlight.kernels.gemm.dot_products import OUTPUTS, SHIFTS, dot_block
from rushlight.kernels.gemm.microkernel import VL
from rushlight.machine import np, threads
from rushlight.machine.language.functions import (
    array,
    f32,
    function,
    i32,
    i64,
    range_kernel,
    stack,
)
from rushlight.machine.worker_pool import memset, scratch

__all__ = ["WeightGradient"]

# Argument words, the first ones as in `depthwise`. The first three are given at each call.
X, DW, DY, BIAS, EPILOGUE, N, C, H, WIDTH, O, HO, WO, PY, PX = range(14)  # noqa: E741
TAPS, TABLE, CHUNKS = range(14, 17)
CHUNKS_OF_IMAGES = 16


@function
def add_image(g, gradient, planes, partial, rows_of_gradient, rows_of_planes, sums):
    """Add the products of one image to partial[output][channel and tap]."""
    depth = g[C] * g[TAPS]
    table, words = array(i64, g[TABLE]), array(i64, sums + 8 * OUTPUTS * SHIFTS)
    total, results = array(f32, sums), array(f32, partial)
    pixels = 4 * g[HO] * g[WO]
    for first in range(0, g[O], OUTPUTS):
        for o in range(OUTPUTS):
            words[o] = gradient + pixels * min(first + o, g[O] - 1)
        for shift in range(0, depth, SHIFTS):
            for s in range(SHIFTS):
                words[OUTPUTS + s] = planes + table[min(shift + s, depth - 1)]
            for i in range(OUTPUTS * SHIFTS):
                total[i] = f32(0)
            at = sums + 8 * OUTPUTS * SHIFTS
            dot_block(at, at + 8 * OUTPUTS, rows_of_gradient, rows_of_planes, g[HO], g[WO], sums)
            for o in range(min(i64(OUTPUTS), g[O] - first)):
                for s in range(min(i64(SHIFTS), depth - shift)):
                    results[(first + o) * depth + shift + s] += total[o * SHIFTS + s]


@range_kernel
def gradient_of_images(args, lo, hi, tid):
    """Items are chunks of images; each has its own partial result."""
    g = array(i64, args)
    phases, size = step_y * step_x, g[O] * g[C] * g[TAPS]
    pitch, plane = split_sizes(g)
    values = g[C] * phases * plane + VL
    padded = scratch(tid, 4 * values)
    memset(padded, i32(0), 4 * values)
    sums = stack(OUTPUTS * SHIFTS + OUTPUTS + SHIFTS)
    for chunk in range(lo, hi):
        partial = g[DW] + 4 * size * chunk
        memset(partial, i32(0), 4 * size)
        for image in range(g[N] * chunk // g[CHUNKS], g[N] * (chunk + 1) // g[CHUNKS]):
            for c in range(g[C]):
                source = g[X] + 4 * (image * g[C] + c) * g[H] * g[WIDTH]
                split_plane(g, source, padded + 4 * c * phases * plane, pitch, plane)
            gradient = g[DY] + 4 * image * g[O] * g[HO] * g[WO]
            add_image(g, gradient, padded, partial, 4 * g[WO], 4 * pitch, sums)


class WeightGradient:
    """Plan of a weight gradient."""

    def __init__(self, n, c, image, o, size, kernel, stride, padding, dilation):
        self.table = tap_table(c, image, kernel, stride, padding, dilation)
        self.chunks = min(n, CHUNKS_OF_IMAGES)
        words = [0] * N + [n, c, *image, o, *size, *padding, kernel[0] * kernel[1]]
        words += [self.table.ctypes.data, self.chunks]
        code = gradient_of_images.address(real=f32, step_y=stride[0], step_x=stride[1])
        self.plan = threads.plan(code, self.chunks, 1, words)

    def run(self, x, dy, dw):
        """Write the gradient into dw; all dense."""
        partial = np.empty((self.chunks, *dw.shape), np.float32)
        threads.run(self.plan, x, partial, dy)
        with np.errstate(all="ignore"):  # infinity minus infinity is NaN, as it should
            np.add.reduce(partial, axis=0, out=dw)

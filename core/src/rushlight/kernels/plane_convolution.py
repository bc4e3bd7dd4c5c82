"""Convolution with few channels, over pixels in vectors: float32, two spatial dims, NCHW.

The implicit product of :mod:`direct_convolution` puts output channels into vectors; with 6 of them
more than half of every vector is empty, and with one input channel its sums are too short. Here
the padded planes of one image are split by the strides as in :mod:`depthwise`, so that every tap of
every channel is an offset, and one tile is some output channels times 32 pixels in a row: weights
are read as they are, the values of a tap straight from its plane. Rows follow each other at the
planes' pitch; what falls between two rows is thrown away.
Shapes alone decide the chunks. Import at first need: it imports the compiler.
"""

from __future__ import annotations

from rushlight.backends import microkernel as mk
from rushlight.backends import np, threads
from rushlight.backends.kernel_language import array, f32, i32, i64, range_kernel, stack
from rushlight.backends.microkernel import MAX_ROWS, PANEL, START_ZERO, TILE_WORDS, call_tile, split
from rushlight.backends.worker_pool import memset, scratch
from rushlight.kernels.depthwise import split_plane, split_sizes, step_x, step_y
from rushlight.kernels.execution import chunk
from rushlight.kernels.tile_products import ready_block

__all__ = ["Forward", "fits"]

# Argument words, the first ones as in `depthwise`. The first four are given at each call.
X, W, Y, BIAS, N, C, H, WIDTH, O, HO, WO, PY, PX, TAPS, TABLE, TILE, GROUPS = range(17)  # noqa: E741
PLANE_BYTES = 512 * 1024  # padded planes of an image: L2
MAX_DEPTH = 1024  # taps times channels


@range_kernel
def forward_images(args, lo, hi, tid):
    """Items are (image, group): C and O are channels of a group."""
    g = array(i64, args)
    ho, wo, outputs, depth, phases = g[HO], g[WO], g[O], g[C] * g[TAPS], step_y * step_x
    pitch, plane = split_sizes(g)
    count = (ho - 1) * pitch + wo
    values = g[C] * phases * plane + PANEL  # tiles read on behind the last row
    padded = scratch(tid, 4 * (values + outputs * count))
    memset(padded, i32(0), 4 * values)
    flat = padded + 4 * values
    block = stack(TILE_WORDS)
    ready_block(block)
    p = array(i64, block)
    p[mk.A_ROW], p[mk.C_ROW], p[mk.DEPTH] = 4 * depth, 4 * count, depth
    p[mk.START], p[mk.B_OFFSETS] = i64(START_ZERO), g[TABLE]
    for image in range(lo, hi):
        group = image % g[GROUPS]
        weight, bias = g[W] + 4 * group * outputs * depth, array(f32, g[BIAS] + 4 * group * outputs)
        for c in range(g[C]):
            source = g[X] + 4 * (image * g[C] + c) * g[H] * g[WIDTH]
            split_plane(g, source, padded + 4 * c * phases * plane, pitch, plane)
        for column in range(0, count, PANEL):
            p[mk.B], p[mk.COLUMNS] = padded + 4 * column, count - column
            for t in range((outputs + MAX_ROWS - 1) // MAX_ROWS):
                first, size = split(outputs, MAX_ROWS, t)
                p[mk.A] = weight + 4 * first * depth
                p[mk.C] = flat + 4 * (first * count + column)
                call_tile(g[TILE], size, block)
        for o in range(outputs):
            more = f32(0)
            if g[BIAS] != 0:
                more = bias[o]
            for i in range(ho):
                line = array(f32, flat + 4 * (o * count + i * pitch))
                y = array(f32, g[Y] + 4 * (((image * outputs + o) * ho + i) * wo))
                for j in range(wo):
                    y[j] = line[j] + more


def _split_sizes(image, stride, padding):
    """Pitch and values of one split plane."""
    pitch = -(-(image[1] + 2 * padding[1]) // stride[1])
    return pitch, -(-(image[0] + 2 * padding[0]) // stride[0]) * pitch


def fits(c, image, o, kernel, stride, padding):
    """Whether planes stay in the cache and the other way would leave vectors half empty."""
    _, plane = _split_sizes(image, stride, padding)
    small = 4 * c * stride[0] * stride[1] * plane <= PLANE_BYTES
    return small and c * kernel[0] * kernel[1] <= MAX_DEPTH and (o <= 12 or c <= 4)


def tap_table(c, image, kernel, stride, padding, dilation):
    """Byte offsets of every (channel, tap) in the split planes of an image."""
    pitch, plane = _split_sizes(image, stride, padding)
    offsets = []
    for channel in range(c):
        for y in range(0, kernel[0] * dilation[0], dilation[0]):
            for x in range(0, kernel[1] * dilation[1], dilation[1]):
                phase = y % stride[0] * stride[1] + x % stride[1]
                place = (channel * stride[0] * stride[1] + phase) * plane
                offsets.append(4 * (place + y // stride[0] * pitch + x // stride[1]))
    return np.array(offsets, np.int64)


class Forward:
    """Plan of a forward convolution, or (``flipped``) of an input gradient at stride 1.

    ``c`` and ``o`` are channels of one group.
    """

    every_group = True  # in one run

    def __init__(self, n, c, image, o, size, kernel, stride, padding, dilation, flipped,
                 groups=1):  # fmt: skip
        self.flipped, self.weights = flipped, (groups, c, o, *kernel)
        self.table = tap_table(c, image, kernel, stride, padding, dilation)
        words = [0] * N + [n, c, *image, o, *size, *padding, kernel[0] * kernel[1]]
        words += [self.table.ctypes.data, mk.AT_OFFSETS.need(o), groups]
        code = forward_images.address(real=f32, step_y=stride[0], step_x=stride[1])
        work = o * self.table.size * size[0] * size[1]
        self.plan = threads.plan(code, n * groups, chunk(n * groups, work, 131_072), words)

    def run(self, x, w, y, bias):
        """Write the convolution of x and w, plus bias (or None), into y; all dense."""
        if self.flipped:
            turned = w.reshape(self.weights).transpose(0, 2, 1, 3, 4)
            w = np.ascontiguousarray(turned[..., ::-1, ::-1])
        threads.run(self.plan, x, w, y, bias)

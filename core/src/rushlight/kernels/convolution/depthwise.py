"""Depthwise convolution over two spatial dims: every output channel reads one input channel.

A plane is copied into zero-padded scratch first, split by its strides: pixels (i sy + a, j sx + b)
become the plane of phase (a, b). There a kernel tap is only an offset, and rows follow each other
at a fixed pitch, so that a whole plane is one long vector loop (what falls between two rows is
computed and thrown away): maps of 7 x 7 fill vectors as well as large ones. The gradient of the
weight is a dot product for each tap. Columns at strides of 1 and 2 go row by row over the planes as
they are instead, by code emitted for the window
(:mod:`rushlight.kernels.convolution.depthwise_rows`), or plane by plane
(:mod:`rushlight.kernels.convolution.depthwise_planes`); so does every gradient of the input, over
the gradient with ``stride - 1`` zeros between its pixels and the taps turned round. Shapes alone
decide the chunks. Import at first need: it imports the compiler.
"""

from __future__ import annotations

from rushlight.kernels.convolution import depthwise_planes as whole_planes
from rushlight.kernels.convolution import depthwise_rows as emitted
from rushlight.kernels.convolution import window_rows as block_words
from rushlight.kernels.gemm.epilogue_emitters import finish
from rushlight.kernels.gemm.microkernel import VL
from rushlight.kernels.launch.execution import chunk, language_type
from rushlight.machine import threads
from rushlight.machine.language.functions import (
    Parameter,
    array,
    call_address,
    f32,
    function,
    i32,
    i64,
    infinity,
    range_kernel,
    real,
    stack,
    static,
)
from rushlight.machine.worker_pool import copy_rows, memset, scratch

__all__ = ["Forward", "InputGradient", "WeightGradient"]

# Argument words. The first four are given at each call, EPILOGUE where there is one.
X, W, Y, BIAS, EPILOGUE, N, C, H, WIDTH, O, HO, WO, PY, PX, CODE = range(15)  # noqa: E741
IMAGES_AT_ONCE = 16  # whose products are summed in one vector before they are added to the others
UNROLLED = 25  # taps, at most, of a loop that does all of them at once
CHUNK_WORK = 65_536  # multiply-adds of a chunk, about

high, wide = Parameter("high"), Parameter("wide")  # taps
step_y, step_x = Parameter("step_y"), Parameter("step_x")  # strides
apart_y, apart_x = Parameter("apart_y"), Parameter("apart_x")  # dilations


@function
def split_sizes(g):
    """The pitch of rows and the values of a padded plane that is split by the strides."""
    pitch = (g[WIDTH] + 2 * g[PX] + step_x - 1) // step_x
    return pitch, (g[H] + 2 * g[PY] + step_y - 1) // step_y * pitch


@function
def split_plane(g, source, target, pitch, plane):
    """The input plane at ``source`` to the interior of padded phases, ``plane`` values each."""
    size = 4 if real is f32 else 8
    height, width, left = g[H], g[WIDTH], g[PX]
    if step_y == 1 and step_x == 1:
        inside = target + size * (g[PY] * pitch + left)
        copy_rows(source, size * width, inside, size * pitch, height, size * width)
        return
    dense, phases = array(real, source), array(real, target)
    for i in range(height):
        row = i + g[PY]
        for b in range(step_x):
            first = (step_x + b - left % step_x) % step_x  # the first column of this phase
            place = (row % step_y * step_x + b) * plane + row // step_y * pitch
            place += (first + left) // step_x
            for j in range((width - first + step_x - 1) // step_x):
                phases[place + j] = dense[i * width + first + j * step_x]


@function
def tap_offset(ky, kx, pitch, plane):
    """Where a tap reads, from where its output is."""
    y, x = ky * apart_y, kx * apart_x
    return (y % step_y * step_x + x % step_x) * plane + y // step_y * pitch + x // step_x


@function
def spread_plane(source, rows, columns, target, pitch):
    """Dense rows to the pixels (i step_y, j step_x) of a grid of ``pitch`` columns."""
    dense, grid = array(real, source), array(real, target)
    for i in range(rows):
        for j in range(columns):
            grid[i * step_y * pitch + j * step_x] = dense[i * columns + j]


@function
def add_taps(source, w, out, count, pitch, plane):
    """Add all taps to ``count`` values in a row: out[i] += w[k] x[i + offset of k]."""
    size = 4 if real is f32 else 8
    if high * wide <= UNROLLED:
        x = array(real, source)
        for i in range(count):
            total = out[i]
            for ky in static(high):
                for kx in static(wide):
                    total += w[ky * wide + kx] * x[i + tap_offset(ky, kx, pitch, plane)]
            out[i] = total
    else:
        for ky in range(high):
            x = array(real, source + size * tap_offset(ky, i64(0), pitch, plane))
            for i in range(count):
                total = out[i]
                for kx in static(wide):
                    total += w[ky * wide + kx] * x[i + tap_offset(0, kx, pitch, plane)]
                out[i] = total


@range_kernel
def forward_planes(args, lo, hi, tid):
    """Items are output planes (image, channel)."""
    g = array(i64, args)
    size = 4 if real is f32 else 8
    ho, wo, phases, multiple = g[HO], g[WO], step_y * step_x, g[O] // g[C]
    pitch, plane = split_sizes(g)
    count = (ho - 1) * pitch + wo
    padded = scratch(tid, size * (phases * plane + count))
    memset(padded, i32(0), size * phases * plane)
    row = padded + size * phases * plane
    line, bias = array(real, row), array(real, g[BIAS])
    for item in range(lo, hi):
        image, channel = item // g[O], item % g[O]
        source = g[X] + size * (image * g[C] + channel // multiple) * g[H] * g[WIDTH]
        split_plane(g, source, padded, pitch, plane)
        start = real(0)
        if g[BIAS] != 0:
            start = bias[channel]
        for i in range(count):
            line[i] = start
        w = array(real, g[W] + size * channel * high * wide)
        add_taps(padded, w, line, count, pitch, plane)
        target = g[Y] + size * item * ho * wo
        copy_rows(row, size * pitch, target, size * wo, ho, size * wo)
    finish(g[EPILOGUE], g[Y] + size * lo * ho * wo, (hi - lo) * ho * wo)


@function
def products_inside(dy, x, pitch, rows, columns):
    """The sum of products at the outputs alone: between rows, zeros make NaN of infinities."""
    total = real(0)
    for y in range(rows):
        for i in range(y * pitch, y * pitch + columns):
            total += dy[i] * x[i]
    return total


@range_kernel(reassociate=True)
def weight_gradient_planes(args, lo, hi, tid):
    """Items are output channels. X is the input, W the gradient of the output."""
    g = array(i64, args)
    size = 4 if real is f32 else 8
    ho, wo, phases, multiple = g[HO], g[WO], step_y * step_x, g[O] // g[C]
    pitch, plane = split_sizes(g)
    count = (ho - 1) * pitch + wo
    padded = scratch(tid, size * (phases * plane + count))
    memset(padded, i32(0), size * (phases * plane + count))
    spread = padded + size * phases * plane
    dy = array(real, spread)
    for channel in range(lo, hi):
        out = array(real, g[Y] + size * channel * high * wide)
        for k in range(high * wide):
            out[k] = 0
        for image in range(g[N]):
            source = g[X] + size * (image * g[C] + channel // multiple) * g[H] * g[WIDTH]
            split_plane(g, source, padded, pitch, plane)
            source = g[W] + size * (image * g[O] + channel) * ho * wo
            copy_rows(source, size * wo, spread, size * pitch, ho, size * wo)
            for k in range(high * wide):
                x = array(real, padded + size * tap_offset(k // wide, k % wide, pitch, plane))
                total = real(0)
                for i in range(count):
                    total += dy[i] * x[i]
                if not (-infinity(real) < total and total < infinity(real)):
                    total = products_inside(dy, x, pitch, ho, wo)
                out[k] += total


# ---- row by row ----------------------------------------------------------------------------------


@function
def ready_block(block, height, width, py, px, rows, columns):
    """The sizes of a parameter block of emitted code: of the plane, the padding, the result."""
    p = array(i64, block)
    p[block_words.HEIGHT], p[block_words.WIDTH], p[block_words.PY], p[block_words.PX] = (
        height,
        width,
        py,
        px,
    )
    p[block_words.ROWS], p[block_words.COLUMNS], p[block_words.BIAS] = rows, columns, i64(0)


@range_kernel
def forward_rows(args, lo, hi, tid):
    """Items are output planes (image, channel)."""
    g, block, size = array(i64, args), stack(block_words.WORDS), 4 if real is f32 else 8
    p, multiple = array(i64, block), g[O] // g[C]
    ready_block(block, g[H], g[WIDTH], g[PY], g[PX], g[HO], g[WO])
    for item in range(lo, hi):
        image, channel = item // g[O], item % g[O]
        p[block_words.SOURCE] = g[X] + size * (image * g[C] + channel // multiple) * g[H] * g[WIDTH]
        p[block_words.OUT] = g[Y] + size * item * g[HO] * g[WO]
        p[block_words.WEIGHT] = g[W] + size * channel * high * wide
        if g[BIAS] != 0:
            p[block_words.BIAS] = g[BIAS] + size * channel
        call_address(g[CODE], block)
    pixels = g[HO] * g[WO]
    finish(g[EPILOGUE], g[Y] + size * lo * pixels, (hi - lo) * pixels)


@range_kernel
def input_gradient_rows(args, lo, hi, tid):
    """Items are input planes (image, channel). X is the gradient, Y what is computed."""
    g, block, size = array(i64, args), stack(block_words.WORDS), 4 if real is f32 else 8
    p, multiple, taps = array(i64, block), g[O] // g[C], high * wide
    pixels, ho, wo = g[H] * g[WIDTH], g[HO], g[WO]
    rows, columns = (ho - 1) * step_y + 1, (wo - 1) * step_x + 1
    grid = scratch(tid, size * (rows * columns + pixels + taps))
    part = grid + size * rows * columns
    turned = array(real, part + size * pixels)
    memset(grid, i32(0), size * rows * columns)
    ready_block(block, rows, columns, (high - 1) * apart_y - g[PY], (wide - 1) * apart_x - g[PX],
                g[H], g[WIDTH])  # fmt: skip
    p[block_words.WEIGHT] = part + size * pixels
    for item in range(lo, hi):
        image, channel = item // g[C], item % g[C]
        target = g[Y] + size * item * pixels
        for i in range(multiple):
            o = channel * multiple + i
            p[block_words.SOURCE] = g[X] + size * (image * g[O] + o) * ho * wo
            if step_y > 1 or step_x > 1:
                spread_plane(p[block_words.SOURCE], ho, wo, grid, columns)
                p[block_words.SOURCE] = grid
            w = array(real, g[W] + size * o * taps)
            for k in range(taps):
                turned[k] = w[taps - 1 - k]
            p[block_words.OUT] = target if i == 0 else part
            call_address(g[CODE], block)
            if i > 0:
                total, addend = array(real, target), array(real, part)
                for j in range(pixels):
                    total[j] += addend[j]


@range_kernel
def weight_gradient_rows(args, lo, hi, tid):
    """Items are output channels. X is the input, W the gradient of the output."""
    g, block, size = array(i64, args), stack(block_words.WORDS), 4 if real is f32 else 8
    vector = 4 * VL // size
    lanes = high * wide * vector
    p, multiple = array(i64, block), g[O] // g[C]
    memory = scratch(tid, 2 * size * lanes)
    sums, totals = array(real, memory), array(real, memory + size * lanes)
    ready_block(block, g[H], g[WIDTH], g[PY], g[PX], g[HO], g[WO])
    p[block_words.WEIGHT] = memory
    for channel in range(lo, hi):
        memset(memory, i32(0), 2 * size * lanes)
        for image in range(g[N]):
            p[block_words.SOURCE] = (
                g[X] + size * (image * g[C] + channel // multiple) * g[H] * g[WIDTH]
            )
            p[block_words.OUT] = g[W] + size * (image * g[O] + channel) * g[HO] * g[WO]
            call_address(g[CODE], block)
            if image % IMAGES_AT_ONCE == IMAGES_AT_ONCE - 1 or image == g[N] - 1:
                for i in range(lanes):
                    totals[i] += sums[i]
                    sums[i] = 0
        out = array(real, g[Y] + size * channel * high * wide)
        for k in range(high * wide):
            total = real(0)
            for i in range(vector):
                total += totals[k * vector + i]
            out[k] = total


# ---- plans ---------------------------------------------------------------------------------------


def _plan(kernels, dtype, n, c, image, o, size, taps, stride, padding, dilation, items):
    words = [0] * N + [n, c, *image, o, *size, *padding, 0]
    by_rows, emits, kernel = kernels
    strided = kernel is not None
    if stride[1] in emitted.STRIDES or not strided:
        steps = stride if strided else (1, 1)
        if whole_planes.fits(image, size, taps, stride):
            reach = [d * (t - 1) - p for d, t, p in zip(dilation, taps, padding, strict=True)]
            window = taps, tuple(padding if strided else reach), dilation
            words[CODE] = whole_planes.plane_address(emits, dtype.itemsize, tuple(image), *window)
        else:
            rows = size[0] if strided else image[0]
            block = emitted.rows_at_once(rows, *taps) if emits == "forward" else 1
            window = dtype.itemsize, *taps, *steps, *dilation
            words[CODE] = emitted.rows_address(emits, block, *window)
        kernel = by_rows
    code = kernel.address(
        real=language_type(dtype), high=taps[0], wide=taps[1], step_y=stride[0], step_x=stride[1],
        apart_y=dilation[0], apart_x=dilation[1],
    )  # fmt: skip
    work = n * o * max(size[0] * size[1], image[0] * image[1]) * taps[0] * taps[1] // items
    return threads.plan(code, items, chunk(items, work, CHUNK_WORK), words)


# The kernel that goes row by row, the code it calls, and the kernel for strides that there is no
# such code for; None where rows are spread over a grid instead.
_FORWARD = forward_rows, "forward", forward_planes
_INPUT_GRADIENT = input_gradient_rows, "forward", None
_WEIGHT_GRADIENT = weight_gradient_rows, "weight", weight_gradient_planes


class Forward:
    """Plan of a forward pass for one set of shapes: ``run(x, w, y, bias)``."""

    epilogues = "all"

    def __init__(self, dtype, n, c, image, o, size, taps, *window):
        self.plan = _plan(_FORWARD, dtype, n, c, image, o, size, taps, *window, n * o)

    def run(self, x, w, y, bias, epilogue=None):
        """Write the convolution of x and w, plus bias (or None), into y, the epilogue behind it;
        all dense."""
        threads.run(self.plan, x, w, y, bias, None if epilogue is None else epilogue.table)


class InputGradient:
    """Plan of the gradient of the input: ``run(dy, w, dx)``."""

    def __init__(self, dtype, n, c, image, o, size, taps, *window):
        self.plan = _plan(_INPUT_GRADIENT, dtype, n, c, image, o, size, taps, *window, n * c)

    def run(self, dy, w, dx):
        """Write the gradient of the input into dx; all dense."""
        threads.run(self.plan, dy, w, dx, None)


class WeightGradient:
    """Plan of the gradient of the weight: ``run(x, dy, dw)``."""

    def __init__(self, dtype, n, c, image, o, size, taps, *window):
        self.plan = _plan(_WEIGHT_GRADIENT, dtype, n, c, image, o, size, taps, *window, o)

    def run(self, x, dy, dw):
        """Write the gradient of the weight into dw; all dense."""
        threads.run(self.plan, x, dy, dw, None)

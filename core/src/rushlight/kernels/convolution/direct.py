"""Direct float32 convolution over two spatial dims, NCHW in and out, by implicit GEMM on tiles.

One forward item = one image, some output rows (of one that is too long for L2: a span), some output
channels. Its input rows are transposed in registers into a zero-padded channels-last block in L2;
there a kernel tap is only an address offset, so the taps are the segments of one tile kernel call.
The tile [pixels x channels] is transposed back when it is stored. Weights are packed as
[panel][tap][C][PANEL].

Strides, paddings and dilations may differ between the dims. Groups are runs over slices of the
channels. Shapes alone decide the chunks. Import at first need: it imports the compiler.
"""

from __future__ import annotations

from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.microkernel import (
    FINISHES,
    GROUP,
    GROUPS_FIT,
    MAX_ROWS,
    PANEL,
    START_BIAS,
    START_ZERO,
    TILE_WORDS,
    call_tile,
    pack_rows,
    split,
)
from rushlight.kernels.gemm.transposes import transpose
from rushlight.machine import np, threads
from rushlight.machine.language.functions import (
    array,
    call_address,
    function,
    i64,
    range_kernel,
    shared_function,
    stack,
)
from rushlight.machine.worker_pool import load, memset, scratch

# Argument words. The first four are given at each call, EPILOGUE where there is one.
X, W, Y, BIAS, EPILOGUE, N, C, H, WIDTH, O, HO, WO, KH, KW = range(14)  # noqa: E741
SY, SX, PY, PX, DY, DX = range(14, 20)
CS, ROWS, BLOCKS, PANELS, PANEL_GROUPS, TABLE, SEGMENTS, TILE, TILE_GROUPS = range(20, 29)
CHUNKS, IMAGES, FLIPPED, X_IMAGE, Y_IMAGE, LAST_TILE, PARTS, PART = range(29, 37)
SPAN, SPANS, PADDED = range(37, 40)  # outputs of a span; spans of a row; pixels of a block's row
WORDS = 40

BLOCK_BYTES = 300 * 1024  # input block of one item
FEWEST_OUTPUTS = 3 * MAX_ROWS  # of a span
ITEMS = 16  # at least that many items where the shape allows
SMALL_WORK = 130_000  # multiply-adds below which a second thread does not pay


# ---- pieces shared by forward, gradients and Winograd --------------------------------------------


def channel_stride(channels):
    """Floats between pixels of a channels-last block.

    Multiples of 128 would put neighbouring pixels into the same cache sets.
    """
    return channels + 16 if channels % 128 == 0 else channels


@function
def load_row(source, plane, channels, left, width, padded, stride, row):
    """`width` pixels of a row of an image, whose channels are `plane` bytes apart, into `padded`
    pixels of a block, `left` zeros before and others behind them."""
    pixel = 4 * stride
    right = padded - left - width
    if left > 0:
        memset(row, 0, left * pixel)
    if right > 0:
        memset(row + (left + width) * pixel, 0, right * pixel)
    transpose(source, plane, row + left * pixel, pixel, channels, width, 0)


@shared_function
def load_rows(
    image, channels, height, width, first, rows, step, used, pad, padded_width, stride, target
):
    """Rows first..first+rows of a C x H x W image as a padded [rows][padded_width][stride] block.

    Only rows r with r % step < used are needed (strided 1x1 convolutions skip the others).
    """
    plane, pixel = 4 * height * width, 4 * stride
    inside = first >= 0 and first + rows <= height
    if pad == 0 and padded_width == width and step == 1 and inside:
        source = image + 4 * first * width
        transpose(source, plane, target, pixel, channels, rows * width, 0)
        return  # nothing to pad: the rows are one long run
    for r in range(rows):
        if r % step >= used:
            continue
        y = first + r
        row = target + r * padded_width * pixel
        if y < 0 or y >= height:
            memset(row, 0, padded_width * pixel)
        else:
            source = image + 4 * y * width
            load_row(source, plane, channels, pad, width, padded_width, stride, row)


@range_kernel
def pack_weights(args, lo, hi, tid):
    """Panels lo..hi of the weights: [O][C][taps] -> [panel][tap][C][PANEL], zeros beyond O."""
    g = array(i64, args)
    taps, channels, outputs = g[KH] * g[KW], g[C], g[O]
    columns = channels * taps
    buffer = scratch(tid, columns * PANEL * 4)
    for panel in range(lo, hi):
        source = g[W] + 4 * panel * PANEL * columns
        target = g[Y] + 4 * panel * PANEL * columns
        valid = min(PANEL, outputs - panel * PANEL)
        if taps == 1:
            transpose(source, 4 * columns, target, 4 * PANEL, valid, columns, PANEL)
            continue
        transpose(source, 4 * columns, buffer, 4 * PANEL, valid, columns, PANEL)
        for tap in range(taps):
            start = target + 4 * PANEL * channels * tap
            pack_rows(buffer + 4 * PANEL * tap, 4 * PANEL * taps, start, channels, PANEL)


@range_kernel
def pack_weights_transposed(args, lo, hi, tid):
    """For input gradients: panels of [O][C][taps] -> [panel of C][tap][O][PANEL].

    The taps run backwards if FLIPPED.
    """
    g = array(i64, args)
    taps, outputs, channels, flipped = g[KH] * g[KW], g[O], g[C], g[FLIPPED]
    tap_bytes = 4 * PANEL * outputs
    step = -tap_bytes if flipped != 0 else tap_bytes
    for panel in range(lo, hi):
        target = g[Y] + panel * taps * tap_bytes
        if flipped != 0:
            target += (taps - 1) * tap_bytes
        valid = min(PANEL, channels - panel * PANEL)
        if taps == 1:
            pack_rows(g[W] + 4 * panel * PANEL, 4 * channels, target, outputs, valid)
            continue
        for o in range(outputs):
            source = g[W] + 4 * taps * (o * channels + panel * PANEL)
            transpose(source, 4 * taps, target + 4 * PANEL * o, step, valid, taps, PANEL)


@function
def load_span(g, image, channels, first, rows, x, block):
    """Of rows first..first+rows of some channels of an image the pixels that a span meets, from x
    on, which may be beside the image, as a [rows][padded][stride] block."""
    padded, pixel = g[PADDED], 4 * g[CS]
    left = max(0, -x)
    count = max(0, min(g[WIDTH], x + padded) - max(0, x))
    for r in range(rows):
        y = first + r
        row = block + r * padded * pixel
        if y < 0 or y >= g[H] or count == 0:
            memset(row, 0, padded * pixel)
        else:
            source = image + 4 * (y * g[WIDTH] + max(0, x))
            load_row(source, 4 * g[H] * g[WIDTH], channels, left, count, padded, g[CS], row)


@function
def load_part(g, image, channels, y0, rows, x0, block):
    """Of some channels of an image the block that output rows y0..y0+rows meet, from output x0 on
    where rows are divided into spans."""
    first, reach = y0 * g[SY] - g[PY], (g[KH] - 1) * g[DY] + 1
    count = (rows - 1) * g[SY] + reach
    if g[SPANS] == 1:
        load_rows(image, channels, g[H], g[WIDTH], first, count, g[SY], reach, g[PX], g[PADDED],
                  g[CS], block)  # fmt: skip
    else:
        load_span(g, image, channels, first, count, x0 * g[SX] - g[PX], block)


# ---- forward -------------------------------------------------------------------------------------


@function
def tap_rows(g, y, rows):
    """First kernel row and number of kernel rows that touch the image for rows y..y+rows."""
    first = max(0, (g[PY] - (y + rows - 1) * g[SY] + g[DY] - 1) // g[DY])
    last = min(g[KH], (g[H] + g[PY] - y * g[SY] + g[DY] - 1) // g[DY])
    return first, max(0, last - first)


@function
def forward_panel(g, block_words, tiles, block, tile, y0, rows, wo):
    """One output panel of `wo` pixels of rows y0..y0+rows into tile[pixel][PANEL], by one table of
    tiles."""
    p = array(i64, block_words)
    pixel = 4 * g[CS]
    row_bytes = g[PADDED] * pixel
    per_row = g[SEGMENTS] // g[KH]
    grouped = wo == GROUP and g[TILE_GROUPS] != 0 and tiles == g[TILE]
    pairs = rows // 2 if grouped else i64(0)
    for q in range(pairs):
        first, count = tap_rows(g, y0 + 2 * q, 2)
        p[mk.SEGMENTS], p[mk.SEGMENT_COUNT] = g[TABLE] + 16 * first * per_row, count * per_row
        p[mk.A] = block + 2 * q * g[SY] * row_bytes
        p[mk.C] = tile + 4 * PANEL * wo * 2 * q
        call_address(g[TILE_GROUPS], block_words)
    for r in range(2 * pairs, rows):
        first, count = tap_rows(g, y0 + r, 1)
        p[mk.SEGMENTS], p[mk.SEGMENT_COUNT] = g[TABLE] + 16 * first * per_row, count * per_row
        for t in range((wo + MAX_ROWS - 1) // MAX_ROWS):
            x, size = split(wo, MAX_ROWS, t)
            p[mk.A] = block + r * g[SY] * row_bytes + x * g[SX] * pixel
            p[mk.C] = tile + 4 * PANEL * (r * wo + x)
            call_tile(tiles, size, block_words)


@range_kernel
def forward_kernel(args, lo, hi, tid):
    """Items: (image, block of output rows, span of them, group of output panels)."""
    g = array(i64, args)
    pixels, panel_bytes = g[HO] * g[WO], 4 * PANEL * g[C] * g[KH] * g[KW]
    padded, spans = g[PADDED], g[SPANS]
    reach = (g[KH] - 1) * g[DY] + 1
    block_bytes = (((g[ROWS] - 1) * g[SY] + reach) * padded * g[CS] * 4 + 63) // 64 * 64
    block = scratch(tid, block_bytes + g[ROWS] * g[SPAN] * PANEL * 4)
    tile = block + block_bytes
    words = stack(TILE_WORDS)
    p = array(i64, words)
    p[mk.A_ROW], p[mk.A_K], p[mk.C_ROW] = 4 * g[CS] * g[SX], 4, 4 * PANEL
    p[mk.A_GROUP] = 4 * g[CS] * padded * g[SY]
    p[mk.C_GROUP] = 4 * PANEL * GROUP
    p[mk.DEPTH], p[mk.EPILOGUE] = g[C] * g[KH] * g[KW] // g[SEGMENTS], g[EPILOGUE]
    for item in range(lo, hi):
        panel_group, rest = item % g[PANEL_GROUPS], item // g[PANEL_GROUPS]
        span, part, image = rest % spans, rest // spans % g[BLOCKS], rest // spans // g[BLOCKS]
        y0, rows = split(g[HO], g[ROWS], part)
        x0, columns = split(g[WO], g[SPAN], span)
        load_part(g, g[X] + image * g[X_IMAGE], g[C], y0, rows, x0, block)
        first_panel = g[PANELS] * panel_group // g[PANEL_GROUPS]
        for panel in range(first_panel, g[PANELS] * (panel_group + 1) // g[PANEL_GROUPS]):
            channel = panel * PANEL
            valid = min(PANEL, g[O] - channel)
            p[mk.B], p[mk.COLUMNS] = g[W] + panel * panel_bytes, valid
            p[mk.START] = START_ZERO
            if g[BIAS] != 0:
                p[mk.START], p[mk.BIAS] = START_BIAS, g[BIAS] + 4 * channel
            if g[EPILOGUE] != 0:
                p[mk.START] += FINISHES
            tiles = g[LAST_TILE] if channel + PANEL >= g[O] else g[TILE]
            forward_panel(g, words, tiles, block, tile, y0, rows, columns)
            target = g[Y] + image * g[Y_IMAGE] + 4 * (channel * pixels + y0 * g[WO] + x0)
            transpose(tile, 4 * PANEL, target, 4 * pixels, rows * columns, valid, 0)


# ---- input gradient of any stride ----------------------------------------------------------------
# Pixel u = y + PAD of the padded input meets kernel row ky only where the stride divides u - ky. So
# the pixels fall into SY x SX classes; inside a class neighbours use neighbouring gradients and
# the same taps: each class is a stride-1 convolution of dy, told apart only by its segments and
# by the row stride of its output tile. Here A = dy (O channels), outputs = C channels.


@function
def class_segments(g, table_address, row_bytes):
    """Segments of class (py, px) from table[class * taps]; their number is behind the tables."""
    table = array(i64, table_address)
    sy, sx, taps = g[SY], g[SX], g[KH] * g[KW]
    for py in range(sy):
        for px in range(sx):
            index, count = py * sx + px, i64(0)
            for ky in range(py, g[KH], sy):
                for kx in range(px, g[KW], sx):
                    entry = 2 * (index * taps + count)
                    table[entry] = -(ky // sy * row_bytes + kx // sx * 4 * g[CS])
                    table[entry + 1] = 4 * PANEL * g[O] * (ky * g[KW] + kx)
                    count += 1
            table[2 * sy * sx * taps + index] = count


@function
def input_gradient_row(g, words, tiles, table, y, row_address, left, target):
    """One output row: the classes of its pixels in turn."""
    p = array(i64, words)
    sx, taps, pixel = g[SX], g[KH] * g[KW], 4 * g[CS]
    for px in range(sx):
        index = (y + g[PY]) % g[SY] * sx + px
        x0 = (px - g[PX]) % sx
        count = (g[WIDTH] - x0 + sx - 1) // sx
        p[mk.SEGMENTS] = table + 16 * index * taps
        p[mk.SEGMENT_COUNT] = load(table + 8 * (2 * g[SY] * sx * taps + index))
        for t in range((count + MAX_ROWS - 1) // MAX_ROWS):
            first, size = split(count, MAX_ROWS, t)
            p[mk.A] = row_address + ((x0 + g[PX]) // sx + first + left) * pixel
            p[mk.C] = target + 4 * PANEL * (x0 + sx * first)
            call_tile(tiles, size, words)


@range_kernel
def input_gradient_kernel(args, lo, hi, tid):
    """Items: (image, some rows of dx, group of panels of C)."""
    g = array(i64, args)
    sy, sx, taps, pixels = g[SY], g[SX], g[KH] * g[KW], g[H] * g[WIDTH]
    above, left = (g[KH] - 1) // sy, (g[KW] - 1) // sx - g[PX] // sx
    padded = (g[WIDTH] - 1 + g[PX]) // sx + left + 1
    row_bytes = padded * 4 * g[CS]
    block_bytes = (((g[ROWS] + sy - 1) // sy + above + 1) * row_bytes + 63) // 64 * 64
    tile_bytes = g[ROWS] * g[WIDTH] * PANEL * 4
    block = scratch(tid, block_bytes + tile_bytes + 16 * sy * sx * taps + 8 * sy * sx)
    tile = block + block_bytes
    table = tile + tile_bytes
    class_segments(g, table, row_bytes)
    words = stack(TILE_WORDS)
    p = array(i64, words)
    p[mk.A_ROW], p[mk.A_K], p[mk.C_ROW], p[mk.DEPTH] = 4 * g[CS], 4, 4 * PANEL * sx, g[O]
    p[mk.START] = START_ZERO
    for item in range(lo, hi):
        panel_group, rest = item % g[PANEL_GROUPS], item // g[PANEL_GROUPS]
        image, part = rest // g[BLOCKS], rest % g[BLOCKS]
        y0, rows = split(g[H], g[ROWS], part)
        first = (y0 + g[PY]) // sy - above
        load_rows(g[X] + image * g[X_IMAGE], g[O], g[HO], g[WO], first,
                  (y0 + rows - 1 + g[PY]) // sy - first + 1, 1, 1, left, padded, g[CS],
                  block)  # fmt: skip
        first_panel = g[PANELS] * panel_group // g[PANEL_GROUPS]
        for panel in range(first_panel, g[PANELS] * (panel_group + 1) // g[PANEL_GROUPS]):
            valid = min(PANEL, g[C] - panel * PANEL)
            p[mk.B], p[mk.COLUMNS] = g[W] + 4 * panel * PANEL * taps * g[O], valid
            tiles = g[LAST_TILE] if (panel + 1) * PANEL >= g[C] else g[TILE]
            for r in range(rows):
                row_address = block + ((y0 + r + g[PY]) // sy - first) * row_bytes
                target = tile + 4 * PANEL * g[WIDTH] * r
                input_gradient_row(g, words, tiles, table, y0 + r, row_address, left, target)
            target = g[Y] + image * g[Y_IMAGE] + 4 * (panel * PANEL * pixels + y0 * g[WIDTH])
            transpose(tile, 4 * PANEL, target, 4 * pixels, rows * g[WIDTH], valid, 0)


# ---- plans ---------------------------------------------------------------------------------------


def geometry(n, c, image, o, kernel, stride, padding, dilation):
    """Argument words that all kernels share; groups already divided out of c and o."""
    words = [0] * WORDS
    words[N], words[C], words[O] = n, c, o
    (words[H], words[WIDTH]), (words[KH], words[KW]) = image, kernel
    (words[SY], words[SX]), (words[PY], words[PX]) = stride, padding
    words[DY], words[DX] = dilation
    words[HO], words[WO] = (
        (image[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1
        for i in range(2)
    )
    words[PANELS] = -(-o // PANEL)
    fit_block(words, c)
    return words


def fit_block(words, channels):
    """The rows that a block of so many channels has."""
    words[CS] = channel_stride(channels)
    reach = (words[KH] - 1) * words[DY] + 1
    rows = BLOCK_BYTES // (4 * words[CS] * (words[WIDTH] + 2 * words[PX]))
    words[ROWS] = min(words[HO], max(1, (rows - reach) // words[SY] + 1))
    words[BLOCKS] = -(-words[HO] // words[ROWS])


def divide_rows(words, beside=0, fewest=FEWEST_OUTPUTS):
    """Spans of at least `fewest` outputs of rows of which one alone is more than a block; `beside`:
    floats for each output that are read with the block."""
    reach_y, reach_x = (
        (words[kernel] - 1) * words[dilation] + 1 for kernel, dilation in ((KH, DY), (KW, DX))
    )
    words[SPAN], words[SPANS], words[PADDED] = words[WO], 1, words[WIDTH] + 2 * words[PX]
    floats = words[CS] * reach_y * words[SX] + beside
    most = max(fewest, BLOCK_BYTES // (4 * floats))
    if words[ROWS] > 1 or words[WO] <= 2 * most:
        return
    words[SPANS] = -(-words[WO] // most)
    words[SPAN] = -(-words[WO] // words[SPANS])
    words[PADDED] = (words[SPAN] - 1) * words[SX] + reach_x


class Forward:
    """Plan of a forward convolution, or (``flipped``) of an input gradient at stride 1.

    ``c`` and ``o`` are channels of one group of this convolution; x_channels and y_channels those
    of the whole arrays it reads and writes.
    """

    def __init__(
        self, n, c, image, o, kernel, stride, padding, dilation, flipped, x_channels, y_channels
    ):
        pixels = image[0] * image[1]
        one = kernel == (1, 1) and stride == (1, 1) and padding == (0, 0)
        if one and image[1] < 2 * MAX_ROWS and pixels < 512:
            image = (1, pixels)  # small maps of a 1x1 convolution: one long row fills the tiles
        words = geometry(n, c, image, o, kernel, stride, padding, dilation)
        words[X_IMAGE] = 4 * x_channels * pixels
        words[Y_IMAGE] = 4 * y_channels * words[HO] * words[WO]
        divide_rows(words)
        self.table = self._segments(words)
        words[TABLE] = self.table.ctypes.data
        lengths = words[WO] // words[SPANS], -(-words[WO] // words[SPANS])
        words[TILE], words[LAST_TILE] = mk.need_both(mk.ROWS, mk.NARROW_ROWS, o, *lengths)
        if words[WO] == GROUP and GROUPS_FIT:
            words[TILE_GROUPS] = mk.group_tile()
        items = n * words[BLOCKS] * words[SPANS]
        words[PANEL_GROUPS] = min(words[PANELS], max(1, -(-ITEMS // items)))
        items *= words[PANEL_GROUPS]
        work = n * words[HO] * words[WO] * o * c * kernel[0] * kernel[1]
        self.plan = threads.plan(forward_kernel.address(), items, 1 if work > SMALL_WORK else items,
                                 words)  # fmt: skip
        self.pack, self.packed_words = weight_packing(words, flipped)
        self.epilogues = "light" if c * kernel[0] * kernel[1] >= mk.FINISHES_FROM else "none"

    @staticmethod
    def _segments(words):
        """Taps as (offset in block, offset in packed panel); a kernel row is one segment when its
        pixels are dense."""
        row_bytes = 4 * words[CS] * words[PADDED]
        across = 1 if words[CS] == words[C] and words[DX] == 1 else words[KW]
        words[SEGMENTS] = words[KH] * across
        table = [
            (
                ky * words[DY] * row_bytes + kx * words[DX] * 4 * words[CS],
                4 * PANEL * words[C] * (ky * words[KW] + kx),
            )
            for ky in range(words[KH])
            for kx in range(across)
        ]
        return np.array(table, np.int64)

    def run(self, x, w, y, bias, epilogue=None):
        """Write the convolution of x and w, plus bias (or None), into y, the epilogue behind it."""
        self.run_packed(x, self.packed(w), w, y, bias, epilogue)

    def packed(self, w):
        """The weights as kernels read them."""
        packed = np.empty(self.packed_words, np.float32)
        threads.run(self.pack, None, w, packed)
        return packed

    def run_packed(self, x, packed, w, y, bias, epilogue=None):
        """:meth:`run` with weights that have been packed before."""
        threads.run(self.plan, x, packed, y, bias, None if epilogue is None else epilogue.table)


def weight_packing(words, flipped):
    """The plan that packs weights for convolution ``words``, and the floats it needs.

    ``flipped``: the weights are those of the forward convolution whose input gradient this is.
    """
    own = list(words)
    taps = words[KH] * words[KW]
    grain = 1 if words[O] * words[C] * taps > 16384 else words[PANELS]
    code = pack_weights.address()
    if flipped:
        own[O], own[C], own[FLIPPED] = words[C], words[O], 1
        code = pack_weights_transposed.address()
    floats = words[PANELS] * PANEL * words[C] * taps
    return threads.plan(code, words[PANELS], grain, own), floats


class InputGradient:
    """Plan of an input gradient for any stride, dilation 1, padding smaller than the kernel."""

    def __init__(self, n, c, image, o, kernel, stride, padding, groups):
        words = geometry(n, c, image, o, kernel, stride, padding, (1, 1))
        words[CS], words[PANELS] = channel_stride(o), -(-c // PANEL)
        (sy, sx), (height, width) = stride, image
        row_bytes = 4 * words[CS] * (width // sx + kernel[1]) + 4 * PANEL * width * sy
        words[ROWS] = min(height, max(sy, BLOCK_BYTES // row_bytes * sy))
        words[BLOCKS] = -(-height // words[ROWS])
        words[X_IMAGE] = 4 * o * groups * words[HO] * words[WO]
        words[Y_IMAGE] = 4 * c * groups * height * width
        counts = {max(0, -(-(width - x0) // sx)) for x0 in range(sx)}
        words[TILE], words[LAST_TILE] = mk.need_both(mk.ROWS, mk.NARROW_ROWS, c, *counts)
        items = n * words[BLOCKS]
        words[PANEL_GROUPS] = min(words[PANELS], max(1, -(-ITEMS // items)))
        items *= words[PANEL_GROUPS]
        self.plan = threads.plan(input_gradient_kernel.address(), items, 1, words)
        taps = kernel[0] * kernel[1]
        self.pack = threads.plan(pack_weights_transposed.address(), words[PANELS], 1, words)
        self.packed_words = words[PANELS] * PANEL * o * taps

    def run(self, dy, w, dx, bias=None):
        """Write the gradient into dx; there is no bias (the argument is Forward's)."""
        packed = np.empty(self.packed_words, np.float32)
        threads.run(self.pack, None, w, packed)
        threads.run(self.plan, dy, packed, dx, None)

"""Weight gradients of direct float32 convolution: products of blocks of the input, as
:mod:`.direct` makes them, with panels of the output's gradient, summed in L2.

Import at first need: it imports the compiler.
"""

from __future__ import annotations

from rushlight.kernels.convolution.direct import (
    BLOCK_BYTES,
    BLOCKS,
    CHUNKS,
    CS,
    DX,
    DY,
    HO,
    IMAGES,
    ITEMS,
    KH,
    KW,
    LAST_TILE,
    PADDED,
    PANEL_GROUPS,
    PANELS,
    PART,
    PARTS,
    ROWS,
    SPAN,
    SPANS,
    SX,
    SY,
    TILE,
    WIDTH,
    WO,
    X_IMAGE,
    Y_IMAGE,
    C,
    H,
    N,
    O,
    W,
    X,
    Y,
    divide_rows,
    fit_block,
    geometry,
    load_part,
)
from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.microkernel import (
    MAX_ROWS,
    PANEL,
    START_C,
    START_ZERO,
    TILE_WORDS,
    call_tile,
    split,
    sum_rows,
)
from rushlight.kernels.gemm.transposes import transpose
from rushlight.machine import np, threads
from rushlight.machine.language.functions import array, function, i64, range_kernel, stack
from rushlight.machine.worker_pool import scratch

PARTIAL_BYTES = 560 * 1024  # accumulators of one item
DEEP = 200  # pixels that a block should have, twice that for several taps
FEWEST = 64  # channels of a part


@function
def accumulate_taps(g, words, block, gradient, partial, first_panel, panels, pixel_rows, count):
    """partial[panel][tap][C][PANEL] += block' gradient for every tap and `count` channels."""
    p = array(i64, words)
    pixel = 4 * g[CS]
    row_bytes = pixel * g[PADDED]
    # neighbouring taps of dense pixels are neighbouring rows of A: one product per kernel row
    merged = g[CS] == g[C] and g[DX] == 1 and count == g[C]
    steps = g[KH] if merged else g[KH] * g[KW]
    channels = g[C] * g[KW] if merged else g[C]
    used = channels if merged else count
    for panel in range(panels):
        p[mk.B] = gradient + panel * pixel_rows * 4 * PANEL
        tiles = g[LAST_TILE] if first_panel + panel + 1 == g[PANELS] else g[TILE]
        for step in range(steps):
            tap = step * g[KW] if merged else step
            shift = (tap // g[KW]) * g[DY] * row_bytes + (tap % g[KW]) * g[DX] * pixel
            c = partial + 4 * PANEL * channels * (panel * steps + step)
            for t in range((used + MAX_ROWS - 1) // MAX_ROWS):
                channel, size = split(used, MAX_ROWS, t)
                p[mk.A], p[mk.C] = block + shift + 4 * channel, c + 4 * PANEL * channel
                call_tile(tiles, size, words)


@range_kernel
def weight_gradient_kernel(args, lo, hi, tid):
    """Items: (chunk of images, group of output panels, part of the input's channels); the item's
    accumulators stay in L2."""
    g = array(i64, args)
    pixels, taps, padded = g[HO] * g[WO], g[KH] * g[KW], g[PADDED]
    reach = (g[KH] - 1) * g[DY] + 1
    images_limit, rows_limit, spans = g[IMAGES], g[ROWS], g[SPANS]
    block_bytes = (((rows_limit - 1) * g[SY] + reach) * padded * g[CS] * 4 + 63) // 64 * 64
    group_size = (g[PANELS] + g[PANEL_GROUPS] - 1) // g[PANEL_GROUPS]
    pixel_rows = images_limit * rows_limit * g[SPAN]
    table_bytes = (16 * images_limit * rows_limit + 63) // 64 * 64
    gradient_bytes = group_size * pixel_rows * PANEL * 4
    block = scratch(tid, images_limit * block_bytes + gradient_bytes + table_bytes)
    gradient = block + images_limit * block_bytes
    segments = gradient + gradient_bytes
    table = array(i64, segments)
    words = stack(TILE_WORDS)
    p = array(i64, words)
    p[mk.A_ROW], p[mk.A_K], p[mk.C_ROW], p[mk.COLUMNS] = 4, 4 * g[CS] * g[SX], 4 * PANEL, PANEL
    p[mk.SEGMENTS] = segments
    for item in range(lo, hi):
        part_of_c, rest = item % g[PARTS], item // g[PARTS]
        panel_group, chunk = rest % g[PANEL_GROUPS], rest // g[PANEL_GROUPS]
        first_panel = g[PANELS] * panel_group // g[PANEL_GROUPS]
        last_panel = g[PANELS] * (panel_group + 1) // g[PANEL_GROUPS]
        first_channel, channels = split(g[C], g[PART], part_of_c)
        partial = g[W] + 4 * PANEL * g[C] * taps * (chunk * g[PANELS] + first_panel)
        partial += 4 * PANEL * first_channel
        x = g[X] + 4 * first_channel * g[H] * g[WIDTH]
        p[mk.START] = START_ZERO
        last_image = g[N] * (chunk + 1) // g[CHUNKS]
        for image in range(g[N] * chunk // g[CHUNKS], last_image, images_limit):
            images = min(images_limit, last_image - image)
            for part in range(g[BLOCKS] * spans):
                y0, rows = split(g[HO], rows_limit, part // spans)
                x0, wo = split(g[WO], g[SPAN], part % spans)
                p[mk.DEPTH] = wo
                for i in range(images):
                    load_part(g, x + (image + i) * g[X_IMAGE], channels, y0, rows, x0,
                              block + i * block_bytes)  # fmt: skip
                    for panel in range(first_panel, last_panel):
                        channel = panel * PANEL
                        source = g[Y] + (image + i) * g[Y_IMAGE]
                        source += 4 * (channel * pixels + y0 * g[WO] + x0)
                        position = (panel - first_panel) * pixel_rows + i * rows * wo
                        transpose(source, 4 * pixels, gradient + 4 * PANEL * position, 4 * PANEL,
                                  min(PANEL, g[O] - channel), rows * wo, PANEL)  # fmt: skip
                    for r in range(rows):
                        shift = i * block_bytes + r * g[SY] * padded * 4 * g[CS]
                        table[2 * (i * rows + r)] = shift
                        table[2 * (i * rows + r) + 1] = 4 * PANEL * wo * (i * rows + r)
                p[mk.SEGMENT_COUNT] = images * rows
                panels = last_panel - first_panel
                accumulate_taps(g, words, block, gradient, partial, first_panel, panels, pixel_rows,
                                channels)  # fmt: skip
                p[mk.START] = START_C


@range_kernel
def reduce_kernel(args, lo, hi, tid):
    """Sum the chunks in fixed order and store as [O][C][taps]. Items: (panel, 16 channels)."""
    g = array(i64, args)
    taps, channels, limit = g[KH] * g[KW], g[C], 16
    buffer = scratch(tid, limit * taps * PANEL * 4)
    chunk_bytes = 4 * PANEL * channels * taps * g[PANELS]
    parts = (channels + limit - 1) // limit
    for item in range(lo, hi):
        panel, part = item // parts, item % parts
        first, count = split(channels, limit, part)
        for c in range(count):
            for tap in range(taps):
                source = g[W] + 4 * PANEL * ((panel * taps + tap) * channels + first + c)
                target = buffer + 4 * PANEL * (c * taps + tap)
                sum_rows(target, source, chunk_bytes, g[CHUNKS])
        target = g[Y] + 4 * taps * (panel * PANEL * channels + first)
        valid = min(PANEL, g[O] - panel * PANEL)
        transpose(buffer, 4 * PANEL, target, 4 * taps * channels, count * taps, valid, 0)


class WeightGradient:
    """Plan of a weight gradient."""

    def __init__(self, n, c, image, o, kernel, stride, padding, dilation, groups):
        pixels, taps = image[0] * image[1], kernel[0] * kernel[1]
        words = geometry(n, c, image, o, kernel, stride, padding, dilation)
        words[X_IMAGE] = 4 * c * groups * pixels
        words[Y_IMAGE] = 4 * o * groups * words[HO] * words[WO]
        self._part(words, c)
        part = c // words[PARTS]
        rows = c * kernel[1] if words[CS] == c and dilation[1] == 1 else part
        words[TILE], words[LAST_TILE] = mk.need_both(
            mk.COLUMNS_OF_A, mk.NARROW_COLUMNS_OF_A, o, rows, part, words[PART]
        )
        panel_bytes = 4 * PANEL * words[PART] * taps
        group_size = max(1, min(words[PANELS], PARTIAL_BYTES // panel_bytes))
        words[PANEL_GROUPS] = -(-words[PANELS] // group_size)
        divide_rows(words, min(group_size, words[PANELS]) * PANEL, DEEP)
        words[CHUNKS] = min(n, max(1, ITEMS // (words[PANEL_GROUPS] * words[PARTS])))
        image_bytes = 4 * words[CS] * (image[0] + 2 * padding[0]) * (image[1] + 2 * padding[1])
        words[IMAGES] = 1
        if words[BLOCKS] == 1:
            words[IMAGES] = max(1, min(n // words[CHUNKS], BLOCK_BYTES // image_bytes))
        self.partial_words = words[CHUNKS] * words[PANELS] * PANEL * c * taps
        items = words[CHUNKS] * words[PANEL_GROUPS] * words[PARTS]
        self.plan = threads.plan(weight_gradient_kernel.address(), items, 1, words)
        items = words[PANELS] * -(-c // 16)
        self.reduce = threads.plan(reduce_kernel.address(), items, max(1, items // 8), words)

    @staticmethod
    def _part(words, c):
        """Deal many channels to several items, so that blocks of them have many pixels."""
        deep = DEEP * min(2, words[KH] * words[KW])
        pixels = min(deep, words[N] * words[HO] * words[WO])
        most = max(FEWEST, BLOCK_BYTES // (4 * pixels * words[SY] * words[SX]))
        words[PART] = -(-c // -(-c // most))
        words[PARTS] = -(-c // words[PART])
        if words[PARTS] > 1:
            fit_block(words, words[PART])

    def run(self, x, dy, dw):
        """Write the gradient into dw."""
        partial = np.empty(self.partial_words, np.float32)
        threads.run(self.plan, x, partial, dy)
        threads.run(self.reduce, None, partial, dw)

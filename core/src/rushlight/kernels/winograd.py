"""Winograd F(2x2, 3x3) for stride-1 3x3 float32 convolution: forward, input and weight gradient.

A 4x4 input tile d and 3x3 weights g give a 2x2 output tile A' [(G g G') * (B' d B)] A with 16
multiplications instead of 36 (Lavin and Gray, 2015). The sums over channels turn the products into
16 independent GEMMs [tiles x C] [C x O]. Transforms and GEMMs of some tile rows run as one item in
L2. Root-mean-square error: 1.2 to 3 times that of the direct sum, growing with C; the weight
gradient is as accurate as the direct one. Import at first need: it imports the compiler.
"""

from __future__ import annotations

from rushlight.backends import microkernel as mk
from rushlight.backends import np, threads
from rushlight.backends.kernel_language import Emitted, array, function, i64, range_kernel, stack
from rushlight.backends.kernel_values import counted_loop
from rushlight.backends.microkernel import (
    MAX_ROWS,
    NV,
    PANEL,
    START_C,
    START_ZERO,
    TILE_WORDS,
    VECTOR,
    VL,
    call_tile,
    load_vector,
    pack_rows,
    split,
    store_vector,
    sum_rows,
    transpose,
)
from rushlight.backends.worker_pool import scratch
from rushlight.kernels.direct_convolution import channel_stride, load_rows

BT = [[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]]
G = [[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]]
AT = [[1, 1, 1, 0], [0, 1, -1, -1]]
POINTS = 16  # elements of a transformed tile = number of GEMMs

# Argument words. The first four are given at each call.
X, W, Y, BIAS, N, C, H, WIDTH, O, HO, WO, PY, PX = range(13)  # noqa: E741
TILES_X, TILES_Y, TILE_ROWS, BLOCKS = range(13, 17)
PANELS, PANEL_GROUPS, CS, TILE, CHUNKS, CHANNEL_BLOCKS, IMAGES, FLIPPED = range(17, 25)
WORDS = 26

V_BYTES = 320 * 1024  # transformed input of one item
MIN_TILES = 2 * MAX_ROWS  # enough rows for full register tiles
CHANNEL_BLOCK = 64  # weight gradient: channels of one item
GRADIENT_TILES = 96  # weight gradient: tiles of one pass = depth of its GEMMs
GROUP_PANELS = 4  # weight gradient: output panels of one item
ITEMS = 16


# ---- transforms ----------------------------------------------------------------------------------


def _combine(builder, coefficients, vectors):
    """Sum of coefficient * vector with zeros skipped and ones free."""
    total = None
    for coefficient, vector in zip(coefficients, vectors, strict=True):
        if coefficient == 0:
            continue
        if abs(coefficient) != 1:
            vector = builder.fmul(vector, VECTOR([abs(coefficient)] * VL))
        if total is None:
            total = vector if coefficient > 0 else builder.fneg(vector)
        elif coefficient > 0:
            total = builder.fadd(total, vector)
        else:
            total = builder.fsub(total, vector)
    return total


def _sandwich(name, matrix):
    """target = M source M' for ``vectors`` vectors of channels; elements lie at byte strides."""
    outer, inner = len(matrix), len(matrix[0])

    def emit(b, values):
        source, source_row, source_column, target, target_row, target_column, vectors = values
        with counted_loop(b, vectors) as index:
            shift = b.mul(index, mk.I64(4 * VL))

            def address(base, row_stride, column_stride, i, j):
                offset = b.add(b.mul(row_stride, mk.I64(i)), b.mul(column_stride, mk.I64(j)))
                return b.add(b.add(base, shift), offset)

            d = [
                [
                    load_vector(b, address(source, source_row, source_column, i, j))
                    for j in range(inner)
                ]
                for i in range(inner)
            ]
            half = [
                [_combine(b, row, [d[k][j] for k in range(inner)]) for j in range(inner)]
                for row in matrix
            ]
            for i in range(outer):
                for j in range(outer):
                    value = _combine(b, matrix[j], half[i])
                    store_vector(b, value, address(target, target_row, target_column, i, j))

    return Emitted(name, None, (i64,) * 7, emit)


def _transposed(matrix):
    return [list(column) for column in zip(*matrix, strict=True)]


transform_input = _sandwich("transform_input", BT)  # 4x4 -> 4x4
transform_weights = _sandwich("transform_weights", G)  # 3x3 -> 4x4
transform_output = _sandwich("transform_output", AT)  # 4x4 -> 2x2
transform_gradient = _sandwich("transform_gradient", _transposed(AT))  # 2x2 -> 4x4
transform_weight_gradient = _sandwich("transform_weight_gradient", _transposed(G))  # 4x4 -> 3x3


def _emit_add_row(builder, values):
    """row = row + bias for one pixel of PANEL channels."""
    row, bias = values
    for v in range(NV):
        where = builder.add(row, mk.I64(4 * VL * v))
        addend = load_vector(builder, builder.add(bias, mk.I64(4 * VL * v)))
        store_vector(builder, builder.fadd(load_vector(builder, where), addend), where)


_add_row = Emitted("add_row", None, (i64,) * 2, _emit_add_row)


@function
def transform_block(block, padded, stride, rows, tiles_x, channels, v, v_stride, plane):
    """V[point][tile][channel] of a padded channels-last block; points are ``plane`` bytes apart."""
    vectors = (channels + VL - 1) // VL
    for i in range(rows):
        for j in range(tiles_x):
            source = block + 4 * stride * (2 * i * padded + 2 * j)
            target = v + 4 * v_stride * (i * tiles_x + j)
            transform_input(source, 4 * stride * padded, 4 * stride, target, 4 * plane, plane,
                            vectors)  # fmt: skip


@function
def round_up(value, multiple):
    """The next multiple."""
    return (value + multiple - 1) // multiple * multiple


# ---- forward -------------------------------------------------------------------------------------


@range_kernel
def pack_kernel(args, lo, hi, tid):
    """Panels lo..hi of the weights as U[panel][point][C][PANEL]."""
    g = array(i64, args)
    channels, outputs, row = g[C], g[O], 4 * PANEL
    buffer = scratch(tid, 9 * channels * row)
    for panel in range(lo, hi):
        valid = min(PANEL, outputs - panel * PANEL)
        if g[FLIPPED] != 0:  # input gradient: O and C swap their roles, the taps run backwards
            for c in range(channels):
                source = g[W] + 36 * (c * outputs + panel * PANEL)
                transpose(source, 36, buffer + row * (9 * c + 8), -row, valid, 9, PANEL)
        else:
            source = g[W] + 4 * panel * PANEL * 9 * channels
            transpose(source, 36 * channels, buffer, row, valid, 9 * channels, PANEL)
        target = g[Y] + panel * POINTS * channels * row
        for c in range(channels):
            transform_weights(buffer + 9 * c * row, 3 * row, row, target + c * row,
                              4 * channels * row, channels * row, NV)  # fmt: skip


@function
def store_panel(g, m, plane, tile, bias, image, panel, t0, rows):
    """Inverse transform of M[point][tile][PANEL], bias, and transpose to NCHW."""
    row, tiles_x, wo = 4 * PANEL, g[TILES_X], g[WO]
    width = 2 * tiles_x
    for i in range(rows):
        for j in range(tiles_x):
            target = tile + row * (2 * i * width + 2 * j)
            transform_output(m + row * (i * tiles_x + j), 4 * plane, plane, target, row * width,
                             row, NV)  # fmt: skip
    if g[BIAS] != 0:
        for pixel in range(2 * rows * width):
            _add_row(tile + row * pixel, bias)
    valid = min(PANEL, g[O] - panel * PANEL)
    pixels = g[HO] * wo
    target = g[Y] + 4 * ((image * g[O] + panel * PANEL) * pixels + 2 * t0 * wo)
    height = min(2 * rows, g[HO] - 2 * t0)
    if width == wo:
        transpose(tile, row, target, 4 * pixels, height * width, valid, 0)
    else:
        for y in range(height):
            transpose(tile + row * width * y, row, target + 4 * y * wo, 4 * pixels, wo, valid, 0)


@range_kernel
def forward_kernel(args, lo, hi, tid):
    """Items: (tile rows of one image or some whole small images, group of output panels)."""
    g = array(i64, args)
    row, padded, tiles_x = 4 * PANEL, 2 * g[TILES_X] + 2, g[TILES_X]
    channels, stride, most_rows = g[C], g[CS], g[TILE_ROWS]
    most_tiles = g[IMAGES] * most_rows * tiles_x
    block_bytes = round_up(4 * stride * padded * (2 * most_rows + 2), 64)
    v_bytes, m_bytes = 4 * POINTS * most_tiles * stride, POINTS * most_tiles * row
    tile_bytes = 4 * most_rows * tiles_x * row
    block = scratch(tid, block_bytes + v_bytes + m_bytes + tile_bytes + row)
    v = block + block_bytes
    m = v + v_bytes
    tile = m + m_bytes
    bias = tile + tile_bytes
    words, segment = stack(TILE_WORDS), stack(2)
    array(i64, segment)[0] = 0
    array(i64, segment)[1] = 0
    p = array(i64, words)
    p[mk.A_ROW], p[mk.A_K], p[mk.C_ROW], p[mk.COLUMNS] = 4 * stride, 4, row, PANEL
    p[mk.SEGMENTS], p[mk.SEGMENT_COUNT], p[mk.DEPTH] = segment, 1, channels
    p[mk.START], p[mk.RELU] = START_ZERO, 0
    image_bytes = 4 * channels * g[H] * g[WIDTH]
    for item in range(lo, hi):
        panel_group, rest = item % g[PANEL_GROUPS], item // g[PANEL_GROUPS]
        first_image, part = rest // g[BLOCKS] * g[IMAGES], rest % g[BLOCKS]
        images = min(g[IMAGES], g[N] - first_image)
        t0, rows = split(g[TILES_Y], most_rows, part)
        image_tiles = rows * tiles_x
        tiles = images * image_tiles
        for i in range(images):
            load_rows(g[X] + (first_image + i) * image_bytes, channels, g[H], g[WIDTH],
                      2 * t0 - g[PY], 2 * rows + 2, 1, 1, g[PX], padded, stride, block)  # fmt: skip
            transform_block(block, padded, stride, rows, tiles_x, channels,
                            v + 4 * stride * i * image_tiles, stride,
                            4 * stride * tiles)  # fmt: skip
        first_panel = g[PANELS] * panel_group // g[PANEL_GROUPS]
        for panel in range(first_panel, g[PANELS] * (panel_group + 1) // g[PANEL_GROUPS]):
            for point in range(POINTS):
                p[mk.B] = g[W] + (panel * POINTS + point) * channels * row
                for t in range((tiles + MAX_ROWS - 1) // MAX_ROWS):
                    first, size = split(tiles, MAX_ROWS, t)
                    p[mk.A] = v + 4 * stride * (point * tiles + first)
                    p[mk.C] = m + row * (point * tiles + first)
                    call_tile(g[TILE], size, words)
            if g[BIAS] != 0:
                pack_rows(g[BIAS] + panel * row, row, bias, 1, min(PANEL, g[O] - panel * PANEL))
            for i in range(images):
                store_panel(g, m + row * i * image_tiles, row * tiles, tile, bias,
                            first_image + i, panel, t0, rows)  # fmt: skip


# ---- weight gradient: dW = G' [sum over tiles of (B' d B) * (A dY A')] G -------------------------


@function
def transform_gradient_block(g, image, panel, t0, rows, gradient, z, plane):
    """Z[point][tile][PANEL] of some tile rows of the output gradient, zero beyond its edge."""
    row, width, tiles_x = 4 * PANEL, 2 * g[TILES_X], g[TILES_X]
    valid = min(PANEL, g[O] - panel * PANEL)
    source = g[Y] + 4 * (image * g[O] + panel * PANEL) * g[HO] * g[WO]
    load_rows(source, valid, g[HO], g[WO], 2 * t0, 2 * rows, 1, 1, 0, width, PANEL, gradient)
    for i in range(rows):
        for j in range(tiles_x):
            start = gradient + row * (2 * i * width + 2 * j)
            transform_gradient(start, row * width, row, z + row * (i * tiles_x + j), 4 * plane,
                               plane, NV)  # fmt: skip


@function
def gradient_products(g, words, v, z, tiles, chunk, panel, first_channel, channels):
    """dU[point][channel][PANEL] += V' Z for all points of one panel."""
    p = array(i64, words)
    row = 4 * PANEL
    for point in range(POINTS):
        p[mk.B] = z + point * tiles * row
        position = ((chunk * g[PANELS] + panel) * POINTS + point) * g[C] + first_channel
        for t in range((channels + MAX_ROWS - 1) // MAX_ROWS):
            first, size = split(channels, MAX_ROWS, t)
            p[mk.A] = v + 4 * (point * tiles * CHANNEL_BLOCK + first)
            p[mk.C] = g[W] + row * (position + first)
            call_tile(g[TILE], size, words)


@range_kernel
def weight_gradient_kernel(args, lo, hi, tid):
    """Items: (chunk of images, block of input channels, group of output panels)."""
    g = array(i64, args)
    row, tiles_x, padded = 4 * PANEL, g[TILES_X], 2 * g[TILES_X] + 2
    most_tiles = g[IMAGES] * g[TILE_ROWS] * tiles_x
    block_bytes = round_up(4 * CHANNEL_BLOCK * padded * (2 * g[TILE_ROWS] + 2), 64)
    v_bytes, z_bytes = 4 * POINTS * most_tiles * CHANNEL_BLOCK, POINTS * most_tiles * row
    block = scratch(tid, block_bytes + v_bytes + z_bytes + 4 * most_tiles * row)
    v = block + block_bytes
    z = v + v_bytes
    gradient = z + z_bytes
    words, segment = stack(TILE_WORDS), stack(2)
    array(i64, segment)[0] = 0
    array(i64, segment)[1] = 0
    p = array(i64, words)
    p[mk.A_ROW], p[mk.A_K], p[mk.C_ROW], p[mk.COLUMNS] = 4, 4 * CHANNEL_BLOCK, row, PANEL
    p[mk.SEGMENTS], p[mk.SEGMENT_COUNT], p[mk.RELU] = segment, 1, 0
    for item in range(lo, hi):
        panel_group, rest = item % g[PANEL_GROUPS], item // g[PANEL_GROUPS]
        chunk, channel_block = rest // g[CHANNEL_BLOCKS], rest % g[CHANNEL_BLOCKS]
        first_channel = channel_block * CHANNEL_BLOCK
        channels = min(CHANNEL_BLOCK, g[C] - first_channel)
        first_panel = panel_group * GROUP_PANELS
        last_panel = min((panel_group + 1) * GROUP_PANELS, g[PANELS])
        p[mk.START] = START_ZERO
        last_image = g[N] * (chunk + 1) // g[CHUNKS]
        for image in range(g[N] * chunk // g[CHUNKS], last_image, g[IMAGES]):
            images = min(g[IMAGES], last_image - image)
            for part in range(g[BLOCKS]):
                t0, rows = split(g[TILES_Y], g[TILE_ROWS], part)
                image_tiles = rows * tiles_x
                tiles = images * image_tiles
                for i in range(images):
                    source = g[X] + 4 * ((image + i) * g[C] + first_channel) * g[H] * g[WIDTH]
                    load_rows(source, channels, g[H], g[WIDTH], 2 * t0 - g[PY], 2 * rows + 2, 1,
                              1, g[PX], padded, CHANNEL_BLOCK, block)  # fmt: skip
                    transform_block(block, padded, CHANNEL_BLOCK, rows, tiles_x, channels,
                                    v + 4 * CHANNEL_BLOCK * i * image_tiles, CHANNEL_BLOCK,
                                    4 * CHANNEL_BLOCK * tiles)  # fmt: skip
                p[mk.DEPTH] = tiles
                for panel in range(first_panel, last_panel):
                    for i in range(images):
                        transform_gradient_block(g, image + i, panel, t0, rows, gradient,
                                                 z + row * i * image_tiles,
                                                 row * tiles)  # fmt: skip
                    gradient_products(g, words, v, z, tiles, chunk, panel, first_channel, channels)
                p[mk.START] = START_C


@range_kernel
def reduce_kernel(args, lo, hi, tid):
    """Sum the chunks in fixed order, transform 4x4 -> 3x3, store as [O][C][3][3].

    Items: (panel, block of 16 channels).
    """
    g = array(i64, args)
    row, channels, limit = 4 * PANEL, g[C], 16
    summed = scratch(tid, limit * (POINTS + 9) * row)
    result = summed + limit * POINTS * row
    parts = (channels + limit - 1) // limit
    for item in range(lo, hi):
        panel, part = item // parts, item % parts
        first, count = split(channels, limit, part)
        for c in range(count):
            for point in range(POINTS):
                source = g[W] + row * ((panel * POINTS + point) * channels + first + c)
                chunk_bytes = row * channels * POINTS * g[PANELS]
                sum_rows(summed + row * point, source, chunk_bytes, g[CHUNKS])
            target = result + 9 * c * row
            transform_weight_gradient(summed, 4 * row, row, target, 3 * row, row, NV)
        target = g[Y] + 36 * (panel * PANEL * channels + first)
        valid = min(PANEL, g[O] - panel * PANEL)
        transpose(result, row, target, 36 * channels, 9 * count, valid, 0)


# ---- plans ---------------------------------------------------------------------------------------


def _geometry(n, c, image, o, padding):
    words = [0] * WORDS
    words[N], words[C], words[O] = n, c, o
    (words[H], words[WIDTH]), (words[PY], words[PX]) = image, padding
    words[HO], words[WO] = image[0] + 2 * padding[0] - 2, image[1] + 2 * padding[1] - 2
    words[TILES_Y], words[TILES_X] = -(-words[HO] // 2), -(-words[WO] // 2)
    words[PANELS] = -(-o // PANEL)
    words[IMAGES] = 1
    return words


def _set_blocks(words, rows):
    words[TILE_ROWS] = min(words[TILES_Y], rows)
    words[BLOCKS] = -(-words[TILES_Y] // words[TILE_ROWS])


def _split_sizes(total, limit):
    parts = -(-total // limit)
    return {total // parts, -(-total // parts)}


class Forward:
    """Plan of a forward convolution, or (``flipped``) of an input gradient."""

    def __init__(self, n, c, image, o, padding, flipped):
        words = _geometry(n, c, image, o, padding)
        words[CS] = stride = channel_stride(-(-c // VL) * VL)
        words[FLIPPED] = flipped
        tiles_x = words[TILES_X]
        rows = max(V_BYTES // (4 * POINTS * stride * tiles_x), -(-MIN_TILES // tiles_x))
        _set_blocks(words, rows)
        image_tiles = words[TILES_Y] * tiles_x
        if words[BLOCKS] == 1:  # small images share an item: the GEMMs need rows
            most = min(2 * MIN_TILES, 2 * V_BYTES // (4 * POINTS * stride))
            words[IMAGES] = max(1, min(n, most // image_tiles))
        groups = -(-n // words[IMAGES])
        images = {words[IMAGES], n - (groups - 1) * words[IMAGES]}
        sizes = _split_sizes(words[TILES_Y], words[TILE_ROWS])
        words[TILE] = mk.ROWS.need(*{i * rows * tiles_x for i in images for rows in sizes})
        items = groups * words[BLOCKS]
        words[PANEL_GROUPS] = min(words[PANELS], max(1, -(-ITEMS // items)))
        self.pack = threads.plan(pack_kernel.address(), words[PANELS], 1, words)
        items *= words[PANEL_GROUPS]
        self.plan = threads.plan(forward_kernel.address(), items, 1, words)
        self.packed_words = words[PANELS] * POINTS * c * PANEL

    def run(self, x, w, y, bias):
        """Write the convolution of x and w, plus bias (or None), into y."""
        packed = np.empty(self.packed_words, np.float32)
        threads.run(self.pack, None, w, packed)
        threads.run(self.plan, x, packed, y, bias)


class WeightGradient:
    """Plan of a weight gradient."""

    def __init__(self, n, c, image, o, padding):
        words = _geometry(n, c, image, o, padding)
        _set_blocks(words, max(1, GRADIENT_TILES // words[TILES_X]))
        words[CHANNEL_BLOCKS] = -(-c // CHANNEL_BLOCK)
        words[PANEL_GROUPS] = -(-words[PANELS] // GROUP_PANELS)
        groups = words[CHANNEL_BLOCKS] * words[PANEL_GROUPS]
        words[CHUNKS] = min(-(-n // 2), max(1, ITEMS // groups))
        if words[BLOCKS] == 1:
            most = GRADIENT_TILES // (words[TILES_Y] * words[TILES_X])
            words[IMAGES] = max(1, min(n // words[CHUNKS], most))
        blocks = {CHANNEL_BLOCK, c - (words[CHANNEL_BLOCKS] - 1) * CHANNEL_BLOCK}
        words[TILE] = mk.COLUMNS_OF_A.need(*{min(c, block) for block in blocks})
        self.partial_words = words[CHUNKS] * words[PANELS] * POINTS * c * PANEL
        items = words[CHUNKS] * groups
        self.plan = threads.plan(weight_gradient_kernel.address(), items, 1, words)
        items = words[PANELS] * -(-c // 16)
        self.reduce = threads.plan(reduce_kernel.address(), items, max(1, items // 8), words)

    def run(self, x, dy, dw):
        """Write the gradient into dw."""
        partial = np.empty(self.partial_words, np.float32)
        threads.run(self.plan, x, partial, dy)
        threads.run(self.reduce, None, partial, dw)

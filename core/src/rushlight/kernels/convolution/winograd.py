"""Winograd F(4x4, 3x3) and F(2x2, 3x3) for stride-1 3x3 float32 convolution: all three passes.

A tile d of R + 2 by R + 2 inputs and 3x3 weights g give R by R outputs A' [(G g G') * (B' d B)] A
with (R + 2)^2 multiplications instead of 9 R^2: 2.25 an output for R = 4, 4 for R = 2, 9 for the
sum itself (Lavin and Gray, 2015; the matrices: :mod:`winograd_transforms`). The sums over channels
turn the products into (R + 2)^2 independent GEMMs [tiles x C] [C x O]. Transforms and GEMMs of some
tile rows run as one item in L2. Root-mean-square error: 2.3 to 3.4 times PyTorch's for R = 4, about
the same for R = 2; of the weight gradient 0.7 to 1.8 times. Import at first need: it imports the
compiler.
"""

from __future__ import annotations

from rushlight.kernels.convolution.direct import channel_stride, load_rows
from rushlight.kernels.convolution.winograd_transforms import (
    outputs,
    transform_gradient,
    transform_input,
    transform_output,
    transform_weight_gradient,
    transform_weights,
)
from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.epilogue_emitters import finish
from rushlight.kernels.gemm.microkernel import (
    MAX_ROWS,
    NV,
    PANEL,
    START_C,
    START_ZERO,
    TILE_WORDS,
    VL,
    TileTable,
    call_tile,
    load_vector,
    pack_rows,
    split,
    store_vector,
    sum_rows,
)
from rushlight.kernels.gemm.transposes import transpose
from rushlight.machine import np, threads
from rushlight.machine.language.functions import (
    Emitted,
    array,
    f32,
    function,
    i64,
    range_kernel,
    stack,
)
from rushlight.machine.worker_pool import scratch

# Argument words. The first five are given at each call, EPILOGUE where there is one; ENDLESS is
# where a pass says that some results are not finite.
X, W, Y, BIAS, ENDLESS, EPILOGUE, N, C, H, WIDTH, O, HO, WO, PY, PX = range(15)  # noqa: E741
TILES_X, TILES_Y, TILE_ROWS, BLOCKS = range(15, 19)
PANELS, PANEL_GROUPS, CS, TILE, CHUNKS, CHANNEL_BLOCKS, IMAGES, FLIPPED, PACKED = range(19, 28)
PREPARED = 28
WORDS = 29

V_BYTES = 320 * 1024  # transformed input of one item
MIN_TILES = 2 * MAX_ROWS  # enough rows for full register tiles
CHANNEL_BLOCK = 64  # weight gradient: channels of one item
GRADIENT_BYTES = 900 * 1024  # weight gradient: what the tiles of one pass occupy
GROUP_PANELS = 4  # weight gradient: output panels of one item
ITEMS = 8
TILES = 64  # forward: tiles of an item of whole small images


# Transforms multiply rounding errors: sums are kept shorter than those of other products.
POINT_ROWS, POINT_COLUMNS = TileTable("rows", sum_depth=24), TileTable("columns", sum_depth=64)


# ---- pieces --------------------------------------------------------------------------------------


@function
def edge():
    """Rows and columns of a tile of inputs."""
    return i64(outputs) + 2


@function
def points():
    """Elements of a transformed tile = number of products of matrices."""
    return edge() * edge()


@function
def apart(size):
    """The next odd number of cache lines, so that the points of a tile share no cache sets."""
    return (size + 63) // 128 * 128 + 64


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
            source = block + 4 * stride * outputs * (i * padded + j)
            target = v + 4 * v_stride * (i * tiles_x + j)
            transform_input(source, 4 * stride * padded, 4 * stride, target, edge() * plane, plane,
                            vectors)  # fmt: skip


@function
def round_up(value, multiple):
    """The next multiple."""
    return (value + multiple - 1) // multiple * multiple


# ---- forward -------------------------------------------------------------------------------------


@function
def pack_panel(g, weights, panel, buffer, target):
    """One panel of the weights as U[point][C][PANEL]."""
    channels, count, row = g[C], g[O], 4 * PANEL
    valid = min(PANEL, count - panel * PANEL)
    if g[FLIPPED] != 0:  # input gradient: O and C swap their roles, the taps run backwards
        for c in range(channels):
            source = weights + 36 * (c * count + panel * PANEL)
            transpose(source, 36, buffer + row * (9 * c + 8), -row, valid, 9, PANEL)
    else:
        source = weights + 4 * panel * PANEL * 9 * channels
        transpose(source, 36 * channels, buffer, row, valid, 9 * channels, PANEL)
    for c in range(channels):
        transform_weights(buffer + 9 * c * row, 3 * row, row, target + c * row,
                          edge() * channels * row, channels * row, NV)  # fmt: skip


@range_kernel
def pack_kernel(args, lo, hi, tid):
    """Panels lo..hi of the weights W into Y, one behind the other."""
    g = array(i64, args)
    row = 4 * PANEL
    buffer = scratch(tid, 9 * g[C] * row)
    for panel in range(lo, hi):
        pack_panel(g, g[W], panel, buffer, g[Y] + panel * points() * g[C] * row)


@function
def clear_seen(seen):
    """Nothing that is not finite has been seen."""
    for i in range(VL):
        array(f32, seen)[i] = 0


@function
def say_endless(g, seen):
    """Say so if something has."""
    finite = i64(0)
    for i in range(VL):
        if array(f32, seen)[i] == f32(0):
            finite += 1
    if finite < VL:
        array(i64, g[ENDLESS])[0] = 1


@function
def store_panel(g, m, plane, tile, bias, seen, image, panel, t0, rows):
    """Inverse transform of M[point][tile][PANEL], bias, epilogue, and transpose to NCHW."""
    row, tiles_x, wo = 4 * PANEL, g[TILES_X], g[WO]
    width = outputs * tiles_x
    for i in range(rows):
        for j in range(tiles_x):
            target = tile + row * outputs * (i * width + j)
            transform_output(m + row * (i * tiles_x + j), edge() * plane, plane, target,
                             row * width, row, NV, seen)  # fmt: skip
    if g[BIAS] != 0:
        for pixel in range(outputs * rows * width):
            _add_row(tile + row * pixel, bias)
    finish(g[EPILOGUE], tile, outputs * rows * width * PANEL)
    valid = min(PANEL, g[O] - panel * PANEL)
    pixels = g[HO] * wo
    target = g[Y] + 4 * ((image * g[O] + panel * PANEL) * pixels + outputs * t0 * wo)
    height = min(outputs * rows, g[HO] - outputs * t0)
    if width == wo:
        transpose(tile, row, target, 4 * pixels, height * width, valid, 0)
    else:
        for y in range(height):
            transpose(tile + row * width * y, row, target + 4 * y * wo, 4 * pixels, wo, valid, 0)


@function
def sizes(g):
    """Bytes of an item: its block of inputs, V and M."""
    row, channels, most_rows, tiles_x = 4 * PANEL, 4 * g[CS], g[TILE_ROWS], g[TILES_X]
    most_tiles = g[IMAGES] * most_rows * tiles_x
    block = channels * (outputs * tiles_x + 2) * (outputs * most_rows + 2)
    v, m = points() * apart(channels * most_tiles), points() * apart(row * most_tiles)
    return round_up(block, 64), v, m


@function
def item_of(g, rest):
    """First image, images, first tile row, tile rows."""
    first_image = rest // g[BLOCKS] * g[IMAGES]
    t0, rows = split(g[TILES_Y], g[TILE_ROWS], rest % g[BLOCKS])
    return first_image, min(g[IMAGES], g[N] - first_image), t0, rows


@function
def transform_item(g, rest, block, v):
    """V[point][tile][channel] of one item."""
    padded, tiles_x, channels, stride = outputs * g[TILES_X] + 2, g[TILES_X], g[C], g[CS]
    first_image, images, t0, rows = item_of(g, rest)
    image_tiles = rows * tiles_x
    plane = apart(4 * stride * images * image_tiles)
    image_bytes = 4 * channels * g[H] * g[WIDTH]
    for i in range(images):
        load_rows(g[X] + (first_image + i) * image_bytes, channels, g[H], g[WIDTH],
                  outputs * t0 - g[PY], outputs * rows + 2, 1, 1, g[PX], padded, stride,
                  block)  # fmt: skip
        transform_block(block, padded, stride, rows, tiles_x, channels,
                        v + 4 * stride * i * image_tiles, stride, plane)  # fmt: skip


@range_kernel
def transform_kernel(args, lo, hi, tid):
    """V of items lo..hi into Y, one behind the other."""
    g = array(i64, args)
    block_bytes, v_bytes, m_bytes = sizes(g)
    block = scratch(tid, block_bytes)
    for item in range(lo, hi):
        transform_item(g, item, block, g[Y] + item * v_bytes)


@function
def multiply_item(g, words, panel_group, weights, v, tiles, m, panel_bytes):
    """M[panel][point][tile][PANEL] = V U of the panels of a group."""
    p = array(i64, words)
    row, channels = 4 * PANEL, g[C]
    v_plane, m_plane = apart(4 * g[CS] * tiles), apart(row * tiles)
    first_panel = g[PANELS] * panel_group // g[PANEL_GROUPS]
    last_panel = g[PANELS] * (panel_group + 1) // g[PANEL_GROUPS]
    for point in range(points()):
        for panel in range(first_panel, last_panel):
            target = m + (panel - first_panel) * panel_bytes + point * m_plane
            p[mk.B] = weights + ((panel - first_panel) * points() + point) * channels * row
            for t in range((tiles + MAX_ROWS - 1) // MAX_ROWS):
                first, size = split(tiles, MAX_ROWS, t)
                p[mk.A] = v + point * v_plane + 4 * g[CS] * first
                p[mk.C] = target + row * first
                call_tile(g[TILE], size, words)


@range_kernel
def forward_kernel(args, lo, hi, tid):
    """Items: (tile rows of one image or some whole small images, group of output panels).

    With more than one group X is what ``transform_kernel`` made of the images, and with one part of
    the images, W is the weights as they are, packed by the only item that needs them.
    """
    g = array(i64, args)
    row, channels = 4 * PANEL, g[C]
    block_bytes, v_bytes, panel_bytes = sizes(g)
    panels = (g[PANELS] + g[PANEL_GROUPS] - 1) // g[PANEL_GROUPS]
    m_bytes = max(panel_bytes * panels, block_bytes)  # M begins where the block was
    tile_bytes = outputs * outputs * g[TILE_ROWS] * g[TILES_X] * row
    prepared, packed = g[PREPARED] != 0, g[PACKED] != 0
    u_bytes = points() * channels * row
    own_bytes = 0 if packed else panels * u_bytes + 9 * channels * row
    m = scratch(tid, m_bytes + tile_bytes + row + own_bytes + (0 if prepared else v_bytes))
    tile = m + m_bytes
    bias = tile + tile_bytes
    own = bias + row
    v = own + own_bytes
    words, segment, seen = stack(TILE_WORDS), stack(2), stack(VL)
    clear_seen(seen)
    array(i64, segment)[0] = 0
    array(i64, segment)[1] = 0
    p = array(i64, words)
    p[mk.SEGMENTS], p[mk.SEGMENT_COUNT] = segment, 1
    p[mk.A_ROW], p[mk.A_K], p[mk.C_ROW], p[mk.COLUMNS] = 4 * g[CS], 4, row, PANEL
    p[mk.DEPTH], p[mk.START] = channels, START_ZERO
    for item in range(lo, hi):
        panel_group, rest = item % g[PANEL_GROUPS], item // g[PANEL_GROUPS]
        first_image, images, t0, rows = item_of(g, rest)
        tiles = images * rows * g[TILES_X]
        if prepared:
            v = g[X] + rest * v_bytes
        else:
            transform_item(g, rest, m, v)
        first_panel = g[PANELS] * panel_group // g[PANEL_GROUPS]
        last_panel = g[PANELS] * (panel_group + 1) // g[PANEL_GROUPS]
        weights = g[W] + first_panel * u_bytes
        if not packed:
            weights = own
            for panel in range(first_panel, last_panel):
                pack_panel(g, g[W], panel, own + panels * u_bytes,
                           own + (panel - first_panel) * u_bytes)  # fmt: skip
        multiply_item(g, words, panel_group, weights, v, tiles, m, panel_bytes)
        for panel in range(first_panel, last_panel):
            if g[BIAS] != 0:
                pack_rows(g[BIAS] + panel * row, row, bias, 1, min(PANEL, g[O] - panel * PANEL))
            source = m + (panel - first_panel) * panel_bytes
            for i in range(images):
                store_panel(g, source + row * i * rows * g[TILES_X], apart(row * tiles), tile,
                            bias, seen, first_image + i, panel, t0, rows)  # fmt: skip
    say_endless(g, seen)


# ---- weight gradient: dW = G' [sum over tiles of (B' d B) * (A dY A')] G -------------------------


@function
def transform_gradient_block(g, image, panel, t0, rows, gradient, z, plane):
    """Z[point][tile][PANEL] of some tile rows of the output gradient, zero beyond its edge."""
    row, width, tiles_x = 4 * PANEL, outputs * g[TILES_X], g[TILES_X]
    valid = min(PANEL, g[O] - panel * PANEL)
    source = g[Y] + 4 * (image * g[O] + panel * PANEL) * g[HO] * g[WO]
    load_rows(source, valid, g[HO], g[WO], outputs * t0, outputs * rows, 1, 1, 0, width, PANEL,
              gradient)  # fmt: skip
    for i in range(rows):
        for j in range(tiles_x):
            start = gradient + row * outputs * (i * width + j)
            transform_gradient(start, row * width, row, z + row * (i * tiles_x + j),
                               edge() * plane, plane, NV)  # fmt: skip


@function
def gradient_products(g, words, v, v_plane, z, z_plane, du, point_bytes, channels):
    """dU[point][channel][PANEL] += V' Z for all points of one panel."""
    p = array(i64, words)
    row = 4 * PANEL
    for point in range(points()):
        p[mk.B] = z + point * z_plane
        for t in range((channels + MAX_ROWS - 1) // MAX_ROWS):
            first, size = split(channels, MAX_ROWS, t)
            p[mk.A] = v + point * v_plane + 4 * first
            p[mk.C] = du + point * point_bytes + row * first
            call_tile(g[TILE], size, words)


@function
def store_gradient(g, dw, panel, du, point_bytes, chunk_bytes, first, count, buffer, seen):
    """Sum the chunks in fixed order, transform points -> 3x3, store as [O][C][3][3].

    ``du`` is where channel ``first``, the first of ``count`` channels, begins.
    """
    row, limit = 4 * PANEL, 16
    result = buffer + points() * row
    for part in range((count + limit - 1) // limit):
        start, some = split(count, limit, part)
        for c in range(some):
            for point in range(points()):
                source = du + point * point_bytes + row * (start + c)
                sum_rows(buffer + row * point, source, chunk_bytes, g[CHUNKS])
            target = result + 9 * c * row
            transform_weight_gradient(buffer, edge() * row, row, target, 3 * row, row, NV, seen)
        target = dw + 36 * (panel * PANEL * g[C] + first + start)
        valid = min(PANEL, g[O] - panel * PANEL)
        transpose(result, row, target, 36 * g[C], 9 * some, valid, 0)


@function
def gradient_chunk(g, words, chunk, first_channel, channels, first_panel, last_panel, block, v, z,
                   gradient, du, point_bytes, panel_bytes):  # fmt: skip
    """dU of some panels and channels over the images of a chunk."""
    p = array(i64, words)
    row, v_row, padded = 4 * PANEL, 4 * CHANNEL_BLOCK, outputs * g[TILES_X] + 2
    p[mk.START] = START_ZERO
    last_image = g[N] * (chunk + 1) // g[CHUNKS]
    for image in range(g[N] * chunk // g[CHUNKS], last_image, g[IMAGES]):
        images = min(g[IMAGES], last_image - image)
        for part in range(g[BLOCKS]):
            t0, rows = split(g[TILES_Y], g[TILE_ROWS], part)
            image_tiles = rows * g[TILES_X]
            tiles = images * image_tiles
            v_plane, z_plane = apart(v_row * tiles), apart(row * tiles)
            for i in range(images):
                source = g[X] + 4 * ((image + i) * g[C] + first_channel) * g[H] * g[WIDTH]
                load_rows(source, channels, g[H], g[WIDTH], outputs * t0 - g[PY],
                          outputs * rows + 2, 1, 1, g[PX], padded, CHANNEL_BLOCK,
                          block)  # fmt: skip
                transform_block(block, padded, CHANNEL_BLOCK, rows, g[TILES_X], channels,
                                v + v_row * i * image_tiles, CHANNEL_BLOCK,
                                v_plane)  # fmt: skip
            p[mk.DEPTH] = tiles
            for panel in range(first_panel, last_panel):
                for i in range(images):
                    transform_gradient_block(g, image + i, panel, t0, rows, gradient,
                                             z + row * i * image_tiles, z_plane)  # fmt: skip
                gradient_products(g, words, v, v_plane, z, z_plane,
                                  du + (panel - first_panel) * panel_bytes, point_bytes,
                                  channels)  # fmt: skip
            p[mk.START] = START_C


@range_kernel
def weight_gradient_kernel(args, lo, hi, tid):
    """Items: (chunk of images, block of input channels, group of output panels).

    W takes dU[chunk][panel][point][C][PANEL], or with a single chunk the gradient itself.
    """
    g = array(i64, args)
    row, v_row, padded = 4 * PANEL, 4 * CHANNEL_BLOCK, outputs * g[TILES_X] + 2
    most_tiles = g[IMAGES] * g[TILE_ROWS] * g[TILES_X]
    block_bytes = round_up(v_row * padded * (outputs * g[TILE_ROWS] + 2), 64)
    v_bytes, z_bytes = points() * apart(v_row * most_tiles), points() * apart(row * most_tiles)
    gradient_bytes = outputs * outputs * most_tiles * row
    whole = g[CHUNKS] == 1
    point_bytes = row * (CHANNEL_BLOCK if whole else g[C])
    panel_bytes = points() * point_bytes
    own_bytes = GROUP_PANELS * panel_bytes + (points() + 16 * 9) * row if whole else i64(0)
    block = scratch(tid, block_bytes + v_bytes + z_bytes + gradient_bytes + own_bytes)
    v = block + block_bytes
    z = v + v_bytes
    gradient = z + z_bytes
    own = gradient + gradient_bytes
    words, segment, seen = stack(TILE_WORDS), stack(2), stack(VL)
    clear_seen(seen)
    array(i64, segment)[0] = 0
    array(i64, segment)[1] = 0
    p = array(i64, words)
    p[mk.SEGMENTS], p[mk.SEGMENT_COUNT] = segment, 1
    p[mk.A_ROW], p[mk.A_K], p[mk.C_ROW], p[mk.COLUMNS] = 4, v_row, row, PANEL
    for item in range(lo, hi):
        panel_group, rest = item % g[PANEL_GROUPS], item // g[PANEL_GROUPS]
        chunk, channel_block = rest // g[CHANNEL_BLOCKS], rest % g[CHANNEL_BLOCKS]
        first_channel = channel_block * CHANNEL_BLOCK
        channels = min(CHANNEL_BLOCK, g[C] - first_channel)
        first_panel = panel_group * GROUP_PANELS
        last_panel = min((panel_group + 1) * GROUP_PANELS, g[PANELS])
        position = (chunk * g[PANELS] + first_panel) * panel_bytes + row * first_channel
        du = own if whole else g[W] + position
        gradient_chunk(g, words, chunk, first_channel, channels, first_panel, last_panel, block, v,
                       z, gradient, du, point_bytes, panel_bytes)  # fmt: skip
        if whole:
            for panel in range(first_panel, last_panel):
                store_gradient(g, g[W], panel, own + (panel - first_panel) * panel_bytes,
                               point_bytes, 0, first_channel, channels,
                               own + GROUP_PANELS * panel_bytes, seen)  # fmt: skip
    say_endless(g, seen)


@range_kernel
def reduce_kernel(args, lo, hi, tid):
    """Items: (panel, block of 16 channels) of the weights' gradient."""
    g = array(i64, args)
    row, channels = 4 * PANEL, g[C]
    buffer, seen = scratch(tid, (points() + 16 * 9) * row), stack(VL)
    clear_seen(seen)
    parts = (channels + 15) // 16
    panel_bytes = points() * channels * row
    for item in range(lo, hi):
        panel = item // parts
        first, count = split(channels, 16, item % parts)
        store_gradient(g, g[Y], panel, g[W] + panel * panel_bytes + row * first, row * channels,
                       panel_bytes * g[PANELS], first, count, buffer, seen)  # fmt: skip
    say_endless(g, seen)


# ---- plans ---------------------------------------------------------------------------------------


def _geometry(n, c, image, o, padding, size):
    words = [0] * WORDS
    words[N], words[C], words[O] = n, c, o
    (words[H], words[WIDTH]), (words[PY], words[PX]) = image, padding
    words[HO], words[WO] = image[0] + 2 * padding[0] - 2, image[1] + 2 * padding[1] - 2
    words[TILES_Y], words[TILES_X] = -(-words[HO] // size), -(-words[WO] // size)
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
    """Plan of a forward convolution, or (``flipped``) of an input gradient.

    ``size``: rows and columns of outputs in a tile, 2 or 4. ``direct()`` makes the plan of the sums
    themselves, for results that are not finite: an infinity or NaN would fill its tiles.
    """

    epilogues = "all"

    def __init__(self, n, c, image, o, padding, flipped, size, direct):
        self.direct = direct
        words, count = _geometry(n, c, image, o, padding, size), (size + 2) ** 2
        words[CS] = stride = channel_stride(-(-c // VL) * VL)
        words[FLIPPED] = flipped
        tiles_x = words[TILES_X]
        rows = max(V_BYTES // (4 * count * stride * tiles_x), -(-MIN_TILES // tiles_x))
        _set_blocks(words, rows)
        image_tiles = words[TILES_Y] * tiles_x
        if words[BLOCKS] == 1:  # small images share an item: the GEMMs need rows
            most = max(TILES, V_BYTES // (4 * count * stride))
            groups = -(-n // max(1, min(n, most // image_tiles)))
            words[IMAGES] = -(-n // groups)
        groups = -(-n // words[IMAGES])
        images = {words[IMAGES], n - (groups - 1) * words[IMAGES]}
        sizes = _split_sizes(words[TILES_Y], words[TILE_ROWS])
        words[TILE] = POINT_ROWS.need(*{i * rows * tiles_x for i in images for rows in sizes})
        items = groups * words[BLOCKS]
        words[PANEL_GROUPS] = min(words[PANELS], max(1, -(-ITEMS // items)))
        words[PACKED], words[PREPARED] = items > 1, words[PANEL_GROUPS] > 2
        self.pack = threads.plan(pack_kernel.address(outputs=size), words[PANELS], 1, words)
        items *= words[PANEL_GROUPS]
        self.plan = threads.plan(forward_kernel.address(outputs=size), items, 1, words)
        self.transformed_weights = words[PANELS] * count * c * PANEL
        self.packed_words = self.transformed_weights * words[PACKED]
        self.plan_of_packed = self.plan.copy()
        self.plan_of_packed[-len(words) + PACKED] = 1
        self.transform = None
        if words[PREPARED]:
            items //= words[PANEL_GROUPS]
            self.transform = threads.plan(transform_kernel.address(outputs=size), items, 1, words)
            tiles = words[IMAGES] * words[TILE_ROWS] * tiles_x
            self.transformed_words = items * count * (stride * tiles + 32)

    def run(self, x, w, y, bias, epilogue=None):
        """Write the convolution of x and w, plus bias (or None), into y, the epilogue behind it."""
        if self.packed_words:
            self._run(self.plan, x, self.packed(w), w, y, bias, epilogue)
        else:
            self._run(self.plan, x, w, w, y, bias, epilogue)

    def packed(self, w):
        """The transformed weights as kernels read them."""
        packed = np.empty(self.transformed_weights, np.float32)
        threads.run(self.pack, None, w, packed)
        return packed

    def run_packed(self, x, packed, w, y, bias, epilogue=None):
        """:meth:`run` with weights that have been packed before, whatever this plan does itself."""
        self._run(self.plan_of_packed, x, packed, w, y, bias, epilogue)

    def _run(self, plan, x, packed, w, y, bias, epilogue):
        images, endless = x, np.zeros(1, np.int64)
        if self.transform is not None:
            images = np.empty(self.transformed_words, np.float32)
            threads.run(self.transform, x, None, images)
        table = None if epilogue is None else epilogue.table
        threads.run(plan, images, packed, y, bias, endless, table)
        if endless[0]:
            self.direct().run(x, w, y, bias, epilogue)


class WeightGradient:
    """Plan of a weight gradient; ``size`` and ``direct``: as in :class:`Forward`."""

    def __init__(self, n, c, image, o, padding, size, direct):
        self.direct = direct
        words, count = _geometry(n, c, image, o, padding, size), (size + 2) ** 2
        most = GRADIENT_BYTES // (4 * count * (CHANNEL_BLOCK + PANEL))
        _set_blocks(words, max(1, most // words[TILES_X]))
        words[CHANNEL_BLOCKS] = -(-c // CHANNEL_BLOCK)
        words[PANEL_GROUPS] = -(-words[PANELS] // GROUP_PANELS)
        groups = words[CHANNEL_BLOCKS] * words[PANEL_GROUPS]
        words[CHUNKS] = min(-(-n // 2), max(1, ITEMS // groups))
        if words[BLOCKS] == 1:
            image_tiles = words[TILES_Y] * words[TILES_X]
            words[IMAGES] = max(1, min(n // words[CHUNKS], most // image_tiles))
        blocks = {CHANNEL_BLOCK, c - (words[CHANNEL_BLOCKS] - 1) * CHANNEL_BLOCK}
        words[TILE] = POINT_COLUMNS.need(*{min(c, block) for block in blocks})
        self.chunks = words[CHUNKS]
        self.partial_words = words[CHUNKS] * words[PANELS] * count * c * PANEL
        items = words[CHUNKS] * groups
        code = weight_gradient_kernel.address(outputs=size)
        self.plan = threads.plan(code, items, 1, words)
        items = words[PANELS] * -(-c // 16)
        code = reduce_kernel.address(outputs=size)
        self.reduce = threads.plan(code, items, max(1, items // 8), words)

    def run(self, x, dy, dw):
        """Write the gradient into dw."""
        endless = np.zeros(1, np.int64)
        if self.chunks == 1:
            threads.run(self.plan, x, dw, dy, None, endless)
        else:
            partial = np.empty(self.partial_words, np.float32)
            threads.run(self.plan, x, partial, dy, None, endless)
            threads.run(self.reduce, None, partial, dw, None, endless)
        if endless[0]:
            self.direct().run(x, dy, dw)

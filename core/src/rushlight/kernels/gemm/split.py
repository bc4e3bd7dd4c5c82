"""float32 products on matrix units: operands split into bfloat16 planes, packed and multiplied.

Two launches. The first packs B, all of it, in blocks of 32 columns by 32 steps of k. In the second
an item is a range of rows of A and a group of B's panels; it goes over k in chunks, packs 32 rows
of A at a time (they stay in the first cache) and multiplies them by every panel of the group.
Between chunks C holds the sums. Edges of C go by way of a block in scratch memory.

Values that splitting cannot carry (infinities, NaN, magnitudes near the ends of float32) are found
while packing; rows that meet them are multiplied by the vector units instead, so results have the
same special values as everywhere else. Import at first need: it imports the compiler.
"""

from __future__ import annotations

from rushlight.kernels.convolution.gathered_packing import gather_block
from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.matrix_units import (
    SIDE,
    TILE,
    configure,
    load_block,
    multiply_blocks,
    pack_edge_pairs,
    pack_edge_rows,
    pack_whole_pairs,
    pack_whole_rows,
    planes,
    release,
    round_row,
    store_block,
    transpose_tile,
    zero_block,
)
from rushlight.kernels.gemm.microkernel import TILE_WORDS
from rushlight.kernels.gemm.plans import packs_here
from rushlight.kernels.gemm.tiles import multiply, pack_b, ready_block
from rushlight.machine import np, threads
from rushlight.machine.language.functions import (
    Parameter,
    array,
    f32,
    function,
    i32,
    i64,
    range_kernel,
    stack,
)
from rushlight.machine.memory import empty
from rushlight.machine.worker_pool import scratch

# Argument words. The first nine are given at each call.
A, B, C, BIAS, PACKED_A, PACKED_B, PEAKS_A, PEAKS_B, REFUSED = range(9)
M, N, K, A_ROW, A_K, B_ROW, TRANS_A, TRANS_B, C_ROW = range(9, 18)
START, TILES, GROUP, ROW_PARTS, CHUNK, FIRST_K, A_PACKED, A_PEAK_COUNT, B_PEAK_COUNT = range(18, 27)
# Of convolutions: the columns of C are the pixels of images, and rows have a bias. REFUSED is where
# to say that values cannot be split (0: multiply those rows on the vector units).
PIXELS, IMAGE_BYTES, ROW_BIAS = range(27, 30)
B_HERE = 30  # items pack their panels of B themselves
# How items gather an operand, 0 where it is a matrix. Tables of its lines and steps are then given
# in place of what is packed, and of peaks.
GATHER_A, GATHER_B = 31, 32
WORDS = 33
# Words of a packing job: the first three are given at each call.
SOURCE, TARGET, PEAKS, STRIDE, ALONG_K, TRANSPOSED, LINES, DEPTH, OFFSET = range(9)
PACKING_WORDS = 9

EDGE = SIDE * SIDE * 4  # bytes of a block of C

# What a kernel is compiled for besides its planes: bytes per element, and of a packed block.
size, block_bytes = Parameter("size"), Parameter("block_bytes")


@function
def pack_rows(source, stride, to, peaks, rows, columns):
    """Tiles of 16 rows by 32 steps of k, of which some may not exist."""
    if rows == 16 and columns == SIDE:
        pack_whole_rows(source, stride, to, peaks)
    else:
        pack_edge_rows(source, stride, to, peaks, rows, columns)


@function
def pack_pairs(source, stride, to, peaks, rows, columns):
    """Tiles of 32 steps of k by 16 columns, of which some may not exist."""
    if rows == SIDE and columns == 16:
        pack_whole_pairs(source, stride, to, peaks)
    else:
        pack_edge_pairs(source, stride, to, peaks, rows, columns)


@function
def clear_peaks(peaks):
    """Sixteen largest magnitudes, as float bits: none yet."""
    p = array(i32, peaks)
    for i in range(16):
        p[i] = i32(0)


@function
def largest(peaks):
    """The largest of the sixteen."""
    p = array(i32, peaks)
    found = p[0]
    for i in range(1, 16):
        found = max(found, p[i])
    return i64(found)


@function
def pack_blocks(source, stride, along_k, transposed, lines, depth, target, peaks):
    """Pack up to 32 lines (rows of A, columns of B) of ``depth`` steps of k.

    ``along_k``: k is the dense dimension, lines are ``stride`` apart; otherwise lines are dense.
    """
    for block in range((depth + SIDE - 1) // SIDE):
        steps = min(i64(SIDE), depth - SIDE * block)
        for half in range(2):
            count = min(i64(16), lines - 16 * half)
            to = target + block * block_bytes + half * TILE
            if along_k != 0:
                origin = source + 16 * half * stride + size * SIDE * block
                pack_rows(origin, stride, to, peaks, count, steps)
            else:
                origin = source + SIDE * block * stride + 16 * size * half
                pack_pairs(origin, stride, to, peaks, steps, count)
            if transposed != 0:
                for plane in range(block_bytes // (2 * TILE)):
                    transpose_tile(to + 2 * TILE * plane)


@range_kernel
def pack_kernel(args, lo, hi, tid):
    """Items: 32 lines, all of k, or where lines are dense 32 steps of k and all lines."""
    g = array(i64, args)
    stride, lines, depth = g[STRIDE], g[LINES], g[DEPTH]
    source, target = g[SOURCE] + g[OFFSET], g[TARGET]
    blocks = (depth + SIDE - 1) // SIDE
    peaks = stack(8)
    for item in range(lo, hi):
        clear_peaks(peaks)
        if g[ALONG_K] != 0:
            pack_blocks(source + item * SIDE * stride, stride, g[ALONG_K], g[TRANSPOSED],
                        lines - item * SIDE, depth, target + item * blocks * block_bytes,
                        peaks)  # fmt: skip
        else:
            for panel in range((lines + SIDE - 1) // SIDE):
                pack_blocks(source + item * SIDE * stride + size * SIDE * panel, stride, g[ALONG_K],
                            g[TRANSPOSED], lines - panel * SIDE,
                            min(i64(SIDE), depth - item * SIDE),
                            target + (panel * blocks + item) * block_bytes, peaks)  # fmt: skip
        array(i64, g[PEAKS])[item] = largest(peaks)


@function
def peak_of(peaks, count):
    """The largest magnitude of the packed operand."""
    p = array(i64, peaks)
    found = i64(0)
    for i in range(count):
        found = max(found, p[i])
    return found


@function
def splits(a, b):
    """Whether operands with these largest magnitudes (float bits) may be split.

    Both below 2**127, and their exponents together at least -90: the smallest pieces of products
    near the largest one are then normal numbers.
    """
    small = min(a, b) != 0 and (a >> 23) + (b >> 23) < 254 - 90
    return 0 if max(a, b) >= 0x7F000000 or small else 1


@function
def copy_part(source, source_row, target, target_row, rows, columns):
    """The first rows and columns of a block."""
    for i in range(rows):
        x, y = array(f32, source + i * source_row), array(f32, target + i * target_row)
        for j in range(columns):
            y[j] = x[j]


@function
def add_part(source, source_row, target, target_row, rows, columns):
    """The first rows and columns of a block, added to what is there."""
    for i in range(rows):
        x, y = array(f32, source + i * source_row), array(f32, target + i * target_row)
        for j in range(columns):
            y[j] += x[j]


@function
def begin_block(bias, start, columns, edge):
    """Fill the accumulators with zeros or a row of bias."""
    if start != mk.START_BIAS:
        zero_block()
    elif columns == SIDE:
        load_block(bias, i64(0))
    else:
        copy_part(bias, i64(0), edge, i64(0), i64(1), columns)
        load_block(edge, i64(0))


@function
def end_block(c, c_row, start, rows, columns, edge):
    """Put the accumulators into C, or add them: sums of chunks, so that errors grow slower."""
    if start != mk.START_C and rows == SIDE and columns == SIDE:
        store_block(c, c_row)
    else:
        store_block(edge, i64(4 * SIDE))
        if start == mk.START_C:
            add_part(edge, i64(4 * SIDE), c, c_row, rows, columns)
        else:
            copy_part(edge, i64(4 * SIDE), c, c_row, rows, columns)


@function
def begin_rows(bias, rows, edge):
    """Fill the accumulators with a bias for every row."""
    for i in range(rows):
        line, value = array(f32, edge + 4 * SIDE * i), array(f32, bias)[i]
        for j in range(SIDE):
            line[j] = value
    load_block(edge, i64(4 * SIDE))


@function
def end_pixels(c, c_row, start, rows, column, columns, pixels, image_bytes, edge):
    """Put the accumulators into images, or add them; columns are pixels, counted over images."""
    store_block(edge, i64(4 * SIDE))
    done = i64(0)
    while done < columns:
        image, pixel = (column + done) // pixels, (column + done) % pixels
        run = min(columns - done, pixels - pixel)
        target = c + image * image_bytes + 4 * pixel
        if start == mk.START_C:
            add_part(edge + 4 * done, i64(4 * SIDE), target, c_row, rows, run)
        else:
            copy_part(edge + 4 * done, i64(4 * SIDE), target, c_row, rows, run)
        done += run


@function
def round_block(c, c_row, rows, columns, edge):
    """Put the accumulators into a C of bfloat16."""
    store_block(edge, i64(4 * SIDE))
    for i in range(rows):
        round_row(edge + 4 * SIDE * i, c + i * c_row, columns)


@function
def pack_panels(g, first, last, k, depth, to, panel_bytes, peaks):
    """Some steps of k of the panels of B that an item multiplies; gives the largest magnitude."""
    clear_peaks(peaks)
    stride, along = g[B_ROW], g[TRANS_B]
    start = g[FIRST_K] + k
    if along != 0:  # columns are dense: 32 of them, all steps
        for j in range(first, last):
            pack_blocks(g[B] + SIDE * j * stride + size * start, stride, along, along,
                        g[N] - SIDE * j, depth, to + (j - first) * panel_bytes, peaks)  # fmt: skip
    else:  # rows are: 32 steps, all columns
        for block in range((depth + SIDE - 1) // SIDE):
            source = g[B] + (start + SIDE * block) * stride
            steps = min(i64(SIDE), depth - SIDE * block)
            for j in range(first, last):
                target = to + (j - first) * panel_bytes + block * block_bytes
                pack_blocks(source + size * SIDE * j, stride, along, along, g[N] - SIDE * j, steps,
                            target, peaks)  # fmt: skip
    return largest(peaks)


@function
def gather_panels(g, first, last, k, depth, to, panel_bytes, peaks):
    """:func:`pack_panels` of a B that is gathered."""
    clear_peaks(peaks)
    for block in range((depth + SIDE - 1) // SIDE):
        for j in range(first, last):
            gather_block(g[B], g[PACKED_B], g[PEAKS_B], g[GATHER_B], g[N], g[K], j,
                         k // SIDE + block, to + (j - first) * panel_bytes + block * block_bytes,
                         peaks)  # fmt: skip
    return largest(peaks)


@function
def pack_strip(g, a, row, rows, k, depth, strip, peaks):
    """Some steps of k of 32 rows of A; gives the largest magnitude."""
    clear_peaks(peaks)
    if g[GATHER_A] != 0:
        for block in range((depth + SIDE - 1) // SIDE):
            gather_block(g[A], g[PACKED_A], g[PEAKS_A], g[GATHER_A], g[M], g[K], row // SIDE,
                         k // SIDE + block, strip + block * block_bytes, peaks)  # fmt: skip
    elif g[TRANS_A] != 0:
        pack_blocks(a, g[A_K], i64(0), i64(1), rows, depth, strip, peaks)
    else:
        pack_blocks(a, g[A_ROW], i64(1), i64(0), rows, depth, strip, peaks)
    return largest(peaks)


@range_kernel
def product_kernel(args, lo, hi, tid):
    """Items: groups of panels times parts of the rows."""
    g = array(i64, args)
    m, n, k_total, group_size, row_parts = g[M], g[N], g[K], g[GROUP], g[ROW_PARTS]
    a_row, a_k, c_row, bias, chunk = g[A_ROW], g[A_K], g[C_ROW], g[BIAS], g[CHUNK]
    panels, blocks = (n + SIDE - 1) // SIDE, (k_total + SIDE - 1) // SIDE
    strips = (m + SIDE - 1) // SIDE
    panel_bytes = chunk // SIDE * block_bytes
    own = g[B_HERE] * group_size * panel_bytes
    room = scratch(tid, panel_bytes + EDGE + 4 * SIDE * chunk + own)
    edge = room + panel_bytes
    plain = edge + EDGE
    panels_here = plain + 4 * SIDE * chunk
    space = stack(8)
    block = stack(TILE_WORDS)
    ready_block(block)
    peak_of_a = peak_of(g[PEAKS_A], g[A_PEAK_COUNT])
    peak_of_b = peak_of(g[PEAKS_B], g[B_PEAK_COUNT])
    configure()
    for item in range(lo, hi):
        group, part = item // row_parts, item % row_parts
        first_panel = group * group_size
        last_panel = min(first_panel + group_size, panels)
        for k in range(0, k_total, chunk):
            depth = min(chunk, k_total - k)
            start = i64(mk.START_C) if k > 0 else g[START]
            if start == mk.START_BIAS and bias == 0:
                start = i64(mk.START_ZERO)
            if g[GATHER_B] != 0:
                peak_of_b = gather_panels(g, first_panel, last_panel, k, depth, panels_here,
                                          panel_bytes, space)  # fmt: skip
            elif g[B_HERE] != 0:
                peak_of_b = pack_panels(g, first_panel, last_panel, k, depth, panels_here,
                                        panel_bytes, space)  # fmt: skip
            for s in range(strips * part // row_parts, strips * (part + 1) // row_parts):
                row = s * SIDE
                rows = min(i64(SIDE), m - row)
                a = g[A] + row * a_row + (g[FIRST_K] + k) * a_k
                strip = room
                if g[A_PACKED] != 0:
                    strip = g[PACKED_A] + (s * blocks + k // SIDE) * block_bytes
                else:
                    peak_of_a = pack_strip(g, a, row, rows, k, depth, strip, space)
                fits = i64(1)
                if planes != 0:
                    fits = splits(peak_of_a, peak_of_b)
                for j in range(first_panel, last_panel):
                    column = j * SIDE
                    columns = min(n - column, i64(SIDE))
                    c = g[C] + row * c_row + size * column
                    panel = g[PACKED_B] + (j * blocks + k // SIDE) * block_bytes
                    if g[B_HERE] != 0:
                        panel = panels_here + (j - first_panel) * panel_bytes
                    if fits != 0:
                        if g[ROW_BIAS] != 0 and start == mk.START_BIAS:
                            begin_rows(bias + 4 * row, rows, edge)
                        else:
                            begin_block(bias + 4 * column, start, columns, edge)
                        multiply_blocks(strip, panel, (depth + SIDE - 1) // SIDE)
                        if planes == 0:
                            round_block(c, c_row, rows, columns, edge)
                        elif g[PIXELS] != 0:
                            end_pixels(g[C] + row * c_row, c_row, start, rows, column, columns,
                                       g[PIXELS], g[IMAGE_BYTES], edge)  # fmt: skip
                        else:
                            end_block(c, c_row, start, rows, columns, edge)
                    elif g[REFUSED] != 0:
                        array(i64, g[REFUSED])[0] = 1
                    elif planes != 0:
                        pack_b(g[B], g[B_ROW], g[TRANS_B], g[FIRST_K] + k, depth, column, columns,
                               plain)  # fmt: skip
                        multiply(g[TILES], block, a, a_row, a_k, rows, depth, plain,
                                 depth * SIDE * 4, columns, c, c_row, start,
                                 bias + 4 * column)  # fmt: skip
    release()


# ---- plans ---------------------------------------------------------------------------------------

BYTES = np.dtype(np.uint8)
ITEMS = 16  # parts of a large product
PACKED_LIMIT = 4 << 20  # bytes of packed B (and A, if packed whole) at a time
CHUNK_LIMIT = 24  # blocks of k in a chunk
GROUP_LIMIT = 1200 << 10  # bytes of packed B that stay in the second cache
ALONE_THREADS = 4  # up to which each packs for itself
HERE_ITEMS = 8  # parts of a product whose items pack their own panels of B, at least


def _packing(kind, stride, along_k, transposed, lines, depth, offset):
    words = [0] * PACKING_WORDS
    words[STRIDE], words[ALONG_K], words[TRANSPOSED] = stride, along_k, transposed
    words[LINES], words[DEPTH], words[OFFSET] = lines, depth, offset
    items = -(-(lines if along_k else depth) // SIDE)
    return threads.plan(pack_kernel.address(**kind), items, 1, words), items


def parts_of(total, limit):
    """Size of the fewest nearly equal parts of at most ``limit``."""
    return -(-total // -(-total // max(1, limit)))


def plan_alone(kind, words, sizes, by_rows, count):
    """One job without shared packing for so many threads; None where that does not pay. `sizes`:
    panels, strips, bytes of a panel's chunk."""
    if not kind["planes"] or count > ALONE_THREADS:
        return None
    (panels, strips, chunk_bytes), words = sizes, words.copy()
    parts = min(count, strips) if by_rows else 1
    own = panels if by_rows else -(-panels // count)
    group = parts_of(own, GROUP_LIMIT // chunk_bytes)
    words[GROUP], words[ROW_PARTS], words[B_HERE] = group, parts, 1
    items = -(-panels // group) * parts
    return threads.plan(product_kernel.address(**kind), items, 1, words)


class SplitProduct:
    """How to run one product of float32 matrices (or, with 0 planes, of bfloat16 ones).

    ``a`` and ``b`` are (row stride in bytes, is transposed), ``start`` is START_BIAS or START_C.
    A few threads take a rectangle of C each and pack what they need of both operands: nothing that
    one core has written is read by another. For more of them, operands are packed first, once.
    Sums are cut in the same chunks either way, so that the bits are the same.
    """

    packs_with_items = staticmethod(packs_here)  # whether items pack what they need of B

    __slots__ = ("alone", "bytes_a", "bytes_b", "dtype", "kind", "peaks", "sizes", "steps", "words")

    def __init__(self, m, n, k, a, b, start, planes):
        (a_row, trans_a), (b_row, trans_b) = a, b
        self.dtype = None  # not for callers who ask for a plan of their dtype
        size, block = (4 if planes else 2), max(1, planes) * 2 * TILE
        self.kind = {"planes": planes, "size": size, "block_bytes": block}
        panels, strips, blocks = -(-n // SIDE), -(-m // SIDE), -(-k // SIDE)
        here = self.packs_with_items(m, n, k)
        chunk = parts_of(blocks, CHUNK_LIMIT) if planes else blocks
        if planes and not here:  # passes over k, if packed operands would not stay in the caches
            most = PACKED_LIMIT // (block * chunk * (panels + trans_a * strips))
            blocks = chunk * parts_of(-(-blocks // chunk), most)
        packs_a = trans_a or here
        self.bytes_b = 0 if here else panels * blocks * block
        self.bytes_a = strips * blocks * block if packs_a else 0
        limit = GROUP_LIMIT - (self.bytes_a if here else 0)
        group = parts_of(panels, limit // (chunk * block))
        if here:
            group = min(group, -(-panels // HERE_ITEMS))
        groups = -(-panels // group)
        parts = 1 if here else max(1, min(-(-ITEMS // groups), strips))
        words = [0] * WORDS
        words[M], words[N], words[C_ROW] = m, n, size * n
        words[A_ROW], words[A_K] = (size, a_row) if trans_a else (a_row, size)
        words[B_ROW], words[TRANS_A], words[TRANS_B] = b_row, trans_a, trans_b
        table = mk.COLUMNS_OF_A if trans_a else mk.ROWS
        words[TILES] = table.need(SIDE, (m - 1) % SIDE + 1)
        words[GROUP], words[ROW_PARTS], words[CHUNK] = group, parts, chunk * SIDE
        words[START], words[K] = start, k
        self.sizes, self.words, self.alone = (panels, strips, chunk * block), words, {}
        self._plan_steps(min(blocks * SIDE, k), packs_a, here, groups * parts)

    def _plan_steps(self, depth, packs_a, here, items):
        """Packing and multiplying, for every pass over ``depth`` steps of k."""
        words = self.words.copy()
        m, n, k, size = words[M], words[N], words[K], self.kind["size"]
        trans_a, trans_b, b_row = words[TRANS_A], words[TRANS_B], words[B_ROW]
        a_row = words[A_K] if trans_a else words[A_ROW]
        words[A_PACKED], words[B_HERE] = packs_a, here
        self.peaks, self.steps = 0, []
        for first in range(0, k, depth):
            steps = min(depth, k - first)
            pack_a, pack_b, words[A_PEAK_COUNT], words[B_PEAK_COUNT] = None, None, 0, 0
            if packs_a:
                offset = first * (a_row if trans_a else size)
                pack_a, words[A_PEAK_COUNT] = _packing(
                    self.kind, a_row, not trans_a, trans_a, m, steps, offset
                )
            if not here:
                offset = first * (size if trans_b else b_row)
                pack_b, words[B_PEAK_COUNT] = _packing(
                    self.kind, b_row, trans_b, trans_b, n, steps, offset
                )
            words[K], words[FIRST_K] = steps, first
            words[START] = self.words[START] if first == 0 else mk.START_C
            run = threads.plan(product_kernel.address(**self.kind), items, 1, words)
            self.steps.append((pack_a, pack_b, run))
            self.peaks = max(self.peaks, words[A_PEAK_COUNT], words[B_PEAK_COUNT])

    def _plan_alone(self, count):
        """One job without shared packing for so many threads; None where that does not pay."""
        if self.words[START] == mk.START_C:
            return None
        panels, strips, _ = self.sizes
        return plan_alone(self.kind, self.words, self.sizes, strips >= panels, count)

    def run(self, a, b, out, bias):
        """Write the product (plus a float32 bias, or plus ``out``) into a dense ``out``."""
        count = threads.get_num_threads()
        try:
            alone = self.alone[count]
        except KeyError:
            alone = self.alone[count] = self._plan_alone(count)
        if alone is not None:
            refused = np.zeros(1, np.int64)
            threads.run(alone, a, b, out, bias, None, None, None, None, refused)
            if not refused[0]:
                return
        packed_a, packed_b = empty((self.bytes_a,), BYTES), empty((self.bytes_b,), BYTES)
        peaks_a, peaks_b = np.empty((2, self.peaks), np.int64)
        for for_a, for_b, product in self.steps:
            if for_a is not None:
                threads.run(for_a, a, packed_a, peaks_a)
            if for_b is not None:
                threads.run(for_b, b, packed_b, peaks_b)
            threads.run(product, a, b, out, bias, packed_a, packed_b, peaks_a, peaks_b, None)

"""bfloat16 products of matrices by instructions that add pairs of products.

As in :mod:`rushlight.kernels.gemm.plans` an item is a group of B panels times a range of rows of A,
of one matrix of a batch. Rows of A are read where they are, two neighbours in k as one word; a
transposed A is first copied in such words, and so are the panels of B. Sums are float32, results
are rounded once. This module imports the compiler: import it at first need.
"""

from __future__ import annotations

from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm import pair_tiles
from rushlight.kernels.gemm.microkernel import MAX_ROWS, PANEL, TILE_WORDS, call_tile, split
from rushlight.kernels.gemm.pair_tiles import interleaved
from rushlight.kernels.gemm.transposes import transpose
from rushlight.kernels.launch.execution import chunk
from rushlight.machine import np, threads
from rushlight.machine.language.functions import (
    array,
    function,
    i64,
    range_kernel,
    shared_function,
    stack,
    u16,
    u32,
)
from rushlight.machine.memory import empty
from rushlight.machine.worker_pool import scratch

# Argument words. The first four are given at each call.
A, B, C, BIAS, M, N, PAIRS, A_ROW, A_K, B_ROW, TRANS_B, C_ROW, GROUP, ROW_PARTS = range(14)
TILE, LAST_TILE, MOST, OFFSETS_A, OFFSETS_B, C_MATRIX, BY_ROWS = range(14, 21)
WORDS = 21
# Of the kernel that copies a transposed A.
SOURCE, TARGET, OFFSETS, ROW, COUNT, STEPS = range(6)

L2_BUDGET = 512 * 1024  # bytes of packed B in one item
MAX_PAIRS = 8192  # a panel of this depth takes 1 MB
LEAST_WORK = 20_000  # multiply-adds below which conversions cost less than packing
INLINE_WORK = 200_000  # multiply-adds below which a second thread does not pay
ITEMS = 16  # parts of a large product


@shared_function
def interleave(first, second, target, count):
    """Words of the values of two rows."""
    low, high, words = array(u16, first), array(u16, second), array(u32, target)
    for i in range(count):
        words[i] = u32(low[i]) | (u32(high[i]) << 16)


@shared_function
def interleave_panel(source, row, target, pairs, columns):
    """One panel of a B whose rows are rows of memory."""
    for k in range(pairs):
        first, words = source + 2 * k * row, target + 4 * PANEL * k
        if columns >= PANEL:
            interleaved(first, first + row, words)
        else:
            interleave(first, first + row, words, columns)
            rest = array(u32, words)
            for i in range(columns, PANEL):
                rest[i] = u32(0)


@range_kernel
def transposed_kernel(args, lo, hi, tid):
    """Items are pairs of rows of a batch of transposed matrices A."""
    g = array(i64, args)
    offsets, count, row = array(i64, g[OFFSETS]), g[COUNT], g[ROW]
    for item in range(lo, hi):
        matrix, k = item // g[STEPS], item % g[STEPS]
        source = g[SOURCE] + offsets[matrix] + 2 * k * row
        interleave(source, source + row, g[TARGET] + 4 * item * count, count)


@function
def pack_panels(g, b, first, last, target, panel_bytes):
    """The panels of B that an item multiplies."""
    for j in range(first, last):
        columns = min(PANEL, g[N] - j * PANEL)
        to = target + (j - first) * panel_bytes
        if g[TRANS_B] != 0:
            source = b + j * PANEL * g[B_ROW]
            transpose(source, g[B_ROW], to, PANEL * 4, columns, g[PAIRS], PANEL)
        else:
            interleave_panel(b + 2 * PANEL * j, g[B_ROW], to, g[PAIRS], columns)


@range_kernel
def product_kernel(args, lo, hi, tid):
    """Items: matrices of a batch times groups of panels times parts of the rows."""
    g = array(i64, args)
    m, n, group_size, row_parts, most = g[M], g[N], g[GROUP], g[ROW_PARTS], g[MOST]
    panels = (n + PANEL - 1) // PANEL
    per_matrix = (panels + group_size - 1) // group_size * row_parts
    panel_bytes = g[PAIRS] * PANEL * 4
    packed = scratch(tid, group_size * panel_bytes)
    offsets_a, offsets_b = array(i64, g[OFFSETS_A]), array(i64, g[OFFSETS_B])
    block, segment = stack(TILE_WORDS), stack(2)
    array(i64, segment)[0] = 0
    array(i64, segment)[1] = 0
    p = array(i64, block)
    p[mk.A_ROW], p[mk.A_K], p[mk.C_ROW] = g[A_ROW], g[A_K], g[C_ROW]
    p[mk.SEGMENTS], p[mk.SEGMENT_COUNT], p[mk.DEPTH] = segment, 1, g[PAIRS]
    packed_group = i64(-1)
    for item in range(lo, hi):
        matrix, inner = item // per_matrix, item % per_matrix
        group, part = inner // row_parts, inner % row_parts
        first_panel = group * group_size
        last_panel = min(first_panel + group_size, panels)
        if packed_group != item // row_parts:
            b = g[B] + offsets_b[matrix]
            pack_panels(g, b, first_panel, last_panel, packed, panel_bytes)
            packed_group = item // row_parts
        first_row, last_row = m * part // row_parts, m * (part + 1) // row_parts
        rows = last_row - first_row
        for t in range((rows + most - 1) // most):
            row, size = split(rows, most, t)
            row += first_row
            p[mk.A] = g[A] + offsets_a[matrix] + row * g[A_ROW]
            for j in range(first_panel, last_panel):
                column = j * PANEL
                p[mk.START] = mk.START_ZERO
                if g[BIAS] != 0:
                    p[mk.START] = mk.START_ROWS if g[BY_ROWS] != 0 else mk.START_BIAS
                    p[mk.BIAS] = g[BIAS] + 4 * (row if g[BY_ROWS] != 0 else column)
                p[mk.B] = packed + (j - first_panel) * panel_bytes
                p[mk.C] = g[C] + matrix * g[C_MATRIX] + row * g[C_ROW] + 2 * column
                p[mk.COLUMNS] = n - column
                call_tile(g[LAST_TILE] if column + PANEL >= n else g[TILE], size, block)


def fits(m, n, k):
    """Whether a product of these sizes is quicker by pairs than in float32."""
    enough = k % 2 == 0 and 2 <= k <= 2 * MAX_PAIRS and n >= mk.VL and m * n * k >= LEAST_WORK
    return enough and pair_tiles.available()


class PairProduct:
    """How to run a batch of products of bfloat16 matrices.

    ``a`` and ``b`` are (row stride in bytes, is transposed); ``offsets`` int64 arrays of the bytes
    from the first matrix of A, and of B, to those of every product.
    """

    __slots__ = ("count", "dtype", "offsets", "packed", "packing", "words")

    def __init__(self, m, n, k, a, b, offsets, by_rows=False):
        (a_row, trans_a), (b_row, trans_b) = a, b
        self.dtype = None  # not for callers who ask for a plan of their dtype
        self.count = offsets[0].size
        self.packing = None
        if trans_a:
            offsets = (self._pack_first(m, k, a_row, offsets[0]), offsets[1])
        self.offsets = offsets
        words = [0] * WORDS
        words[M], words[N], words[PAIRS] = m, n, k // 2
        words[A_ROW], words[A_K] = (4, 4 * m) if trans_a else (a_row, 4)
        words[B_ROW], words[TRANS_B], words[C_ROW] = b_row, trans_b, 2 * n
        words[OFFSETS_A], words[OFFSETS_B] = (o.ctypes.data for o in offsets)
        words[C_MATRIX], words[BY_ROWS] = 2 * m * n, by_rows
        self.words = self._planned(words, trans_a)

    def _pack_first(self, m, k, a_row, offsets):
        """Copy A in words of pairs before each product; gives where its matrices then are."""
        different, place = np.unique(offsets, return_inverse=True)
        steps, self.packed = k // 2, (different.size, k // 2, m)
        words = [0, 0, different.ctypes.data, a_row, m, steps]
        items = steps * different.size
        code = transposed_kernel.address()
        self.packing = different, threads.plan(code, items, chunk(items, m // 2), words)
        return np.ascontiguousarray(place.reshape(-1).astype(np.int64) * (4 * m * steps))

    def _planned(self, words, trans_a):
        m, n, pairs = words[M], words[N], words[PAIRS]
        panels, panel_bytes = -(-n // PANEL), pairs * PANEL * 4
        wanted = -(-ITEMS // self.count)  # items of one matrix
        group = max(1, min(L2_BUDGET // panel_bytes, panels // wanted))
        groups = -(-panels // group)
        parts = max(1, min(-(-wanted // groups), m // (4 * MAX_ROWS)))
        words[GROUP], words[ROW_PARTS] = group, parts
        wide, narrow = pair_tiles.ROWS, pair_tiles.NARROW_ROWS
        if trans_a:
            wide, narrow = pair_tiles.COLUMNS_OF_A, pair_tiles.NARROW_COLUMNS_OF_A
        rows = {m * (i + 1) // parts - m * i // parts for i in range(parts)}
        most = words[MOST] = mk.most_rows(words[A_ROW])
        tiles = mk.need_both(wide, narrow, n, *rows, most=most)
        words[TILE], words[LAST_TILE] = tiles
        items = self.count * groups * parts
        grain = max(1, INLINE_WORK // 2 // (m * n * pairs // (groups * parts) or 1))
        return threads.plan(product_kernel.address(), items, min(items, grain), words)

    def run(self, a, b, out, bias):
        """Write the products (plus a float32 bias, of columns or of rows) into a dense ``out``."""
        if self.packing is not None:
            packed = empty(self.packed, np.dtype(np.uint32))
            threads.run(self.packing[1], a, packed)
            a = packed
        threads.run(self.words, a, b, out, bias)

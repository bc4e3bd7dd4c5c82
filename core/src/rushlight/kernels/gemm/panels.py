"""Large matrix products: an item of work is a group of B panels times a range of rows of A.

The item packs its panels (PANEL * 4 bytes of each row of B) into L2 and reads A by broadcast from
where it is. Columns of a transposed A are on a page of their own each: where two units multiply
and add at a time, they are gathered by all threads before. Where rows of A are multiples of 4096
bytes apart, all of a tile share one set of the first cache, so tiles have fewer of them; a panel
with half of its columns or fewer takes the narrow tile. Import at first need: it imports the
compiler.
"""

from __future__ import annotations

import functools

from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.microkernel import (
    FINISHES,
    MAX_ROWS,
    PANEL,
    START_BIAS,
    START_C,
    START_ROWS,
    START_ZERO,
    TILE_WORDS,
    call_tile,
    gather_rows,
    pack_rows,
    split,
)
from rushlight.kernels.gemm.plans import (
    A_K,
    A_ROW,
    ACCUMULATE,
    B_IMAGE,
    B_ROW,
    BIAS,
    BY_ROWS,
    C_IMAGE,
    C_ROW,
    DEPTH,
    EPILOGUE,
    FIRST_TILE,
    GATHERED,
    GROUP,
    GROUPS,
    INLINE_WORK,
    LAST_TILE,
    MOST,
    PACKED,
    ROW_PARTS,
    TILE,
    TRANS_A,
    TRANS_B,
    A,
    B,
    C,
    K,
    M,
    N,
)
from rushlight.kernels.gemm.transposes import transpose, transpose_doubles
from rushlight.kernels.launch.execution import language_type
from rushlight.machine import np, threads
from rushlight.machine.language.functions import (
    array,
    f32,
    function,
    i64,
    range_kernel,
    real,
    stack,
)
from rushlight.machine.memory import empty
from rushlight.machine.processors import has_two_wide_units
from rushlight.machine.worker_pool import scratch

MOST_DEPTH = 16 << 10  # bytes of a row of A: a panel of this depth takes half of a 1 MB L2
L2_BUDGET = 512 * 1024  # bytes of packed B in one item
ITEMS = 16  # parts of a large product
ITEM_WORK = 200_000  # multiply-adds that a thread takes at a time where there are many matrices
PITCH = 16  # values from one k to the next of gathered columns: whole vectors are stored
TOGETHER = 8  # values of k for which rows or columns are packed at a time
SLICE = 32  # values of k for which a thread gathers columns
GATHER_WORK = 2_000_000  # multiply-adds from which gathering all columns of A pays,
GATHER_PANELS = 8  # and panels


@function
def pack_panels(g, b, k, depth, first, last, panel_bytes, target):
    """Rows k..k+depth of panels of op(B), zeros behind its columns; by a few rows at a time of all
    panels where rows are side by side in memory."""
    size = real.bits // 8
    lanes = PANEL * 4 // size
    row = g[B_ROW]
    if g[TRANS_B] != 0:
        for j in range(first, last):
            columns = min(i64(lanes), g[N] - j * lanes)
            source, place = b + j * lanes * row + size * k, target + (j - first) * panel_bytes
            if real is f32:
                transpose(source, row, place, PANEL * 4, columns, depth, lanes)
            else:
                transpose_doubles(source, row, place, PANEL * 4, columns, depth, lanes)
    else:
        for start in range(0, depth, TOGETHER):
            count = min(i64(TOGETHER), depth - start)
            for j in range(first, last):
                columns = min(i64(lanes), g[N] - j * lanes)
                source = b + (k + start) * row + size * lanes * j
                place = target + (j - first) * panel_bytes + start * PANEL * 4
                pack_rows(source, row, place, count, columns * (size // 4))


@function
def start_of(g, k, depth):
    """What sums of the products k..k+depth begin with, and whether the epilogue follows them."""
    start = i64(START_ZERO)
    if k > 0 or g[ACCUMULATE] != 0:
        start = i64(START_C)
    elif g[BIAS] != 0:
        start = i64(START_ROWS) if g[BY_ROWS] != 0 else i64(START_BIAS)
    if g[EPILOGUE] != 0 and k + depth == g[K]:
        start += FINISHES
    return start


@function
def tiles_of_part(g):
    """The most tiles that a range of rows has."""
    tallest = (g[M] + g[ROW_PARTS] - 1) // g[ROW_PARTS]
    return (tallest + g[MOST] - 1) // g[MOST]


@range_kernel
def gather_kernel(args, lo, hi, tid):
    """Columns of a transposed A, k by k, for each tile. Items: TOGETHER values of k."""
    g = array(i64, args)
    size = real.bits // 8
    m, most, parts = g[M], g[MOST], g[ROW_PARTS]
    depth, tiles, pitch = min(g[K], g[DEPTH]), tiles_of_part(g), i64(PITCH * size)
    space = depth * pitch
    for item in range(lo, hi):
        k = item * TOGETHER
        count = min(i64(TOGETHER), g[K] - k)
        block, inside = k // depth, k % depth
        for part in range(parts):
            first = m * part // parts
            rows = m * (part + 1) // parts - first
            for t in range((rows + most - 1) // most):
                row, number = split(rows, most, t)
                source = g[A] + (first + row) * size + k * g[A_K]
                target = g[PACKED] + ((block * parts + part) * tiles + t) * space + inside * pitch
                floats = number * (size // 4)
                gather_rows(source, g[A_K], target, pitch, count, floats, size // 4 - 1)


@range_kernel
def panel_kernel(args, lo, hi, tid):
    """Items: groups of panels, of all matrices B, times parts of the rows."""
    g = array(i64, args)
    size = real.bits // 8
    lanes = PANEL * 4 // size
    m, n, k_total, group_size, row_parts = g[M], g[N], g[K], g[GROUP], g[ROW_PARTS]
    a_row, a_k, c_row, bias = g[A_ROW], g[A_K], g[C_ROW], g[BIAS]
    tile, last_tile, most, gathered = g[TILE], g[LAST_TILE], g[MOST], g[GATHERED]
    max_depth = min(k_total, g[DEPTH])
    panel_bytes = max_depth * PANEL * 4
    packed = scratch(tid, group_size * panel_bytes)
    tiles, space = tiles_of_part(g), max_depth * PITCH * size
    block = stack(TILE_WORDS)
    segment = stack(2)
    array(i64, segment)[0] = 0
    array(i64, segment)[1] = 0
    p = array(i64, block)
    p[mk.A_ROW], p[mk.A_K], p[mk.C_ROW], p[mk.B_ROW] = a_row, a_k, c_row, g[B_ROW]
    if gathered != 0:
        p[mk.A_K] = i64(PITCH * size)
    p[mk.SEGMENTS], p[mk.SEGMENT_COUNT], p[mk.EPILOGUE] = segment, 1, g[EPILOGUE]
    packed_group = i64(-1)
    for item in range(lo, hi):
        whole, part = item // row_parts, item % row_parts
        image, group = whole // g[GROUPS], whole % g[GROUPS]
        b, c = g[B] + image * g[B_IMAGE], g[C] + image * g[C_IMAGE]
        first_row, last_row = m * part // row_parts, m * (part + 1) // row_parts
        first_panel = group * group_size
        last_panel = min(first_panel + group_size, (n + lanes - 1) // lanes)
        rows = last_row - first_row
        for k in range(0, k_total, max_depth):
            depth = min(max_depth, k_total - k)
            p[mk.DEPTH], p[mk.START] = depth, start_of(g, k, depth)
            missing = first_panel  # panels from this on are not packed yet
            if packed_group != whole or k_total > max_depth:
                if g[FIRST_TILE] != 0:
                    missing = min(last_panel, n // lanes)
                pack_panels(g, b, k, depth, missing, last_panel, panel_bytes,
                            packed + (missing - first_panel) * panel_bytes)  # fmt: skip
                packed_group = whole
            for t in range((rows + most - 1) // most):
                row, number = split(rows, most, t)
                row += first_row
                p[mk.A] = g[A] + row * a_row + k * a_k
                if gathered != 0:
                    p[mk.A] = g[PACKED] + ((k // max_depth * row_parts + part) * tiles + t) * space
                for j in range(first_panel, last_panel):
                    column = j * lanes
                    p[mk.BIAS] = bias + size * (row if g[BY_ROWS] != 0 else column)
                    table = last_tile if column + lanes >= n else tile
                    p[mk.B] = packed + (j - first_panel) * panel_bytes
                    if t == 0 and j < missing:
                        p[mk.PACKED], p[mk.B] = p[mk.B], b + k * g[B_ROW] + size * column
                        table = g[FIRST_TILE]
                    p[mk.C] = c + row * c_row + size * column
                    p[mk.COLUMNS] = n - column
                    # a share of the next tile, of which a line is asked for at each step of k
                    p[mk.LATER] = p[mk.A] + space + (j - first_panel) % (size // 4) * depth * 64
                    call_tile(table, number, block)


@functools.cache
def _first_table(size, transposed):
    """Tiles that pack rows of B as they pass."""
    mode, kind = "columns" if transposed else "rows", mk.SINGLE if size == 4 else mk.DOUBLE
    return mk.TileTable(mode, mk.NV, mk.SUM_DEPTH, kind, source="packing")


@functools.cache
def _tables(size, transposed, asks):
    """(wide, narrow) tables of tiles; those that ask for what comes next read gathered columns."""
    if size == 4 and not asks:
        if transposed:
            return mk.COLUMNS_OF_A, mk.NARROW_COLUMNS_OF_A
        return mk.ROWS, mk.NARROW_ROWS
    mode = "columns" if transposed else "rows"
    kind = mk.SINGLE if size == 4 else mk.DOUBLE
    return tuple(
        mk.TileTable(mode, vectors, mk.SUM_DEPTH, kind, 2 if asks else 0) for vectors in (mk.NV, 1)
    )


def depth_of_panels(k, size):
    """Steps of k of a packed panel of elements of so many bytes."""
    limit = MOST_DEPTH // size
    return k if k <= limit else limit // 2


class PanelProduct:
    """How to run a product for the argument words of :mod:`rushlight.kernels.gemm.plans`."""

    __slots__ = ("bytes", "gather", "words")

    def __init__(self, words, dtype, images=1):
        m, n, k, size = words[M], words[N], words[K], dtype.itemsize
        kind, work, transposed = language_type(dtype), m * n * k, words[TRANS_A]
        words[A_K] = size
        if transposed:
            words[A_K], words[A_ROW] = words[A_ROW], size
        panels = -(-n * size // (PANEL * 4))
        depth = words[DEPTH] = depth_of_panels(k, size)
        group, wanted = 1, -(-ITEMS // images)
        if m * k * size > L2_BUDGET // 2:  # a small A stays in L2 anyway
            group = max(1, min(L2_BUDGET // (depth * PANEL * 4), panels // wanted))
        groups = words[GROUPS] = -(-panels // group)
        parts = max(1, min(-(-wanted // groups), m // (4 * MAX_ROWS)))
        words[GROUP], words[ROW_PARTS] = group, parts
        words[B_IMAGE], words[C_IMAGE] = size * k * n, size * m * n
        most = words[MOST] = mk.most_rows(words[A_ROW])
        pays = work >= GATHER_WORK and panels >= GATHER_PANELS
        gathers = words[GATHERED] = bool(transposed) and pays and has_two_wide_units()
        rows = {m * (i + 1) // parts - m * i // parts for i in range(parts)}
        wide, narrow = _tables(size, transposed, gathers)
        if not gathers and not words[TRANS_B] and n * size >= PANEL * 4:
            words[FIRST_TILE] = _first_table(size, bool(transposed)).need(*rows, most=most)
        words[TILE], words[LAST_TILE] = mk.need_both(wide, narrow, n * size // 4, *rows, most=most)
        items = images * groups * parts
        grain = items if images * work < INLINE_WORK else 1
        if images > 1:
            grain = max(grain, min(items // ITEMS, ITEM_WORK * items // (images * work)))
        self.words = threads.plan(panel_kernel.address(real=kind), items, grain, words)
        self.gather = None
        if gathers:
            tiles = parts * -(-max(rows) // most)
            self.bytes = -(-k // depth) * tiles * depth * PITCH * size
            together, code = -(-k // TOGETHER), gather_kernel.address(real=kind)
            self.gather = threads.plan(code, together, max(1, SLICE // TOGETHER), words)

    def run(self, a, b, out, bias, epilogue=None):
        """Write the product (plus a bias, or plus ``out``) into a dense ``out``, the epilogue
        behind it; where no columns are gathered, ``words`` are all there is to launch."""
        packed = None
        if self.gather is not None:
            packed = empty((self.bytes,), np.dtype(np.uint8))
            threads.run(self.gather, a, b, out, bias, packed)
        table = None if epilogue is None else epilogue.table
        threads.run(self.words, a, b, out, bias, packed, table)

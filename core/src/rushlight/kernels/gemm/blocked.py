"""Matrix products whose panels of B stay in the first cache: float64, and float32 of short vectors.

A tile of few rows takes a whole panel for little arithmetic, so panels should not come from the
second cache each time: a block of rows goes by before the next panel does, and the inner size is
cut into blocks. Columns of a transposed A are gathered for each block, if there are some panels to
multiply them with: in memory every k is a line, or a page, of its own.

An item is a part of the rows times a group of panels; how many of each is a matter of what
packing and reading them again cost. Import at first need: it imports the compiler.
"""

from __future__ import annotations

from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.microkernel import (
    MAX_ROWS,
    PANEL,
    TILE_WORDS,
    call_tile,
    gather_rows,
    split,
)
from rushlight.kernels.gemm.panels import TOGETHER, pack_panels, start_of
from rushlight.kernels.gemm.plans import (
    A_K,
    A_ROW,
    BIAS,
    BY_ROWS,
    C_ROW,
    DEPTH,
    EPILOGUE,
    GROUP,
    INLINE_WORK,
    LAST_TILE,
    OFFSETS_A,
    ROW_PARTS,
    TILE,
    TRANS_A,
    A,
    B,
    C,
    K,
    M,
    N,
)
from rushlight.kernels.launch.execution import language_type
from rushlight.machine import threads
from rushlight.machine.language.functions import array, function, i64, range_kernel, real, stack
from rushlight.machine.worker_pool import scratch

GROUPS = GROUP  # here: number of groups of panels
GATHERS = OFFSETS_A  # here: whether columns of A are gathered
GATHER_PANELS = 4  # of an item from which that pays
MOST_DEPTH = 512  # longer runs of a row of A are foreseen better, even if some of a panel goes
SUM_DEPTH = 256  # products that are summed in registers
BLOCK_ROWS = 16 * MAX_ROWS  # that stay in the second cache
BLOCK_PANELS = 16  # packed at a time, which stay there too
PADDING = 128  # bytes behind the gathered columns of a tile: whole vectors are stored
ITEMS, MOST_ITEMS = 16, 32
PACK_B, PACK_A, READ_A = 12, 16, 4  # multiply-adds that cost as much as taking a value once


@function
def gather_columns(g, k, depth, first, rows, target):
    """The columns of a transposed A that each tile of a block of rows takes, k by k."""
    size = real.bits // 8
    pitch = MAX_ROWS * size
    tiles = (rows + MAX_ROWS - 1) // MAX_ROWS
    for start in range(0, depth, TOGETHER):
        count = min(i64(TOGETHER), depth - start)
        for t in range(tiles):
            row, number = split(rows, MAX_ROWS, t)
            source = g[A] + (first + row) * size + (k + start) * g[A_K]
            place = target + t * (depth * pitch + PADDING) + start * pitch
            gather_rows(source, g[A_K], place, pitch, count, number * (size // 4), size // 4 - 1)


@function
def panel_products(g, p, block, k, depth, first, rows, j, gathered):
    """The tiles of a block of rows with one panel, at p[mk.B]."""
    size = real.bits // 8
    column = j * (PANEL * 4 // size)
    bias, pitch = g[BIAS], MAX_ROWS * size
    p[mk.START] = start_of(g, k, depth)
    p[mk.COLUMNS] = g[N] - column
    table = g[LAST_TILE] if column + PANEL * 4 // size >= g[N] else g[TILE]
    for t in range((rows + MAX_ROWS - 1) // MAX_ROWS):
        row, number = split(rows, MAX_ROWS, t)
        if g[GATHERS] != 0:
            p[mk.A] = gathered + t * (depth * pitch + PADDING)
        else:
            p[mk.A] = g[A] + (first + row) * g[A_ROW] + k * g[A_K]
        p[mk.BIAS] = bias + size * (first + row if g[BY_ROWS] != 0 else column)
        p[mk.C] = g[C] + (first + row) * g[C_ROW] + size * column
        call_tile(table, number, block)


@range_kernel
def blocked_kernel(args, lo, hi, tid):
    """Items: parts of the rows times groups of panels."""
    g = array(i64, args)
    size = real.bits // 8
    m, inner, groups, row_parts = g[M], g[K], g[GROUPS], g[ROW_PARTS]
    most = g[DEPTH]
    panels = (g[N] * size + PANEL * 4 - 1) // (PANEL * 4)
    panel_bytes = most * PANEL * 4
    ahead = BLOCK_PANELS * panel_bytes
    packed = scratch(tid, ahead + (BLOCK_ROWS // MAX_ROWS) * (most * MAX_ROWS * size + PADDING))
    gathered = packed + ahead
    block, segment = stack(TILE_WORDS), stack(2)
    array(i64, segment)[0] = 0
    array(i64, segment)[1] = 0
    p = array(i64, block)
    p[mk.A_ROW], p[mk.A_K], p[mk.C_ROW] = g[A_ROW], g[A_K], g[C_ROW]
    if g[GATHERS] != 0:
        p[mk.A_K] = i64(MAX_ROWS * size)
    p[mk.SEGMENTS], p[mk.SEGMENT_COUNT], p[mk.EPILOGUE] = segment, 1, g[EPILOGUE]
    for item in range(lo, hi):
        group, part = item // row_parts, item % row_parts
        first_row, last_row = m * part // row_parts, m * (part + 1) // row_parts
        first_panel, last_panel = panels * group // groups, panels * (group + 1) // groups
        for k in range(0, inner, most):
            depth = min(most, inner - k)
            p[mk.DEPTH] = depth
            for here in range(first_panel, last_panel, BLOCK_PANELS):
                end = min(here + BLOCK_PANELS, last_panel)
                pack_panels(g, g[B], k, depth, here, end, panel_bytes, packed)
                for first in range(first_row, last_row, BLOCK_ROWS):
                    rows = min(i64(BLOCK_ROWS), last_row - first)
                    if g[GATHERS] != 0:
                        gather_columns(g, k, depth, first, rows, gathered)
                    for j in range(here, end):
                        p[mk.B] = packed + (j - here) * panel_bytes
                        panel_products(g, p, block, k, depth, first, rows, j, gathered)


def _tables():
    """(wide, narrow) tables of tiles by whether A is transposed, for each type."""
    made = {}
    for real_type, kind in ((4, mk.SINGLE), (8, mk.DOUBLE)):
        for transposed, mode in enumerate(("rows", "columns")):
            made[real_type, bool(transposed)] = tuple(
                mk.TileTable(mode, vectors, SUM_DEPTH, kind) for vectors in (mk.NV, 1)
            )
    return made


_TABLES = _tables()


def parts_and_groups(m, n, panels, taking):
    """(parts of the rows, groups of panels): about ITEMS of them, at the least cost."""
    most_rows, most_groups = max(1, min(ITEMS, m // (4 * MAX_ROWS))), min(ITEMS, panels)
    wanted, best = min(ITEMS, most_rows * most_groups), None
    for parts in range(1, most_rows + 1):
        for groups in range(1, most_groups + 1):
            if not wanted <= parts * groups <= MOST_ITEMS:
                continue
            evenness = -(-m // parts) * parts / m * (-(-panels // groups)) * groups / panels
            cost = evenness * (1 + PACK_B * parts / m + taking * groups / n)
            if best is None or cost < best[0]:
                best = cost, parts, groups
    return best[1:]


def ready_tiles(words, tables, lanes=PANEL):
    """Put (wide, narrow) tables of tiles into the words of a plan, with all tiles that it needs."""
    wide, narrow = tables
    m, n, parts = words[M], words[N], words[ROW_PARTS]
    sizes = {m * (i + 1) // parts - m * i // parts for i in range(parts)}
    rows = {min(s, BLOCK_ROWS) for s in sizes} | {s % BLOCK_ROWS for s in sizes} - {0}
    last = (n - 1) % lanes + 1
    words[TILE] = wide.need(*rows)
    words[LAST_TILE] = narrow.need(*rows) if last <= lanes // 2 else words[TILE]


def plan(words, dtype):
    """A launch plan for the argument words of :mod:`rushlight.kernels.gemm.plans`."""
    size, transposed = dtype.itemsize, bool(words[TRANS_A])
    m, n, k = words[M], words[N], words[K]
    words[A_K] = size
    if transposed:
        words[A_K], words[A_ROW] = words[A_ROW], size
    lanes = PANEL * 4 // size
    panels = -(-n // lanes)
    depth = -(-k // -(-k // MOST_DEPTH))
    words[DEPTH] = min(k, -(-depth // mk.VL) * mk.VL)
    is_small = m * n * k < INLINE_WORK
    parts, groups = (
        (1, 1) if is_small else parts_and_groups(m, n, panels, PACK_A if transposed else READ_A)
    )
    words[GATHERS] = transposed and panels >= GATHER_PANELS * groups
    if transposed and not words[GATHERS] and not is_small:
        parts, groups = parts_and_groups(m, n, panels, READ_A)
    words[ROW_PARTS], words[GROUPS] = parts, groups
    ready_tiles(words, _TABLES[size, transposed], lanes)
    items = parts * groups
    code = blocked_kernel.address(real=language_type(dtype))
    return threads.plan(code, items, items if is_small else 1, words)

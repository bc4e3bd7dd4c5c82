"""float32 products with weights whose panels were packed before: those of frozen layers.

``input @ weight.T`` for an input of few rows takes as long to pack the weight as to multiply with
it. Panels are those of :mod:`rushlight.kernels.gemm.blocked` or, of long vectors, of
:mod:`rushlight.kernels.gemm.panels`; the inner size is cut alike, so the bits are the same. Packed
weights are (blocks of k, panels, depth, PANEL), zeros behind the last output. Import at first need:
it imports the compiler.
"""

from __future__ import annotations

from rushlight.kernels.gemm import blocked
from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.blocked import BLOCK_ROWS, GROUPS, READ_A, parts_and_groups
from rushlight.kernels.gemm.microkernel import (
    FINISHES,
    MAX_ROWS,
    PANEL,
    START_BIAS,
    START_C,
    START_ZERO,
    TILE_WORDS,
    call_tile,
    split,
)
from rushlight.kernels.gemm.panels import L2_BUDGET, depth_of_panels, pack_panels
from rushlight.kernels.gemm.plans import (
    A_ROW,
    B_ROW,
    BIAS,
    BLOCKED,
    C_ROW,
    DEPTH,
    EPILOGUE,
    INLINE_WORK,
    LAST_TILE,
    MOST,
    OFFSETS_B,
    ROW_PARTS,
    SMALL_WORK,
    TILE,
    TRANS_B,
    WORDS,
    A,
    B,
    C,
    K,
    M,
    N,
    fit_matrix_units,
)
from rushlight.kernels.gemm.split_weights import SplitWeight
from rushlight.machine import np, threads
from rushlight.machine.language.functions import array, f32, function, i64, range_kernel, stack
from rushlight.machine.memory import empty

__all__ = ["PackedWeight", "fits", "packed_weight"]

BLOCK = OFFSETS_B  # here: rows that meet a panel before the next one does
MOST_ROWS = 512  # of long vectors and matrix units, up to which packing is worth the memory
_FLOAT32 = np.dtype(np.float32)
_HEAD = 8  # words of a plan before those of its kernel
# (wide, narrow) tiles that bring the next panel into the first cache: of weights of many layers,
# each read once, it is in no cache near by (4 to 7 % of such products).
_DEPTH = blocked.SUM_DEPTH if BLOCKED else mk.SUM_DEPTH
_TILES = mk.TileTable("rows", mk.NV, _DEPTH, asks=1), mk.TileTable("rows", 1, _DEPTH, asks=1)


@range_kernel
def pack_kernel(args, lo, hi, tid):
    """Items: panels of op(B), all blocks of their rows, into C."""
    g = array(i64, args)
    most, panels = g[DEPTH], (g[N] + PANEL - 1) // PANEL
    panel_bytes = most * PANEL * 4
    for panel in range(lo, hi):
        for k in range(0, g[K], most):
            target = g[C] + (k // most * panels + panel) * panel_bytes
            depth = min(most, g[K] - k)
            pack_panels(g, g[B], k, depth, panel, panel + 1, panel_bytes, target)


@function
def tiles_of_panel(g, block, k, first, rows, j):
    """The tiles of a block of rows with one panel, at p[mk.B], from step k on."""
    p, column = array(i64, block), j * PANEL
    p[mk.START] = START_ZERO
    if k > 0:
        p[mk.START] = START_C
    elif g[BIAS] != 0:
        p[mk.START] = START_BIAS
    if g[EPILOGUE] != 0 and k + p[mk.DEPTH] == g[K]:
        p[mk.START] += FINISHES
    p[mk.BIAS], p[mk.COLUMNS] = g[BIAS] + 4 * column, g[N] - column
    table = g[LAST_TILE] if column + PANEL >= g[N] else g[TILE]
    for t in range((rows + g[MOST] - 1) // g[MOST]):
        row, number = split(rows, g[MOST], t)
        p[mk.A] = g[A] + (first + row) * g[A_ROW] + 4 * k
        p[mk.C] = g[C] + (first + row) * g[C_ROW] + 4 * column
        call_tile(table, number, block)


@range_kernel
def product_kernel(args, lo, hi, tid):
    """Items: parts of the rows times groups of panels; B is packed."""
    g = array(i64, args)
    m, most, groups, row_parts = g[M], g[DEPTH], g[GROUPS], g[ROW_PARTS]
    panels = (g[N] + PANEL - 1) // PANEL
    panel_bytes = most * PANEL * 4
    block, segment = stack(TILE_WORDS), stack(2)
    array(i64, segment)[0] = 0
    array(i64, segment)[1] = 0
    p = array(i64, block)
    p[mk.A_ROW], p[mk.A_K], p[mk.C_ROW] = g[A_ROW], i64(4), g[C_ROW]
    p[mk.SEGMENTS], p[mk.SEGMENT_COUNT], p[mk.EPILOGUE] = segment, 1, g[EPILOGUE]
    for item in range(lo, hi):
        group, part = item // row_parts, item % row_parts
        first_row, last_row = m * part // row_parts, m * (part + 1) // row_parts
        first_panel, last_panel = panels * group // groups, panels * (group + 1) // groups
        for k in range(0, g[K], most):
            p[mk.DEPTH] = min(most, g[K] - k)
            for first in range(first_row, last_row, g[BLOCK]):
                rows = min(g[BLOCK], last_row - first)
                for j in range(first_panel, last_panel):
                    p[mk.B] = g[B] + (k // most * panels + j) * panel_bytes
                    p[mk.LATER] = p[mk.B] + panel_bytes
                    tiles_of_panel(g, block, k, first, rows, j)


def fits(m, n, k):
    """Whether vector units are to compute ``(m, k) @ (n, k).T`` with packed panels."""
    few = BLOCKED or m <= MOST_ROWS
    return m > 1 and few and n >= PANEL and m * n * k >= SMALL_WORK


def packed_weight(weight, rows):
    """What runs the products of `rows` dense rows with a float32 (N, K) weight packed: a
    :class:`PackedWeight`, one for matrix units where these multiply such sizes, or None."""
    n, k = weight.shape
    if not fit_matrix_units(rows, n, k):
        return PackedWeight(weight, rows) if fits(rows, n, k) else None
    if rows > MOST_ROWS:
        return None
    return SplitWeight(weight, rows)


def _cut_for_first_cache(words):
    """Parts of a product whose panels stay in the first cache; (items, items at a time)."""
    made = blocked.plan(list(words), _FLOAT32)
    for index in (DEPTH, ROW_PARTS, GROUPS):
        words[index] = int(made[_HEAD + index])
    words[MOST], words[BLOCK] = MAX_ROWS, BLOCK_ROWS
    return int(made[1]), int(made[2])


def _cut_for_second_cache(words):
    """The same of panels that come from the second cache, as do the rows of a block."""
    m, n, k = words[M], words[N], words[K]
    words[DEPTH] = depth_of_panels(k, 4)
    is_small = m * n * k < INLINE_WORK
    parts, groups = (1, 1) if is_small else parts_and_groups(m, n, -(-n // PANEL), READ_A)
    words[ROW_PARTS], words[GROUPS] = parts, groups
    most = words[MOST] = mk.most_rows(words[A_ROW])
    words[BLOCK] = max(1, L2_BUDGET // (4 * words[DEPTH] * most)) * most
    return parts * groups, parts * groups if is_small else 1


def _ready_tiles(words):
    """The tiles that parts of the rows take."""
    m, parts, block = words[M], words[ROW_PARTS], words[BLOCK]
    sizes = {m * (i + 1) // parts - m * i // parts for i in range(parts)}
    rows = {min(size, block) for size in sizes} | {size % block for size in sizes} - {0}
    found = mk.need_both(*_TILES, words[N], *rows, most=words[MOST])
    words[TILE], words[LAST_TILE] = found


class PackedWeight:
    """A float32 (N, K) weight, packed for inputs of `rows` dense rows.

    The array given is read at construction alone.
    """

    __slots__ = ("finishes", "outputs", "packed", "words")

    def __init__(self, weight, rows):
        self.outputs, k = n, k = weight.shape
        words = [0] * WORDS
        words[M], words[N], words[K] = rows, n, k
        words[A_ROW], words[B_ROW], words[C_ROW] = 4 * k, 4 * k, 4 * n
        words[TRANS_B] = 1
        items, grain = (_cut_for_first_cache if BLOCKED else _cut_for_second_cache)(words)
        _ready_tiles(words)
        self.finishes = k >= mk.FINISHES_FROM
        panels, depth = -(-n // PANEL), words[DEPTH]
        self.packed = empty((-(-k // depth) * panels * depth * PANEL,), _FLOAT32)
        packing = threads.plan(pack_kernel.address(real=f32), panels, 1, words)
        threads.run(packing, None, weight, self.packed)
        self.words = threads.plan(product_kernel.address(real=f32), items, grain, words)

    def run(self, a, bias, epilogue=None):
        """``a @ weight.T`` plus a bias (or None) for dense rows `a`, an
        :class:`~rushlight.kernels.gemm.epilogues.Epilogue` behind it."""
        out = empty((a.shape[0], self.outputs), _FLOAT32)
        inside = epilogue is not None and self.finishes and epilogue.is_light
        table = epilogue.table if inside else None
        threads.run(self.words, a, self.packed, out, bias, None, table)
        if epilogue is not None and not inside:
            epilogue.run(out)
        return out

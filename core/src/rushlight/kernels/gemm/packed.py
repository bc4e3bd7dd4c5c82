"""float32 products with weights whose panels were packed before: those of frozen layers.

``input @ weight.T`` for an input of few rows takes as long to pack the weight as to multiply with
it. Panels are those of :mod:`rushlight.kernels.gemm.blocked`, the inner size is cut alike, so the
bits are the same. Packed weights are (blocks of k, panels, depth, PANEL), zeros behind the last
output. For processors whose tiles stay in the first cache (``BLOCKED``: vectors of 256 bits).
Import at first need: it imports the compiler.
"""

from __future__ import annotations

from rushlight.kernels.gemm import blocked
from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.blocked import (
    BLOCK_ROWS,
    GATHERS,
    GROUPS,
    SUM_DEPTH,
    panel_products,
    ready_tiles,
)
from rushlight.kernels.gemm.microkernel import PANEL, TILE_WORDS
from rushlight.kernels.gemm.panels import pack_panels
from rushlight.kernels.gemm.plans import (
    A_K,
    A_ROW,
    B_ROW,
    BLOCKED,
    C_ROW,
    DEPTH,
    EPILOGUE,
    ROW_PARTS,
    SMALL_WORK,
    TRANS_B,
    WORDS,
    B,
    C,
    K,
    M,
    N,
)
from rushlight.machine import np, threads
from rushlight.machine.language.functions import array, f32, i64, range_kernel, stack
from rushlight.machine.memory import empty

__all__ = ["PackedWeight", "fits"]

_FLOAT32 = np.dtype(np.float32)
_HEAD = 8  # words of a plan before those of its kernel
# (wide, narrow) tiles that bring the next panel into the first cache: of weights of many layers,
# each read once, it is in no cache near by (4 to 7 % of such products).
_TILES = mk.TileTable("rows", mk.NV, SUM_DEPTH, asks=1), mk.TileTable("rows", 1, SUM_DEPTH, asks=1)


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
    p[mk.A_ROW], p[mk.A_K], p[mk.C_ROW] = g[A_ROW], g[A_K], g[C_ROW]
    p[mk.SEGMENTS], p[mk.SEGMENT_COUNT], p[mk.EPILOGUE] = segment, 1, g[EPILOGUE]
    for item in range(lo, hi):
        group, part = item // row_parts, item % row_parts
        first_row, last_row = m * part // row_parts, m * (part + 1) // row_parts
        first_panel, last_panel = panels * group // groups, panels * (group + 1) // groups
        for k in range(0, g[K], most):
            depth = min(most, g[K] - k)
            p[mk.DEPTH] = depth
            for first in range(first_row, last_row, BLOCK_ROWS):
                rows = min(i64(BLOCK_ROWS), last_row - first)
                for j in range(first_panel, last_panel):
                    p[mk.B] = g[B] + (k // most * panels + j) * panel_bytes
                    p[mk.LATER] = p[mk.B] + panel_bytes
                    panel_products(g, p, block, k, depth, first, rows, j, i64(0))


def fits(m, n, k):
    """Whether ``(m, k) @ (n, k).T`` is to run with packed panels."""
    return BLOCKED and m > 1 and n >= PANEL and m * n * k >= SMALL_WORK


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
        made = blocked.plan(words, _FLOAT32)
        words = [int(word) for word in made[_HEAD:]]
        if words[GATHERS] or words[A_K] != 4:
            raise ValueError("PackedWeight: rows of an input are dense")
        self.finishes = k >= mk.FINISHES_FROM
        ready_tiles(words, _TILES)
        panels, depth = -(-n // PANEL), words[DEPTH]
        self.packed = empty((-(-k // depth) * panels * depth * PANEL,), _FLOAT32)
        packing = threads.plan(pack_kernel.address(real=f32), panels, 1, words)
        threads.run(packing, None, weight, self.packed)
        items, grain = int(made[1]), int(made[2])
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

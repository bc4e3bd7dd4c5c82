"""Products of few rows with a matrix of dense rows, which is read where it is, and once: packing it
would cost more than the product.

A tile takes all rows of A and as many columns as registers have sums for. Items are such strips of
columns. Import at first need: it imports the compiler.
"""

from __future__ import annotations

import functools

from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.lines import parts_of
from rushlight.kernels.gemm.microkernel import (
    PANEL,
    TILE_WORDS,
    call_tile,
)
from rushlight.kernels.gemm.panels import start_of
from rushlight.kernels.gemm.plans import (
    A_K,
    A_ROW,
    B_ROW,
    BIAS,
    BY_ROWS,
    C_ROW,
    EPILOGUE,
    GROUP,
    LAST_TILE,
    TILE,
    TRANS_A,
    A,
    B,
    C,
    K,
    M,
    N,
)
from rushlight.machine import threads
from rushlight.machine.language.functions import array, i64, range_kernel, stack

STRIP = GROUP  # here: columns of a tile


@range_kernel
def unpacked_kernel(args, lo, hi, tid):
    """Items: strips of columns."""
    g = array(i64, args)
    n, strip, bias = g[N], g[STRIP], g[BIAS]
    bias_step = i64(0) if g[BY_ROWS] != 0 else i64(4)
    block, segment = stack(TILE_WORDS), stack(2)
    array(i64, segment)[0] = 0
    array(i64, segment)[1] = 0
    p = array(i64, block)
    p[mk.A], p[mk.A_ROW], p[mk.A_K], p[mk.DEPTH] = g[A], g[A_ROW], g[A_K], g[K]
    p[mk.B_ROW], p[mk.C_ROW] = g[B_ROW], g[C_ROW]
    p[mk.SEGMENTS], p[mk.SEGMENT_COUNT], p[mk.EPILOGUE] = segment, 1, g[EPILOGUE]
    p[mk.START] = start_of(g, i64(0), g[K])
    for item in range(lo, hi):
        column = item * strip
        p[mk.B], p[mk.C], p[mk.COLUMNS] = g[B] + 4 * column, g[C] + 4 * column, n - column
        p[mk.BIAS] = bias + bias_step * column
        call_tile(g[LAST_TILE] if column + strip > n else g[TILE], g[M], block)


@functools.cache
def _tables(transposed):
    """Tiles of whole strips, and of the last columns."""
    mode = "columns" if transposed else "rows"
    return tuple(mk.TileTable(mode, several=True, source=each) for each in ("rows", "ends"))


def plan(words, dtype):
    """A launch plan for the argument words of :mod:`rushlight.kernels.gemm.plans`; the
    type is float32."""
    m, n, k, transposed = words[M], words[N], words[K], bool(words[TRANS_A])
    words[A_K] = 4
    if transposed:
        words[A_K], words[A_ROW] = words[A_ROW], 4
    strip = words[STRIP] = PANEL * mk.panels_beside(m)
    whole, ending = _tables(transposed)
    words[TILE], words[LAST_TILE] = whole.need(m), ending.need(m) if n % strip else 0
    items = -(-n // strip)
    grain = -(-items // parts_of(m * n * k))
    return threads.plan(unpacked_kernel.address(), items, grain, words)

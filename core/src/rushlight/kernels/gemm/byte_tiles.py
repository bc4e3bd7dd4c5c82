"""Products of float32 rows with a matrix of signed bytes on matrix units: a bfloat16 value holds a
byte exactly, so that the matrix is one plane of tiles, made on the way, and the rows are split as
in :mod:`rushlight.kernels.gemm.split`. Half the multiplications of a float32 product, and no
splitting of the matrix. Import at first need: it imports the compiler.
"""

from __future__ import annotations

from rushlight.kernels.gemm.matrix_units import (
    SIDE,
    TILE,
    configure,
    multiply_by_one_plane,
    pack_bytes,
    release,
    store_block,
    transpose_tile,
    zero_block,
)
from rushlight.kernels.gemm.precision import planes_of_float32
from rushlight.kernels.gemm.split import (
    CHUNK_LIMIT,
    EDGE,
    GROUP_LIMIT,
    clear_peaks,
    largest,
    pack_blocks,
    parts_of,
    splits,
)
from rushlight.machine import np, threads
from rushlight.machine.language.functions import (
    array,
    f32,
    function,
    i8,
    i64,
    range_kernel,
    stack,
)
from rushlight.machine.memory import empty
from rushlight.machine.worker_pool import scratch

__all__ = ["BytesProduct"]

# Argument words. The first six are given at each call.
A, W, SCALE, BIAS, C, REFUSED = range(6)
M, N, K, CHUNK, GROUP, ROW_PARTS, STRIP_BYTES, PANEL_BYTES = range(6, 14)
WORDS = 14

HALF = 16  # rows of a tile
TILES = 2 * TILE  # bytes of a packed block of one plane
CORNER = HALF * SIDE  # bytes of a tile of the matrix before it is packed
ONE = 0x3F800000  # float bits of 1


@function
def copy_corner(source, stride, lines, steps, corner):
    """The lines and steps of k that exist, with zeros behind them."""
    for i in range(HALF):
        line, to = array(i8, source + i * stride), array(i8, corner + i * SIDE)
        for j in range(SIDE):
            to[j] = i8(0)
        if i < lines:
            for j in range(steps):
                to[j] = line[j]


@function
def pack_matrix(source, stride, lines, depth, target, corner):
    """Up to 32 rows of the matrix as blocks of tiles, 32 steps of k each."""
    for block in range((depth + SIDE - 1) // SIDE):
        steps = min(i64(SIDE), depth - SIDE * block)
        for half in range(2):
            count = min(i64(HALF), lines - HALF * half)
            origin, row = source + HALF * half * stride + SIDE * block, stride
            if count < HALF or steps < SIDE:
                copy_corner(origin, stride, count, steps, corner)
                origin, row = corner, i64(SIDE)
            to = target + block * TILES + half * TILE
            pack_bytes(origin, row, to)
            transpose_tile(to)


@function
def finish(sums, c, c_row, scale, bias, rows, columns, later):
    """C from a block of sums: scaled, with the bias; added to C where it has sums of steps of k
    before."""
    s, b = array(f32, scale), array(f32, bias)
    for i in range(rows):
        x, y = array(f32, sums + i * SIDE * 4), array(f32, c + i * c_row)
        if later != 0:
            for j in range(columns):
                y[j] += x[j] * s[j]
        elif bias != 0:
            for j in range(columns):
                y[j] = x[j] * s[j] + b[j]
        else:
            for j in range(columns):
                y[j] = x[j] * s[j]


@function
def pack_panels(g, first, last, k, packed, corner):
    """Some steps of k of some panels of the matrix."""
    inner, depth = g[K], min(g[CHUNK], g[K] - k)
    for j in range(first, last):
        pack_matrix(g[W] + j * SIDE * inner + k, inner, g[N] - j * SIDE, depth,
                    packed + (j - first) * g[PANEL_BYTES], corner)  # fmt: skip


@function
def pack_strip(g, row, k, strip):
    """Some steps of k of up to 32 rows."""
    peaks = stack(8)
    clear_peaks(peaks)
    pack_blocks(g[A] + 4 * (row * g[K] + k), 4 * g[K], i64(1), i64(0), min(i64(SIDE), g[M] - row),
                min(g[CHUNK], g[K] - k), strip, peaks)  # fmt: skip
    if splits(largest(peaks), i64(ONE)) == 0:
        array(i64, g[REFUSED])[0] = 1


@function
def multiply_strip(g, row, k, strip, first, last, packed):
    """Packed rows with packed panels."""
    n, rows, edge = g[N], min(i64(SIDE), g[M] - row), strip + g[STRIP_BYTES]
    blocks = (min(g[CHUNK], g[K] - k) + SIDE - 1) // SIDE
    for j in range(first, last):
        column = j * SIDE
        bias = g[BIAS] + 4 * column if g[BIAS] != 0 else i64(0)
        zero_block()
        multiply_by_one_plane(strip, packed + (j - first) * g[PANEL_BYTES], blocks)
        store_block(edge, i64(4 * SIDE))
        finish(edge, g[C] + 4 * (row * n + column), 4 * n, g[SCALE] + 4 * column, bias, rows,
               min(i64(SIDE), n - column), k)  # fmt: skip


@range_kernel
def product_kernel(args, lo, hi, tid):
    """Items: groups of panels (32 rows of the matrix each) times parts of the rows."""
    g = array(i64, args)
    group, parts = g[GROUP], g[ROW_PARTS]
    panels, strips = (g[N] + SIDE - 1) // SIDE, (g[M] + SIDE - 1) // SIDE
    strip = scratch(tid, g[STRIP_BYTES] + EDGE + CORNER + group * g[PANEL_BYTES])
    corner = strip + g[STRIP_BYTES] + EDGE
    packed = corner + CORNER
    configure()
    for item in range(lo, hi):
        first, part = item // parts * group, item % parts
        last = min(first + group, panels)
        for k in range(0, g[K], g[CHUNK]):
            pack_panels(g, first, last, k, packed, corner)
            for s in range(strips * part // parts, strips * (part + 1) // parts):
                pack_strip(g, s * SIDE, k, strip)
                multiply_strip(g, s * SIDE, k, strip, first, last, packed)
    release()


class BytesProduct:
    """How to run the product of `rows` dense rows with an (N, K) matrix of bytes.

    Sums are cut by the size of K alone: the same bits for every number of threads.
    """

    __slots__ = ("planes", "plans", "shape", "words")

    def __init__(self, rows, n, k):
        self.shape, self.planes, self.plans = (rows, n), 0, {}
        words = self.words = [0] * WORDS
        words[M], words[N], words[K] = rows, n, k
        words[CHUNK] = parts_of(-(-k // SIDE), CHUNK_LIMIT) * SIDE
        words[PANEL_BYTES] = words[CHUNK] // SIDE * TILES

    def _plan(self, count):
        """The launch for so many threads, each with a rectangle of C."""
        words, (rows, n) = self.words.copy(), self.shape
        panels, strips = -(-n // SIDE), -(-rows // SIDE)
        by_rows = strips >= panels
        parts = words[ROW_PARTS] = min(count, strips) if by_rows else 1
        own = panels if by_rows else -(-panels // count)
        words[GROUP] = parts_of(own, GROUP_LIMIT // words[PANEL_BYTES])
        items = -(-panels // words[GROUP]) * parts
        block = TILES * self.planes
        words[STRIP_BYTES] = words[CHUNK] // SIDE * block
        kind = {"planes": self.planes, "size": 4, "block_bytes": block}
        return threads.plan(product_kernel.address(**kind), items, 1, words)

    def run(self, rows, matrix, scale, bias):
        """``rows @ (matrix * scale[:, None]).T + bias`` (bias may be None); None where values of
        the rows (infinities, NaN, all next to zero) cannot be split."""
        if self.planes != planes_of_float32():
            self.planes, self.plans = planes_of_float32(), {}
        count = threads.get_num_threads()
        plan = self.plans.get(count)
        if plan is None:
            plan = self.plans[count] = self._plan(count)
        out, refused = empty(self.shape, rows.dtype), np.zeros(1, np.int64)
        threads.run(plan, rows, matrix, scale, bias, out, refused)
        return None if refused[0] else out

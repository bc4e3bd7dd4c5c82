"""Products of float32 rows, rounded to bytes with a scale each, with a matrix of such rows.

``rows[i] . matrix[j]`` is a sum of whole numbers times both scales: exact until the last
multiplication, so that a row gives the same bits among any number of others, on every processor.
Rows are rounded by one launch; the items of the second are groups of panels of the matrix, packed
on the way, times parts of the rows. Import at first need: it imports the compiler.
"""

from __future__ import annotations

from rushlight.kernels.gemm import integer_tiles as tiles
from rushlight.kernels.gemm import microkernel as mk
from rushlight.kernels.gemm.integer_lines import line_kernel
from rushlight.kernels.gemm.integer_tiles import BYTES, VALUE_BYTES, VALUES
from rushlight.kernels.gemm.microkernel import MAX_ROWS, PANEL, TILE_WORDS, call_tile, split
from rushlight.kernels.gemm.transposes import transpose
from rushlight.kernels.launch.execution import chunk
from rushlight.machine import np, threads
from rushlight.machine.language.functions import (
    array,
    bitcast,
    f32,
    function,
    i8,
    i32,
    i64,
    quiet_nan,
    range_kernel,
    stack,
    u8,
    u16,
    u32,
)
from rushlight.machine.memory import empty
from rushlight.machine.worker_pool import scratch

__all__ = ["ByteProduct", "IntegerProduct"]

# Argument words of the rounding, and of the product.
X, ROUNDED, ROW_SCALE, START, LENGTH, ROW = range(6)
A, A_SCALE, A_START, W, SCALE, BIAS, C, M, N, K, A_ROW, GROUP, ROW_PARTS, TILE, K_ROW = range(15)

L2_BUDGET = 512 * 1024  # bytes of packed panels in one item
FEW = 12  # rows up to which the matrix is not packed
ITEMS = 8  # parts of a large product
INLINE_WORK = 1_000_000  # multiply-adds below which a second thread does not pay
# Added to a float32 below 2**22, this leaves the nearest whole number in the lowest bits.
TO_WHOLE, TO_WHOLE_BITS = 12582912.0, 0x4B400000
INFINITE, SIGNLESS = 0x7F800000, 0x7FFFFFFF
_INT32 = np.dtype(np.int32)
LEAST = 1e-30  # the largest magnitude of a row at least: rows of zeros have a scale, too


@function
def largest_of(x, length):
    """The largest magnitude, as bits: those of NaN are above all others."""
    bits, top = array(u32, x), u32(0)
    for i in range(length):
        top = max(top, bits[i] & SIGNLESS)
    return top


@function(fused=False)
def round_row(x, length, inverse, target, end):
    """Whole numbers from -127 to 127, zeros behind them; gives their sum."""
    values, small, wide, total = array(f32, x), array(u8, target), array(u16, target), i32(0)
    for i in range(length):
        whole = i32(bitcast(u32, values[i] * inverse + f32(TO_WHOLE)) - u32(TO_WHOLE_BITS))
        total += whole
        if BYTES:
            small[i] = u8(whole)
        else:
            wide[i] = u16(whole)
    for i in range(length, end):
        if BYTES:
            small[i] = u8(0)
        else:
            wide[i] = u16(0)
    return total


@range_kernel(fused=False)
def rounding_kernel(args, lo, hi, tid):
    """Items are rows of X."""
    g = array(i64, args)
    scales, starts, length = array(f32, g[ROW_SCALE]), array(i32, g[START]), g[LENGTH]
    for row in range(lo, hi):
        x = g[X] + 4 * row * length
        top = largest_of(x, length)
        size = max(bitcast(f32, top), f32(LEAST))
        target = g[ROUNDED] + row * g[ROW]
        total = round_row(x, length, f32(127) / size, target, g[ROW] // VALUE_BYTES)
        scales[row] = size / f32(127) if top < INFINITE else quiet_nan(f32)
        # Bytes of the matrix are 128 too large.
        starts[row] = -128 * total if BYTES else i32(0)


@function
def widen_rows(source, row, rows, target, step):
    """Rows of bytes as they are multiplied, each filled up with zeros."""
    for i in range(rows):
        line, small, wide = array(i8, source + i * row), target + i * step, target + i * step
        for k in range(row):
            if BYTES:
                array(i8, small)[k] = line[k]
            else:
                array(u16, wide)[k] = u16(i32(line[k]))
        for k in range(row, step // VALUE_BYTES):
            if BYTES:
                array(u8, small)[k] = u8(0)
            else:
                array(u16, wide)[k] = u16(0)


@function
def row_or_zeros(g, k, column, zeros):
    """Where a row of a matrix whose rows are steps of k is, from a column on."""
    return g[W] + k * g[K_ROW] + column if k < g[K] else zeros


@function
def interleave_rows(g, panel, target, zeros):
    """VALUES rows of such a matrix as words, for PANEL columns of it."""
    column = PANEL * panel
    columns = min(i64(PANEL), g[N] - column)
    padding = array(i64, zeros)
    for i in range(PANEL // 8):
        padding[i] = 0
    for w in range(g[A_ROW] // 4):
        words, k = array(u32, target + 4 * PANEL * w), VALUES * w
        a, b = row_or_zeros(g, k, column, zeros), row_or_zeros(g, k + 1, column, zeros)
        if BYTES:
            c, d = row_or_zeros(g, k + 2, column, zeros), row_or_zeros(g, k + 3, column, zeros)
            first, second, third, last = array(u8, a), array(u8, b), array(u8, c), array(u8, d)
            for j in range(columns):
                low = u32(first[j]) | u32(second[j]) << 8
                words[j] = low | u32(third[j]) << 16 | u32(last[j]) << 24
        else:
            even, odd = array(i8, a), array(i8, b)
            for j in range(columns):
                words[j] = u32(u16(i32(even[j]))) | u32(u16(i32(odd[j]))) << 16
        for j in range(columns, PANEL):
            words[j] = u32(0)


@function
def turn_rows(g, panel, target, lines):
    """PANEL rows of the matrix, side by side."""
    k, row = g[K], g[A_ROW]
    columns = min(i64(PANEL), g[N] - PANEL * panel)
    source = g[W] + PANEL * panel * k
    if k != row:
        widen_rows(source, k, columns, lines, row)
        source = lines
    transpose(source, row, target, i64(4 * PANEL), columns, row // 4, i64(PANEL))


@function
def pack_panel(g, panel, target, lines):
    """PANEL columns of the result's matrix as tiles take them."""
    row = g[A_ROW]
    if g[K_ROW] != 0:
        interleave_rows(g, panel, target, lines)
    else:
        turn_rows(g, panel, target, lines)
    if BYTES:
        words = array(u32, target)
        for i in range(row // 4 * PANEL):
            words[i] = words[i] ^ u32(0x80808080)


@function
def pack_panels(g, first, last, packed, lines):
    """The panels that an item multiplies."""
    for j in range(first, last):
        pack_panel(g, j, packed + (j - first) * g[A_ROW] * PANEL, lines)


@function
def put_sums(g, sums, row, rows, column):
    """Sums of a tile as they are."""
    columns = min(i64(PANEL), g[N] - column)
    for i in range(rows):
        x, y = array(i32, sums + 4 * PANEL * i), array(i32, g[C] + 4 * ((row + i) * g[N] + column))
        for j in range(columns):
            y[j] = x[j]


@function(fused=False)
def finish(g, sums, row, rows, column):
    """Sums of a tile as float32, scaled, with the bias."""
    scales = array(f32, g[A_SCALE])
    s, b, columns = array(f32, g[SCALE] + 4 * column), g[BIAS], min(i64(PANEL), g[N] - column)
    for i in range(rows):
        x, y = array(i32, sums + 4 * PANEL * i), array(f32, g[C] + 4 * ((row + i) * g[N] + column))
        own = scales[row + i]
        if b != 0:
            start = array(f32, b + 4 * column)
            for j in range(columns):
                y[j] = f32(x[j]) * (own * s[j]) + start[j]
        else:
            for j in range(columns):
                y[j] = f32(x[j]) * (own * s[j])


@function
def multiply_rows(g, block, row, size, first, last, packed):
    """Up to MAX_ROWS rows with packed panels."""
    p = array(i64, block)
    row_bytes, sums = g[A_ROW], p[mk.C]
    p[mk.A], p[mk.BIAS] = g[A] + row * row_bytes, g[A_START] + 4 * row
    for j in range(first, last):
        p[mk.B] = packed + (j - first) * row_bytes * PANEL
        call_tile(g[TILE], size, block)
        if g[A_SCALE] != 0:
            finish(g, sums, row, size, j * PANEL)
        else:
            put_sums(g, sums, row, size, j * PANEL)


@range_kernel
def product_kernel(args, lo, hi, tid):
    """Items: groups of panels times parts of the rows."""
    g = array(i64, args)
    group_size, parts, row_bytes = g[GROUP], g[ROW_PARTS], g[A_ROW]
    panels, panel_bytes = (g[N] + PANEL - 1) // PANEL, row_bytes * PANEL
    packed = scratch(tid, (group_size + 1) * panel_bytes)
    lines = packed + group_size * panel_bytes
    block, segment, sums = stack(TILE_WORDS), stack(2), stack(MAX_ROWS * PANEL // 2)
    array(i64, segment)[0] = 0
    array(i64, segment)[1] = 0
    p = array(i64, block)
    p[mk.A_ROW], p[mk.A_K], p[mk.C_ROW] = row_bytes, i64(4), i64(4 * PANEL)
    p[mk.SEGMENTS], p[mk.SEGMENT_COUNT], p[mk.DEPTH] = segment, i64(1), row_bytes // 4
    p[mk.C], p[mk.COLUMNS], p[mk.START] = sums, i64(PANEL), i64(mk.START_ROWS)
    at = i64(-1)
    for item in range(lo, hi):
        group, part = item // parts, item % parts
        first, last = group * group_size, min((group + 1) * group_size, panels)
        if at != group:
            pack_panels(g, first, last, packed, lines)
            at = group
        first_row = g[M] * part // parts
        rows = g[M] * (part + 1) // parts - first_row
        for t in range((rows + MAX_ROWS - 1) // MAX_ROWS):
            row, size = split(rows, i64(MAX_ROWS), t)
            multiply_rows(g, block, first_row + row, size, first, last, packed)


@range_kernel
def copying_kernel(args, lo, hi, tid):
    """Items are rows of bytes, which become those of tiles."""
    g = array(i64, args)
    starts, length = array(i32, g[START]), g[LENGTH]
    for row in range(lo, hi):
        x, total = array(i8, g[X] + row * length), i32(0)
        for k in range(length):
            total += i32(x[k])
        widen_rows(g[X] + row * length, length, i64(1), g[ROUNDED] + row * g[ROW], g[ROW])
        starts[row] = -128 * total if BYTES else i32(0)


class IntegerProduct:
    """How to run the product of `rows` dense rows of float32 with an (N, K) matrix of bytes,
    K up to DEPTH_LIMIT; a (K, N) one has `k_row` bytes from row to row."""

    __slots__ = ("plan", "rounding", "row", "shape")
    first = rounding_kernel  # what makes the rows of tiles

    def __init__(self, rows, n, k, k_row=0):
        words_of_row = -(-k // VALUES)
        self.shape, self.row = (rows, n), 4 * words_of_row
        self.rounding = threads.plan(
            self.first.address(), rows, chunk(rows, 2 * k), [0, 0, 0, 0, k, self.row]
        )
        words = [0] * 7 + [rows, n, k, self.row]
        if rows <= FEW and not k_row:
            self.plan = threads.plan(line_kernel.address(), n, chunk(n, rows * k), words)
        else:
            self.plan = self._of_panels(words, k_row)

    def _of_panels(self, words, k_row):
        rows, n, k = words[M], words[N], words[K]
        panels, panel_bytes = -(-n // PANEL), self.row * PANEL
        group = max(1, min(L2_BUDGET // panel_bytes, -(-panels // ITEMS)))
        groups = -(-panels // group)
        parts = max(1, min(-(-ITEMS // groups), rows // (4 * MAX_ROWS)))
        heights = {rows * (i + 1) // parts - rows * i // parts for i in range(parts)}
        table = tiles.ROWS.need(*heights)
        items = groups * parts
        grain = max(1, INLINE_WORK // max(1, rows * n * k // items))
        return threads.plan(
            product_kernel.address(), items, min(items, grain), [*words, group, parts, table, k_row]
        )

    def run(self, rows, matrix, scale, bias):
        """``rounded(rows) @ (matrix * scale[:, None]).T + bias`` (bias may be None)."""
        count = self.shape[0]
        rounded, own = empty((count, self.row), np.dtype(np.uint8)), empty((count,), rows.dtype)
        start = empty((count,), _INT32)
        threads.run(self.rounding, rows, rounded, own, start)
        out = empty(self.shape, rows.dtype)
        threads.run(self.plan, rounded, own, start, matrix, scale, bias, out)
        return out


class ByteProduct(IntegerProduct):
    """How to run the product of dense rows of signed bytes with a (K, N) matrix of them, whose rows
    are `k_row` bytes apart: int32 sums."""

    __slots__ = ()
    first = copying_kernel

    def run(self, rows, matrix):
        """``rows @ matrix``; sums wrap around."""
        count = self.shape[0]
        words, start = empty((count, self.row), np.dtype(np.uint8)), empty((count,), _INT32)
        threads.run(self.rounding, rows, words, None, start)
        out = empty(self.shape, _INT32)
        threads.run(self.plan, words, None, start, matrix, None, None, out)
        return out

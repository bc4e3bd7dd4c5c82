"""Compiled products with matrices of signed bytes, whose rows have a scale each.

Argument words follow :mod:`rushlight.kernels.launch.prepared`.

Bytes become float32 in registers (``vpmovsxbd``, ``vcvtdq2ps``) and are multiplied and added there,
rows of the matrix with several rows of the input at once, so that what is loaded and converted
serves them all. With few rows of input the time is that of reading the matrix, a quarter of
float32's bytes. Where the input is rounded, too, see
:mod:`rushlight.kernels.gemm.integer_lines`.
"""

from __future__ import annotations

from rushlight.kernels.gemm.line_emitters import LINE_BYTES, added, lane_totals, slots_of
from rushlight.kernels.gemm.microkernel import prefetch
from rushlight.machine.language.element_vectors import SINGLE, VL
from rushlight.machine.language.functions import (
    Emitted,
    array,
    f32,
    function,
    i8,
    i64,
    range_kernel,
    stack,
)
from rushlight.machine.language.values import counted_loop
from rushlight.machine.llvm import ir

OUT, X, W, SCALE, BIAS = 1, 2, 3, 4, 5
ROWS = 4  # of the matrix at once
BESIDE = 4 if VL == 16 else 2  # rows of the input at once, as many as registers hold
UNROLL = 8  # vectors of a block
CHAINS = 8  # sums side by side, at least: see line_emitters

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)


class Lines:
    """Emits sums[b, r] = dot(row r of the matrix, row b of the input), of rows with n elements, a
    vector of them at least; a last vector begins among those that are done, which count as
    zeros. Here bytes become float32; a derived class may multiply them otherwise."""

    kind, count = SINGLE, VL  # of the sums; elements of a row in a vector
    input_bytes = 4  # of an element of the input

    def __init__(self, builder, values, rows, beside):
        self.builder, (matrix, row, input, line, self.n, self.sums) = builder, values
        self.chains = max(1, CHAINS // (rows * beside))
        self.slots = [
            [slots_of(builder, self.kind, self.chains) for _ in range(rows)] for _ in range(beside)
        ]
        self.starts = [builder.add(matrix, builder.mul(row, _I64(r))) for r in range(rows)]
        self.lines = [builder.add(input, builder.mul(line, _I64(b))) for b in range(beside)]
        self.ahead = builder.mul(row, _I64(rows))  # bytes to the rows that are next

    def emit(self):
        """Whole blocks, whole vectors, the last one."""
        builder, n, count = self.builder, self.n, self.count
        whole = builder.sdiv(n, _I64(count))
        blocks = builder.sdiv(whole, _I64(UNROLL))
        with counted_loop(builder, blocks) as block:
            self.block(builder.mul(block, _I64(UNROLL * count)))
        done = builder.mul(blocks, _I64(UNROLL))
        with counted_loop(builder, builder.sub(whole, done)) as index:
            self.vector(builder.mul(builder.add(done, index), _I64(count)), 0)
        left = builder.srem(n, _I64(count))
        with builder.if_then(builder.icmp_signed(">", left, _I64(0))):
            self.vector(builder.sub(n, _I64(count)), 0, builder.sub(_I64(count), left))
        self.store()

    def block(self, first):
        """Some vectors. A row is too short to be foreseen: ask for the next ones."""
        builder = self.builder
        for start in self.starts:
            later = builder.add(builder.add(start, first), self.ahead)
            for offset in range(0, UNROLL * self.count, LINE_BYTES):
                prefetch(builder, builder.add(later, _I64(offset)))
        for u in range(UNROLL):
            self.vector(builder.add(first, _I64(self.count * u)), u % self.chains)

    def vector(self, at, chain, done=None):
        """A vector of each row, from an element on; the first `done` of the input do not count."""
        builder = self.builder
        offset = builder.mul(at, _I64(self.input_bytes))
        inputs = [self.inputs(builder.add(line, offset), done) for line in self.lines]
        for r, start in enumerate(self.starts):
            weights = self.weights(builder.add(start, at))
            for b, x in enumerate(inputs):
                slot = self.slots[b][r][chain]
                builder.store(self.kind.fma(builder, x, weights, builder.load(slot)), slot)

    def inputs(self, address, done):
        """A vector of a row of the input, the first `done` of it as zeros."""
        found = SINGLE.load(self.builder, address)
        if done is None:
            return found
        return self.builder.select(SINGLE.below(self.builder, done), SINGLE.zero, found)

    def weights(self, address):
        """A vector of bytes, as it is multiplied."""
        builder = self.builder
        where = builder.inttoptr(address, ir.VectorType(_I8, VL).as_pointer())
        wide = builder.sext(builder.load(where, align=1), ir.VectorType(_I32, VL))
        return builder.sitofp(wide, SINGLE.kind)

    def totals(self, of_line):
        """The sums over all lanes of some rows of the matrix."""
        return lane_totals(self.builder, [added(self.builder, of_row) for of_row in of_line])

    def store(self):
        """The sums, side by side for each row of the input."""
        builder = self.builder
        for b, of_line in enumerate(self.slots):
            totals = self.totals(of_line)
            where = builder.add(self.sums, _I64(4 * len(of_line) * b))
            builder.store(totals, builder.inttoptr(where, totals.type.as_pointer()), align=4)


def products_by(name, lines):
    """Functions that multiply ROWS rows of the matrix with BESIDE of the input, ROWS with one, and
    one with one: (matrix, bytes between rows, input, bytes between its rows, elements of a row,
    sums)."""

    def made(rows, beside):
        label, kinds = f"{name}_{rows}_{beside}", (i64,) * 6
        return Emitted(label, None, kinds, lambda b, v: lines(b, v, rows, beside).emit())

    return made(ROWS, BESIDE), made(ROWS, 1), made(1, 1)


_tile, _strip, _single = products_by("byte_products", Lines)


@function(reassociate=True)
def short_product(x, w, count):
    """The inner product of rows with fewer elements than a vector."""
    total = f32(0)
    for i in range(count):
        total += x[i] * f32(w[i])
    return total


@function
def finish(g, sums, c, rows, r, beside):
    """Scales and bias of the sums of `rows` rows of the matrix from c, `beside` of the input from
    r; the sums themselves where rows are short."""
    n, channels = g[7], g[8]
    scale, bias, out = array(f32, g[SCALE]), array(f32, g[BIAS]), array(f32, g[OUT])
    total = array(f32, sums)
    for b in range(beside):
        for i in range(rows):
            found = total[b * rows + i]
            if n < VL:
                x, w = array(f32, g[X] + 4 * (r + b) * n), array(i8, g[W] + (c + i) * n)
                found = short_product(x, w, n)
            found = found * scale[c + i]
            if g[9] != 0:
                found = found + bias[c + i]
            out[(r + b) * channels + c + i] = found


@function
def products(g, c, rows, r, beside, sums):
    """Some outputs: one of the three ways to multiply, then :func:`finish`."""
    n = g[7]
    w, x = g[W] + c * n, g[X] + 4 * r * n
    if n >= VL:
        if beside > 1:
            _tile(w, n, x, 4 * n, n, sums)
        elif rows > 1:
            _strip(w, n, x, 4 * n, n, sums)
        else:
            _single(w, n, x, 4 * n, n, sums)
    finish(g, sums, c, rows, r, beside)


@range_kernel
def byte_rows(args, lo, hi, tid):
    """OUT[r, c] = X[r, :] . W[c, :] * SCALE[c] + BIAS[c]: items are rows c of W. Constants: rows of
    X, elements of a row, rows of W, whether there is a bias (else that word is any address)."""
    g = array(i64, args)
    lines, whole = g[6], lo + (hi - lo) // ROWS * ROWS
    tiled, sums = lines // BESIDE * BESIDE, stack(ROWS * BESIDE)
    for c in range(lo, whole, ROWS):
        for r in range(0, tiled, BESIDE):
            products(g, c, i64(ROWS), r, i64(BESIDE), sums)
        for r in range(tiled, lines):
            products(g, c, i64(ROWS), r, i64(1), sums)
    for c in range(whole, hi):
        for r in range(lines):
            products(g, c, i64(1), r, i64(1), sums)


@range_kernel
def scaled_rows(args, lo, hi, tid):
    """OUT[c, :] = W[c, :] * scale[c]: items are rows c of W, of `n` elements."""
    g = array(i64, args)
    scale, n = array(f32, g[3]), g[4]
    for c in range(lo, hi):
        to, row = array(f32, g[OUT] + 4 * c * n), array(i8, g[2] + c * n)
        for i in range(n):
            to[i] = f32(row[i]) * scale[c]

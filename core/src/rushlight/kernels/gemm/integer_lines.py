"""Products of few rounded rows with a matrix of bytes, which is read once, as it is: the sums of
:mod:`rushlight.kernels.gemm.integer_products` without packing. Import at first need."""

from __future__ import annotations

from rushlight.kernels.gemm import integer_tiles as tiles
from rushlight.kernels.gemm.byte_kernels import BESIDE, ROWS, Lines, products_by
from rushlight.kernels.gemm.integer_tiles import BYTES, VALUE_BYTES, VALUES
from rushlight.kernels.gemm.line_emitters import lane_totals
from rushlight.kernels.gemm.microkernel import VL
from rushlight.machine.language.functions import (
    array,
    f32,
    function,
    i8,
    i32,
    i64,
    range_kernel,
    stack,
    u16,
)
from rushlight.machine.llvm import ir

A, A_SCALE, A_START, W, SCALE, BIAS, C, M, N, K, A_ROW = range(11)  # argument words

COUNT = VL * VALUES  # elements of a row in a vector
_I16, _I64 = ir.IntType(16), ir.IntType(64)
_ELEMENTS = ir.VectorType(ir.IntType(8 * VALUE_BYTES), COUNT)
_MATRIX = ir.VectorType(ir.IntType(8), COUNT)
_SIGNS = ir.Constant(_MATRIX, [128] * COUNT)
_PLACES = ir.VectorType(_I16, COUNT)


class _IntegerLines(Lines):
    """Whole numbers: words of the input and of the matrix as those of tiles."""

    kind, count, input_bytes = tiles.INTEGERS, COUNT, VALUE_BYTES

    def inputs(self, address, done):
        builder = self.builder
        where = builder.inttoptr(address, _ELEMENTS.as_pointer())
        found = builder.load(where, align=VALUE_BYTES)
        if done is not None:
            undefined = ir.Constant(_PLACES, ir.Undefined)
            one = builder.insert_element(undefined, builder.trunc(done, _I16), _I64(0))
            first = ir.Constant(ir.VectorType(ir.IntType(32), COUNT), [0] * COUNT)
            limit = builder.shuffle_vector(one, undefined, first)
            below = builder.icmp_signed("<", ir.Constant(_PLACES, list(range(COUNT))), limit)
            found = builder.select(below, ir.Constant(_ELEMENTS, [0] * COUNT), found)
        return builder.bitcast(found, self.kind.kind)

    def weights(self, address):
        builder = self.builder
        found = builder.load(builder.inttoptr(address, _MATRIX.as_pointer()), align=1)
        found = builder.xor(found, _SIGNS) if BYTES else builder.sext(found, _ELEMENTS)
        return builder.bitcast(found, self.kind.kind)

    def totals(self, of_line):
        builder, parts = self.builder, []
        for of_row in of_line:
            total = None
            for slot in of_row:
                part = builder.bitcast(builder.load(slot), tiles.WORDS)
                total = part if total is None else builder.add(total, part)
            parts.append(total)
        return lane_totals(builder, parts, builder.add)


_tile, _strip, _single = products_by("integer_products", _IntegerLines)


@function
def short_product(x, w, count):
    """The inner product of rows with fewer elements than a vector, as vectors give it: bytes of the
    matrix 128 too large."""
    small, wide, line, total = array(i8, x), array(u16, x), array(i8, w), i32(0)
    for i in range(count):
        if BYTES:
            total += i32(small[i]) * (i32(line[i]) + 128)
        else:
            total += (i32(wide[i]) << 16 >> 16) * i32(line[i])
    return total


@function(fused=False)
def finish(g, sums, c, rows, r, beside):
    """As of whole tiles: scales (if there are some) and bias of sums of `rows` rows of the matrix
    from c, `beside` of the input from r."""
    k, channels, own, start = g[K], g[N], array(f32, g[A_SCALE]), array(i32, g[A_START])
    scale, bias, out, total = array(f32, g[SCALE]), g[BIAS], array(f32, g[C]), array(i32, sums)
    whole = array(i32, g[C])
    for b in range(beside):
        for i in range(rows):
            found, at = total[b * rows + i], (r + b) * channels + c + i
            if k < COUNT:
                found = short_product(g[A] + (r + b) * g[A_ROW], g[W] + (c + i) * k, k)
            found += start[r + b]
            if g[A_SCALE] == 0:
                whole[at] = found
            else:
                value = f32(found) * (own[r + b] * scale[c + i])
                if bias != 0:
                    value = value + array(f32, bias)[c + i]
                out[at] = value


@function
def products(g, c, rows, r, beside, sums):
    """Some outputs: one of the three ways to multiply, then :func:`finish`."""
    k, line = g[K], g[A_ROW]
    w, x = g[W] + c * k, g[A] + r * line
    if k >= COUNT:
        if beside > 1:
            _tile(w, k, x, line, k, sums)
        elif rows > 1:
            _strip(w, k, x, line, k, sums)
        else:
            _single(w, k, x, line, k, sums)
    finish(g, sums, c, rows, r, beside)


@range_kernel
def line_kernel(args, lo, hi, tid):
    """Items are rows of the matrix."""
    g = array(i64, args)
    lines, whole = g[M], lo + (hi - lo) // ROWS * ROWS
    tiled, sums = lines // BESIDE * BESIDE, stack(ROWS * BESIDE)
    for c in range(lo, whole, ROWS):
        for r in range(0, tiled, BESIDE):
            products(g, c, i64(ROWS), r, i64(BESIDE), sums)
        for r in range(tiled, lines):
            products(g, c, i64(ROWS), r, i64(1), sums)
    for c in range(whole, hi):
        for r in range(lines):
            products(g, c, i64(1), r, i64(1), sums)

"""Pieces of a product of few rows (or one column) with a matrix, which is read once: float32 or
float64.

`dot_rows` multiplies rows of the matrix with a vector, ROWS of them at once, so that what is loaded
of the vector serves them all, and `dot_pairs` with two vectors; `add_rows` adds multiples of as
many rows to the results; `add_columns` does that for the last columns, which do not fill a vector.
Addresses and distances are in bytes.
"""

from __future__ import annotations

from rushlight.kernels.gemm.microkernel import LINE_BYTES, prefetch
from rushlight.machine.language.element_vectors import DOUBLE, SINGLE
from rushlight.machine.language.functions import Chosen, Emitted, f32, f64, i64, real
from rushlight.machine.language.values import counted_loop
from rushlight.machine.llvm import ir

ROWS = 4  # of the matrix at once
PAIR = 2  # vectors at once
CHAINS = 8  # sums side by side: multiply-adds begin every half cycle and take four

I32, I64 = ir.IntType(32), ir.IntType(64)


def slots_of(builder, kind, count, start=None):
    """Vectors on the stack, of zeros or another start; the optimiser keeps them in registers."""
    slots = [builder.alloca(kind.kind) for _ in range(count)]
    for slot in slots:
        builder.store(kind.zero if start is None else start, slot)
    return slots


def _add_product(builder, kind, slot, a, b):
    builder.store(kind.fma(builder, a, b, builder.load(slot)), slot)


def added(builder, slots):
    """The sum of some vectors, pairs of them first."""
    parts = [builder.load(slot) for slot in slots]
    while len(parts) > 1:
        parts = [builder.fadd(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _chosen(builder, a, b, lanes):
    """Lanes of two vectors, those of b counted on from those of a."""
    kind = ir.VectorType(I32, len(lanes))
    return builder.shuffle_vector(a, b, ir.Constant(kind, lanes))


def lane_totals(builder, vectors, combined=None):
    """A vector of the sums over the lanes of each of 1, 2, 4 or more vectors: halves are added to
    halves, or `combined` with them, those of two vectors at once."""
    combined = combined or builder.fadd
    lanes = vectors[0].type.count
    width = lanes  # lanes that belong to one of the sums
    while len(vectors) > 1 or width > 1:
        if width == 1:  # more sums than lanes
            both = zip(vectors[::2], vectors[1::2], strict=True)
            vectors = [_chosen(builder, a, b, list(range(2 * lanes))) for a, b in both]
            lanes *= 2
            continue
        half = width // 2
        low = [i for i in range(2 * lanes) if i % width < half]
        if len(vectors) > 1:
            pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
        else:
            low = low[: lanes // 2]
            pairs = [(vectors[0], vectors[0])]
        high = [i + half for i in low]
        vectors = [
            combined(_chosen(builder, a, b, low), _chosen(builder, a, b, high)) for a, b in pairs
        ]
        lanes, width = len(low), half
    return vectors[0]


def _emit_dots(builder, values, kind, rows, vectors=1):
    """sums[v * rows + r] += dot(row r of the matrix, vector v)."""
    matrix, row, first, across, count, sums = values
    beside, width = CHAINS // (rows * vectors), kind.count
    slots = [slots_of(builder, kind, beside) for _ in range(vectors * rows)]
    starts = [builder.add(matrix, builder.mul(row, I64(r))) for r in range(rows)]
    begins = [builder.add(first, builder.mul(across, I64(v))) for v in range(vectors)]

    def products(offset, u, mask=None):
        given = [kind.load(builder, builder.add(begin, offset), mask) for begin in begins]
        for r in range(rows):
            y = kind.load(builder, builder.add(starts[r], offset), mask)
            for v, x in enumerate(given):
                _add_product(builder, kind, slots[v * rows + r][u], x, y)

    size = kind.size
    blocks = builder.sdiv(count, I64(width * beside))
    with counted_loop(builder, blocks) as block:
        for u in range(beside):
            start = builder.mul(block, I64(size * width * beside))
            products(builder.add(start, I64(size * width * u)), u)
    done = builder.mul(blocks, I64(width * beside))
    left = builder.sub(count, done)
    rest = builder.sdiv(builder.add(left, I64(width - 1)), I64(width))
    with counted_loop(builder, rest) as index:
        begun = builder.mul(index, I64(width))
        mask = kind.below(builder, builder.sub(left, begun))
        products(builder.mul(builder.add(done, begun), I64(size)), 0, mask)
    totals = lane_totals(builder, [added(builder, each) for each in slots])
    where = builder.inttoptr(sums, totals.type.as_pointer())
    builder.store(builder.fadd(builder.load(where, align=size), totals), where, align=size)


def _emit_add_rows(builder, values, kind, rows):
    """out[j] += sum over r of vector[r] * matrix[r, j] for whole vectors of j. Each line asks for
    that of the rows which are next: a short piece of a row tells hardware nothing of them."""
    matrix, row, vector, vectors, out = values
    ahead = builder.mul(row, I64(rows))
    factors = [kind.scalar(builder, builder.add(vector, I64(kind.size * r))) for r in range(rows)]
    starts = [builder.add(matrix, builder.mul(row, I64(r))) for r in range(rows)]
    bytes_of_vector = kind.size * kind.count
    beside = max(1, LINE_BYTES // bytes_of_vector)

    def sums(offset):
        total = None
        for factor, start in zip(factors, starts, strict=True):
            y = kind.load(builder, builder.add(start, offset))
            first = total is None
            total = builder.fmul(factor, y) if first else kind.fma(builder, factor, y, total)
        where = builder.add(out, offset)
        kind.store(builder, builder.fadd(kind.load(builder, where), total), where)

    lines = builder.sdiv(vectors, I64(beside))
    with counted_loop(builder, lines) as index:
        line = builder.mul(index, I64(bytes_of_vector * beside))
        for start in starts:
            prefetch(builder, builder.add(builder.add(start, line), ahead))
        for v in range(beside):
            sums(builder.add(line, I64(bytes_of_vector * v)))
    done = builder.mul(lines, I64(beside))
    with counted_loop(builder, builder.sub(vectors, done)) as index:
        sums(builder.mul(builder.add(done, index), I64(bytes_of_vector)))


def _emit_add_columns(builder, values, kind):
    """out[j] += sum over all rows r of vector[r] * matrix[r, j] for the columns of one vector."""
    matrix, row, vector, count, columns, out = values
    mask = kind.below(builder, columns)
    slots = slots_of(builder, kind, ROWS)

    def product(index, slot):
        factor = kind.scalar(builder, builder.add(vector, builder.mul(index, I64(kind.size))))
        y = kind.load(builder, builder.add(matrix, builder.mul(index, row)), mask)
        _add_product(builder, kind, slot, factor, y)

    blocks = builder.sdiv(count, I64(ROWS))
    with counted_loop(builder, blocks) as block:
        for u in range(ROWS):
            product(builder.add(builder.mul(block, I64(ROWS)), I64(u)), slots[u])
    done = builder.mul(blocks, I64(ROWS))
    with counted_loop(builder, builder.sub(count, done)) as index:
        product(builder.add(done, index), slots[0])
    a, b, c, d = (builder.load(slot) for slot in slots)
    total = builder.fadd(builder.fadd(a, b), builder.fadd(c, d))
    old = kind.load(builder, out, mask)
    kind.store(builder, builder.fadd(old, total), out, mask)


def _of_both(name, arguments, emit, *more):
    """The piece for the type of a kernel's parameter ``real``."""

    def piece(kind):
        label = "_".join([name, *map(str, more), kind.label])
        kinds = (i64,) * arguments
        return Emitted(label, None, kinds, lambda b, values: emit(b, values, kind, *more))

    return Chosen(real, {f32: piece(SINGLE), f64: piece(DOUBLE)})


# (matrix, bytes between rows, vector, bytes to the next one, its length, address of the sums)
dot_rows = _of_both("dot_rows", 6, _emit_dots, ROWS)
dot_row = _of_both("dot_rows", 6, _emit_dots, 1)
dot_pairs = _of_both("dot_pairs", 6, _emit_dots, ROWS, PAIR)
# (matrix, bytes between rows, address of the factors, vectors of columns, results)
add_rows = _of_both("add_rows", 5, _emit_add_rows, ROWS)
add_row = _of_both("add_rows", 5, _emit_add_rows, 1)
# (matrix, bytes between rows, vector, its length, columns, results)
add_columns = _of_both("add_columns", 6, _emit_add_columns)

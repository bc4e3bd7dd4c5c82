"""Products of few rows, or of one column, with a matrix, which is read once.

The matrix is multiplied where it is: packing or copying it would cost more than the product. Of
several rows the vectors are multiplied in turn with what of the matrix is in the first cache.
Items are outputs; the parts depend on shapes only. Import at first need: it imports the compiler.
"""

from __future__ import annotations

from rushlight.kernels.gemm.line_emitters import (
    PAIR,
    ROWS,
    add_columns,
    add_row,
    add_rows,
    dot_pairs,
    dot_row,
    dot_rows,
)
from rushlight.kernels.launch.execution import language_type
from rushlight.machine import threads
from rushlight.machine.language.element_vectors import VL
from rushlight.machine.language.functions import (
    array,
    f32,
    function,
    i64,
    range_kernel,
    real,
    stack,
)

# Argument words. The first four are given at each call; the vector is A or (`VECTOR`: 1) B. Of
# several vectors their number, and the bytes from one to the next and between their outputs.
A, B, C, BIAS, INNER, ROW, VECTOR, BY_DOTS, ACCUMULATE, ONE_BIAS, COUNT, ACROSS, C_ACROSS = range(
    13
)
OUTPUTS, OFFSETS_A, OFFSETS_B = range(13, 16)  # of a batch

RUN = 256 * VL  # products of an output that are added up in the sums of its vectors
BLOCK = 1024  # outputs that stay in the first cache while rows are added to them
LINE = 16  # outputs of a part are a multiple of this: its lines of the matrix are its own
PART_WORK = 65_000  # multiply-adds of a part
MOST_PARTS = 16
MOST_VECTORS = 8


@function
def begin_dots(g, totals, first, rows):
    """What some outputs of each vector begin with."""
    total, bias = array(real, totals), array(real, g[BIAS])
    for v in range(g[COUNT]):
        c = array(real, g[C] + v * g[C_ACROSS])
        for r in range(rows):
            value = c[first + r] if g[ACCUMULATE] != 0 else real(0)
            if g[BIAS] != 0:
                value += bias[0 if g[ONE_BIAS] != 0 else first + r]
            total[v * ROWS + r] = value


@function
def add_dots(matrix, row, vector, across, count, inner, totals):
    """totals[v * ROWS + r] += dot(row r of the matrix, vector v), of ROWS rows."""
    size, v = real.bits // 8, i64(0)
    while v + PAIR <= count:
        dot_pairs(matrix, row, vector + v * across, across, inner, totals + size * ROWS * v)
        v += PAIR
    if v < count:
        dot_rows(matrix, row, vector + v * across, across, inner, totals + size * ROWS * v)


@function
def dots(g, matrix, vector, lo, hi):
    """Outputs lo..hi-1: each is the inner product of a row of the matrix with a vector."""
    size = real.bits // 8
    row, inner, across, totals = g[ROW], g[INNER], g[ACROSS], stack(MOST_VECTORS * ROWS)
    total = array(real, totals)
    for first in range(lo, hi, ROWS):
        rows = min(i64(ROWS), hi - first)
        begin_dots(g, totals, first, rows)
        for k in range(0, inner, RUN):
            count = min(i64(RUN), inner - k)
            here, part = matrix + first * row + size * k, vector + size * k
            if rows == ROWS:
                add_dots(here, row, part, across, g[COUNT], count, totals)
            else:
                for v in range(g[COUNT]):
                    own = totals + size * ROWS * v
                    for r in range(rows):
                        beside = here + r * row
                        dot_row(beside, row, part + v * across, across, count, own + size * r)
        for v in range(g[COUNT]):
            c = array(real, g[C] + v * g[C_ACROSS])
            for r in range(rows):
                c[first + r] = total[v * ROWS + r]


@function
def begin_rows(g, out, columns, first):
    """Outputs of the columns from `first` on of each vector: what they begin with."""
    size = real.bits // 8
    bias = array(real, g[BIAS] + size * (0 if g[ONE_BIAS] != 0 else first))
    for v in range(g[COUNT]):
        c = array(real, out + v * g[C_ACROSS])
        if g[ACCUMULATE] == 0:
            for j in range(columns):
                c[j] = real(0)
        if g[BIAS] != 0:
            if g[ONE_BIAS] != 0:
                value = bias[0]
                for j in range(columns):
                    c[j] += value
            else:
                for j in range(columns):
                    c[j] += bias[j]


@function
def sums_of_rows(g, matrix, vector, lo, hi):
    """Outputs lo..hi-1: the rows of the matrix, each times an element of a vector, added up."""
    size = real.bits // 8
    width = VL if real is f32 else VL // 2
    row, inner, across, c_across = g[ROW], g[INNER], g[ACROSS], g[C_ACROSS]
    for first in range(lo, hi, BLOCK):
        columns = min(i64(BLOCK), hi - first)
        out, here = g[C] + size * first, matrix + size * first
        begin_rows(g, out, columns, first)
        vectors = columns // width
        whole = inner // ROWS * ROWS
        for k in range(0, whole, ROWS):
            for v in range(g[COUNT]):
                factors = vector + v * across + size * k
                add_rows(here + k * row, row, factors, vectors, out + v * c_across)
        for k in range(whole, inner):
            for v in range(g[COUNT]):
                factor = vector + v * across + size * k
                add_row(here + k * row, row, factor, vectors, out + v * c_across)
        done = vectors * width
        if done < columns:
            for v in range(g[COUNT]):
                own, last = vector + v * across, out + v * c_across + size * done
                add_columns(here + size * done, row, own, inner, columns - done, last)


@range_kernel
def line_kernel(args, lo, hi, tid):
    """Items are outputs."""
    g = array(i64, args)
    matrix, vector = g[B], g[A]
    if g[VECTOR] != 0:
        matrix, vector = g[A], g[B]
    if g[BY_DOTS] != 0:
        dots(g, matrix, vector, lo, hi)
    else:
        sums_of_rows(g, matrix, vector, lo, hi)


@range_kernel
def batch_of_lines(args, lo, hi, tid):
    """Items are whole products; the operands are at byte offsets from two tables."""
    g, words = array(i64, args), stack(OUTPUTS)
    offsets_a, offsets_b = array(i64, g[OFFSETS_A]), array(i64, g[OFFSETS_B])
    p = array(i64, words)
    for i in range(OUTPUTS):
        p[i] = g[i]
    for item in range(lo, hi):
        a, b = g[A] + offsets_a[item], g[B] + offsets_b[item]
        matrix, vector = b, a
        if g[VECTOR] != 0:
            matrix, vector = a, b
        p[C] = g[C] + real.bits // 8 * item * g[OUTPUTS]
        if g[BY_DOTS] != 0:
            dots(p, matrix, vector, i64(0), g[OUTPUTS])
        else:
            sums_of_rows(p, matrix, vector, i64(0), g[OUTPUTS])


def parts_of(work):
    """How many parts so many multiply-adds are worth, which read a matrix once."""
    parts = 1
    while parts < MOST_PARTS and 2 * parts * PART_WORK <= work:
        parts *= 2
    return parts


def batch_words(outputs, inner, row, vector_is_b, by_dots, tables, words):
    """Argument words of a batch: those of :func:`plan`, and the addresses of the tables."""
    own = [0] * words
    own[INNER], own[ROW], own[VECTOR], own[BY_DOTS] = inner, row, vector_is_b, by_dots
    own[COUNT] = 1
    own[OUTPUTS], (own[OFFSETS_A], own[OFFSETS_B]) = outputs, tables
    return own


def plan(outputs, inner, row, vector_is_b, by_dots, accumulate, one_bias, dtype, words, vectors):
    """A launch plan: ``row`` is the distance in bytes of rows of the matrix as it is, which are
    multiplied with the vector (``by_dots``) or have an element for each output. The vector is
    dense. ``words``: how many argument words the plan shall have; ``vectors``: how many there are,
    and bytes from one to the next."""
    own = [0] * words
    own[INNER], own[ROW], own[VECTOR], own[BY_DOTS] = inner, row, vector_is_b, by_dots
    own[ACCUMULATE], own[ONE_BIAS] = accumulate, one_bias
    (own[COUNT], own[ACROSS]), own[C_ACROSS] = vectors, outputs * dtype.itemsize
    parts = parts_of(outputs * inner * vectors[0])
    grain = -(-outputs // parts)
    if parts > 1:
        grain = -(-grain // LINE) * LINE
    code = line_kernel.address(real=language_type(dtype))
    return threads.plan(code, outputs, grain, own)

"""Products of one row, or of one column, with a matrix, which each output reads once.

The matrix is multiplied where it is: packing or copying it would cost more than the product.
Items are outputs; the parts depend on shapes only. Import at first need: it imports the compiler.
"""

from __future__ import annotations

from rushlight.kernels.gemm.line_emitters import (
    ROWS,
    add_columns,
    add_row,
    add_rows,
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

# Argument words. The first four are given at each call; the vector is A or (`VECTOR`: 1) B.
A, B, C, BIAS, INNER, ROW, VECTOR, BY_DOTS, ACCUMULATE, ONE_BIAS = range(10)
OUTPUTS, OFFSETS_A, OFFSETS_B = range(10, 13)  # of a batch

RUN = 4096  # products of an output that are added up in the sums of its vectors
BLOCK = 1024  # outputs that stay in the first cache while rows are added to them
LINE = 16  # outputs of a part are a multiple of this: its lines of the matrix are its own
PART_WORK = 65_000  # multiply-adds of a part
MOST_PARTS = 16


@function
def dots(g, matrix, vector, lo, hi):
    """Outputs lo..hi-1: each is the inner product of a row of the matrix with the vector."""
    size = real.bits // 8
    row, inner, sums = g[ROW], g[INNER], stack(ROWS)
    c, total = array(real, g[C]), array(real, sums)
    bias = array(real, g[BIAS])
    for first in range(lo, hi, ROWS):
        rows = min(i64(ROWS), hi - first)
        for r in range(rows):
            total[r] = c[first + r] if g[ACCUMULATE] != 0 else real(0)
            if g[BIAS] != 0:
                total[r] += bias[0 if g[ONE_BIAS] != 0 else first + r]
        for k in range(0, inner, RUN):
            count = min(i64(RUN), inner - k)
            here, part = matrix + first * row + size * k, vector + size * k
            if rows == ROWS:
                dot_rows(here, row, part, count, sums)
            else:
                for r in range(rows):
                    dot_row(here + r * row, row, part, count, sums + size * r)
        for r in range(rows):
            c[first + r] = total[r]


@function
def sums_of_rows(g, matrix, vector, lo, hi):
    """Outputs lo..hi-1: the rows of the matrix, each times an element of the vector, added up."""
    size = real.bits // 8
    width = VL if real is f32 else VL // 2
    row, inner = g[ROW], g[INNER]
    for first in range(lo, hi, BLOCK):
        columns = min(i64(BLOCK), hi - first)
        out, here = g[C] + size * first, matrix + size * first
        c, bias = array(real, out), array(real, g[BIAS] + size * first)
        if g[ACCUMULATE] == 0:
            for j in range(columns):
                c[j] = real(0)
        if g[BIAS] != 0:
            if g[ONE_BIAS] != 0:
                value = array(real, g[BIAS])[0]
                for j in range(columns):
                    c[j] += value
            else:
                for j in range(columns):
                    c[j] += bias[j]
        vectors = columns // width
        whole = inner // ROWS * ROWS
        for k in range(0, whole, ROWS):
            add_rows(here + k * row, row, vector + size * k, vectors, out)
        for k in range(whole, inner):
            add_row(here + k * row, row, vector + size * k, vectors, out)
        done = vectors * width
        if done < columns:
            add_columns(here + size * done, row, vector, inner, columns - done, out + size * done)


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


def batch_words(outputs, inner, row, vector_is_b, by_dots, tables, words):
    """Argument words of a batch: those of :func:`plan`, and the addresses of the tables."""
    own = [0] * words
    own[INNER], own[ROW], own[VECTOR], own[BY_DOTS] = inner, row, vector_is_b, by_dots
    own[OUTPUTS], (own[OFFSETS_A], own[OFFSETS_B]) = outputs, tables
    return own


def plan(outputs, inner, row, vector_is_b, by_dots, accumulate, one_bias, dtype, words):
    """A launch plan: ``row`` is the distance in bytes of rows of the matrix as it is, which are
    multiplied with the vector (``by_dots``) or have an element for each output. The vector is
    dense. ``words``: how many argument words the plan shall have."""
    own = [0] * words
    own[INNER], own[ROW], own[VECTOR], own[BY_DOTS] = inner, row, vector_is_b, by_dots
    own[ACCUMULATE], own[ONE_BIAS] = accumulate, one_bias
    parts = 1
    while parts < MOST_PARTS and 2 * parts * PART_WORK <= outputs * inner:
        parts *= 2
    grain = -(-outputs // parts)
    if parts > 1:
        grain = -(-grain // LINE) * LINE
    code = line_kernel.address(real=language_type(dtype))
    return threads.plan(code, outputs, grain, own)

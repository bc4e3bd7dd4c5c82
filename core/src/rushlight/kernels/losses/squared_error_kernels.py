"""Compiled loops behind :mod:`rushlight.kernels.losses.squared_errors`: argument words follow
:mod:`rushlight.kernels.launch.prepared`. Import at first need."""

from __future__ import annotations

from rushlight.machine.language.functions import (
    Parameter,
    array,
    f32,
    f64,
    function,
    i64,
    range_kernel,
    real,
)

OUT, X, Y, N, DIVISOR, ROWS, COUNT, STEP = range(1, 9)
BLOCKS = 3  # the constants of `added` begin here
RUN = 4096  # elements that are added up in the arrays' own precision
BLOCK = 65_536  # elements of an item

single = Parameter("single")  # 1: one item, whose quotient by the divisor is the result


@function(reassociate=True)
def run_of_squares(x, y, n):
    """The squared differences of a short run, in vectors."""
    total = real(0)
    for i in range(n):
        difference = x[i] - y[i]
        total += difference * difference
    return f64(total)


@function
def squares_between(x, y, n):
    """The squared differences of elements next to each other at two addresses."""
    size, total = 4 if real is f32 else 8, f64(0)
    for start in range(0, n, RUN):
        at, count = size * start, min(i64(RUN), n - start)
        total += run_of_squares(array(real, x + at), array(real, y + at), count)
    return total


@function
def keep(g, args, item, total):
    """Write the sum of an item, or the result where there is but one."""
    if single == 1:
        array(real, g[OUT])[0] = real(total / array(f64, args)[DIVISOR])
    else:
        array(f64, g[OUT])[item] = total


@range_kernel
def squares(args, lo, hi, tid):
    """Items are blocks of two arrays: the sums of their squared differences, in float64. Constants:
    elements, divisor."""
    g, size = array(i64, args), 4 if real is f32 else 8
    for item in range(lo, hi):
        first, last = item * BLOCK, min(g[N], (item + 1) * BLOCK)
        at = size * first
        keep(g, args, item, squares_between(g[X] + at, g[Y] + at, last - first))


@range_kernel
def squares_of_rows(args, lo, hi, tid):
    """The same of rows that are apart; items are blocks of rows. Constants: elements of a row,
    divisor, rows, rows of a block, bytes from row to row of each array."""
    g = array(i64, args)
    for item in range(lo, hi):
        first, last, total = item * g[COUNT], min(g[ROWS], (item + 1) * g[COUNT]), f64(0)
        for row in range(first, last):
            total += squares_between(g[X] + row * g[STEP], g[Y] + row * g[STEP + 1], g[N])
        keep(g, args, item, total)


@range_kernel
def added(args, lo, hi, tid):
    """The sums of blocks, one after the other, over a divisor. Constants: blocks, divisor."""
    g, total = array(i64, args), f64(0)
    parts = array(f64, g[X])
    for block in range(g[BLOCKS]):
        total += parts[block]
    array(real, g[OUT])[0] = real(total / array(f64, args)[BLOCKS + 1])

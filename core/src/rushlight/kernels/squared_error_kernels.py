"""Compiled loops behind :mod:`rushlight.kernels.squared_errors`: argument words follow
:mod:`rushlight.kernels.prepared`. Import at first need."""

from __future__ import annotations

from rushlight.backends.kernel_language import (
    Parameter,
    array,
    f32,
    f64,
    function,
    i64,
    range_kernel,
    real,
)

OUT, X = 1, 2
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


@range_kernel
def squares(args, lo, hi, tid):
    """Items are blocks of two arrays: the sums of their squared differences, in float64. Constants:
    elements, divisor."""
    g, size = array(i64, args), 4 if real is f32 else 8
    n, y = g[4], g[3]
    for item in range(lo, hi):
        first, last, total = item * BLOCK, min(n, (item + 1) * BLOCK), f64(0)
        for start in range(first, last, RUN):
            at, count = size * start, min(i64(RUN), last - start)
            total += run_of_squares(array(real, g[X] + at), array(real, y + at), count)
        if single == 1:
            array(real, g[OUT])[0] = real(total / array(f64, args)[5])
        else:
            array(f64, g[OUT])[item] = total


@range_kernel
def added(args, lo, hi, tid):
    """The sums of blocks, one after the other, over a divisor. Constants: blocks, divisor."""
    g, total = array(i64, args), f64(0)
    parts = array(f64, g[X])
    for block in range(g[3]):
        total += parts[block]
    array(real, g[OUT])[0] = real(total / array(f64, args)[4])

"""Compiled loops behind :mod:`rushlight.kernels.reduction.sums`. Import at first need."""

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

# Argument words.
X, OUT, OUTER, N, INNER, BLOCKS = range(6)
RUN = 4096  # elements that are added up in the array's own precision
SEGMENT = 512

kind = Parameter("kind")
SUM, SQUARES, PRODUCT = range(3)


@function(reassociate=True)
def run_total(x, first, last):
    """One short run, in vectors; products in float64."""
    if kind == PRODUCT:
        product = f64(1)
        for i in range(first, last):
            product = product * f64(x[i])
        return product
    total = real(0)
    for i in range(first, last):
        if kind == SUM:
            total += x[i]
        else:
            total += x[i] * x[i]
    return f64(total)


@range_kernel(reassociate=True)
def reduce_rows(args, lo, hi, tid):
    """Items are blocks of rows; results are float64."""
    g = array(i64, args)
    n, blocks, size = g[N], g[BLOCKS], 4 if real is f32 else 8
    out = array(f64, g[OUT])
    for item in range(lo, hi):
        x = array(real, g[X] + size * (item // blocks) * n)
        first, last = n * (item % blocks) // blocks, n * (item % blocks + 1) // blocks
        total = f64(0)
        if kind == PRODUCT:
            total = f64(1)
        for start in range(first, last, RUN):
            part = run_total(x, start, min(last, start + RUN))
            if kind == PRODUCT:
                total = total * part
            else:
                total += part
        out[item] = total


@range_kernel
def reduce_columns(args, lo, hi, tid):
    """Items are blocks of rows times segments of columns; products are float64."""
    g = array(i64, args)
    n, inner, blocks, size = g[N], g[INNER], g[BLOCKS], 4 if real is f32 else 8
    segments = (inner + SEGMENT - 1) // SEGMENT
    for item in range(lo, hi):
        both, segment = item // segments, item % segments
        block, outer = both % blocks, both // blocks
        first, last = n * block // blocks, n * (block + 1) // blocks
        column = segment * SEGMENT
        width = min(inner - column, SEGMENT)
        out = array(real, g[OUT] + size * (both * inner + column))
        products = array(f64, g[OUT] + 8 * (both * inner + column))
        for i in range(width):
            if kind == PRODUCT:
                products[i] = 1
            else:
                out[i] = 0
        for row in range(first, last):
            x = array(real, g[X] + size * ((outer * n + row) * inner + column))
            for i in range(width):
                if kind == SUM:
                    out[i] += x[i]
                elif kind == SQUARES:
                    out[i] += x[i] * x[i]
                else:
                    products[i] = products[i] * f64(x[i])

"""Compiled products of dense matrices with vectors, and conversions of dense arrays.

Argument words follow :mod:`rushlight.kernels.prepared`. Import at first need.
"""

from __future__ import annotations

from rushlight.backends.kernel_language import (
    Parameter,
    array,
    element,
    f32,
    f64,
    function,
    i64,
    range_kernel,
    real,
    u8,
)

OUT, X, Y = 1, 2, 3
BLOCK = 4096  # elements of an item of a conversion
RUN = 8192  # elements that are added up in the array's own precision

source = Parameter("source")
truth = Parameter("truth")


@function(reassociate=True)
def run_product(x, y, first, last):
    """The inner product of a short run, in vectors."""
    total = real(0)
    for i in range(first, last):
        total += x[i] * y[i]
    return f64(total)


@range_kernel
def row_products(args, lo, hi, tid):
    """OUT[i] = X[i, :] . Y: items are rows. Constant: elements of a row."""
    g = array(i64, args)
    n, size = g[4], 4 if real is f32 else 8
    y, out = array(real, g[Y]), array(real, g[OUT])
    for item in range(lo, hi):
        x = array(real, g[X] + size * item * n)
        total = f64(0)
        for start in range(0, n, RUN):
            total += run_product(x, y, start, min(n, start + RUN))
        out[item] = real(total)


@range_kernel
def convert(args, lo, hi, tid):
    """Elements in another type: items are blocks. Floats become integers by way of int64, as
    elsewhere; `truth`: whether they are not zero. Constant: elements."""
    g = array(i64, args)
    x, out = array(source, g[X]), array(element, g[OUT])
    first, last = lo * BLOCK, min(hi * BLOCK, g[3])
    if truth == 1:
        for i in range(first, last):
            out[i] = u8(x[i] != source(0))
    elif (source is f32 or source is f64) and not (element is f32 or element is f64):
        for i in range(first, last):
            out[i] = element(i64(x[i]))
    else:
        for i in range(first, last):
            out[i] = element(x[i])

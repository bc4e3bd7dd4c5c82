"""Slices of an array scaled down to a largest norm, each read twice by one call. Argument words
follow :mod:`rushlight.kernels.launch.prepared`. Import at first need."""

from __future__ import annotations

from rushlight.kernels.reduction.fold_kernels import RUN, squares
from rushlight.machine.language.functions import (
    Parameter,
    absolute,
    array,
    f32,
    f64,
    function,
    i64,
    maximum,
    range_kernel,
    real,
    square_root,
)

OUT, X, OUTER, SLICES, INNER, LARGEST = range(1, 7)

order = Parameter("order")  # of the norm; 0 is the largest size


@function(reassociate=True)
def run_of_sizes(x, first, last):
    """The sizes of a short run, added up."""
    total = real(0)
    for i in range(first, last):
        total += absolute(x[i])
    return f64(total)


@function
def sizes(x, n):
    """Sizes added up run by run."""
    total = f64(0)
    for start in range(0, n, RUN):
        total += run_of_sizes(x, start, min(n, start + RUN))
    return total


@function
def largest_size(x, n):
    """The largest size, NaN if there is one."""
    best = real(0)
    for i in range(n):
        best = maximum(best, absolute(x[i]))
    return best


@range_kernel
def renorm_slices(args, lo, hi, tid):
    """Items are slices. LARGEST holds a double."""
    g = array(i64, args)
    outer, slices, inner, size = g[OUTER], g[SLICES], g[INNER], 4 if real is f32 else 8
    bound = real(array(f64, args)[LARGEST])
    for item in range(lo, hi):
        total, best = f64(0), real(0)
        for i in range(outer):
            x = array(real, g[X] + size * (i * slices + item) * inner)
            if order == 2:
                total += squares(x, inner)
            elif order == 1:
                total += sizes(x, inner)
            else:
                best = maximum(best, largest_size(x, inner))
        norm = best
        if order == 2:
            norm = real(square_root(total))
        if order == 1:
            norm = real(total)
        factor = real(1)
        if norm > bound:
            factor = bound / (norm + real(1e-7))
        for i in range(outer):
            place = size * (i * slices + item) * inner
            x, y = array(real, g[X] + place), array(real, g[OUT] + place)
            for j in range(inner):
                y[j] = x[j] * factor

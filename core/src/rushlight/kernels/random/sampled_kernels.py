"""Compiled loops behind :mod:`rushlight.kernels.random.sampled_indices`."""

from __future__ import annotations

from rushlight.machine.language.functions import (
    array,
    atomic_add,
    f32,
    f64,
    i64,
    infinity,
    range_kernel,
    real,
)

__all__ = ["running_sums", "search_sums"]

OUT, X, N, FAILED = range(4)
SUMS, DRAWS, COLUMNS, COUNT = range(1, 5)


@range_kernel
def running_sums(args, lo, hi, tid):
    """Items are rows: their running sums in their own dtype, one element after the other. Rows with
    NaN, negative elements, or a sum that is zero or infinite are counted. Words: OUT, X, N,
    FAILED."""
    g, size = array(i64, args), 4 if real is f32 else 8
    n = g[N]
    for row in range(lo, hi):
        x, out = array(real, g[X] + size * n * row), array(real, g[OUT] + size * n * row)
        total, valid = real(0), i64(1)
        for i in range(n):
            value = x[i]
            valid = valid if value >= 0 else i64(0)
            total += value
            out[i] = total
        if valid == 0 or total == 0 or total == infinity(real):
            atomic_add(g[FAILED], 1)


@range_kernel
def search_sums(args, lo, hi, tid):
    """Items are rows: for each draw how many running sums, as shares of the last, are below it.
    Words: OUT, SUMS, DRAWS, COLUMNS, COUNT."""
    g, size = array(i64, args), 4 if real is f32 else 8
    n, count = g[COLUMNS], g[COUNT]
    for row in range(lo, hi):
        sums = array(real, g[SUMS] + size * n * row)
        draws, out = array(f64, g[DRAWS] + 8 * count * row), array(i64, g[OUT] + 8 * count * row)
        whole = sums[n - 1]
        for k in range(count):
            draw, first, rest = draws[k], i64(0), n
            while rest > 0:
                half = rest // 2
                if f64(sums[first + half] / whole) < draw:
                    first += half + 1
                    rest -= half + 1
                else:
                    rest = half
            out[k] = first

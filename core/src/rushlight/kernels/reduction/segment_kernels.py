"""Compiled loop behind :mod:`rushlight.kernels.reduction.segments`."""

from __future__ import annotations

from rushlight.machine.language.functions import (
    Parameter,
    array,
    f32,
    f64,
    function,
    i64,
    maximum,
    minimum,
    range_kernel,
    real,
)

__all__ = ["reduce_segments"]

OUT, DATA, ENDS, N, INNER, SEGMENTS, START, EMPTY = range(8)
SUM, MEAN, MAX, MIN, PROD = range(5)

way = Parameter("way")


@function
def joined(old, value):
    """A result so far and one element more; NaN is an extreme."""
    if way == MAX:
        return maximum(old, value)
    if way == MIN:
        return minimum(old, value)
    if way == PROD:
        return old * value
    return old + value


@function(reassociate=True)
def row_of(x, n, start):
    """The result of neighbours."""
    found = start
    for i in range(n):
        found = joined(found, x[i])
    return found


@range_kernel
def reduce_segments(args, lo, hi, tid):
    """Items are segments. Words: OUT (outer, SEGMENTS, INNER), DATA (outer, N, INNER), ENDS (outer,
    SEGMENTS), what they begin with, and what the mean of no elements is."""
    g, size = array(i64, args), 4 if real is f32 else 8
    ends, inner, segments = array(i64, g[ENDS]), g[INNER], g[SEGMENTS]
    start, empty = real(array(f64, args)[START]), real(array(f64, args)[EMPTY])
    for item in range(lo, hi):
        last, first = ends[item], i64(0)
        if item % segments > 0:
            first = ends[item - 1]
        count = last - first
        x = array(real, g[DATA] + size * inner * (item // segments * g[N] + first))
        out = array(real, g[OUT] + size * inner * item)
        if inner == 1:
            out[0] = row_of(x, count, start)
        else:
            for j in range(inner):
                out[j] = start
            for i in range(count):
                for j in range(inner):
                    out[j] = joined(out[j], x[i * inner + j])
        if way == MEAN:
            for j in range(inner):
                out[j] = out[j] / real(count) if count > 0 else empty

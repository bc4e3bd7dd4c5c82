"""Compiled loops behind :mod:`rushlight.kernels.reduction.small_reduction`. Import at first
need."""

from __future__ import annotations

from rushlight.kernels.reduction.extreme_kernels import (
    SHORT,
    SIDE,
    columns_selected,
    few_extremes,
    row_extreme,
    rows_selected,
)
from rushlight.kernels.reduction.total_kernels import means_in_vectors
from rushlight.kernels.reduction.totals import VECTORED
from rushlight.machine.language.functions import (
    Parameter,
    array,
    element,
    f32,
    f64,
    function,
    i64,
    maximum,
    minimum,
    range_kernel,
    u8,
)

# Argument words.
X, OUT, PLACES, OUTER, N, INNER = range(6)

kind = Parameter("kind")
SUM, MEAN, MAX, MIN = range(4)
total = Parameter("total")  # the type sums are made in, which is the result's


@function(reassociate=True)
def combined(old, value):
    """A result so far and one element more; NaN is an extreme where there is one."""
    if kind == SUM or kind == MEAN:
        return old + total(value)
    if kind == MAX:
        if element is f32 or element is f64:
            return maximum(old, value)
        return old if old >= value else value
    if element is f32 or element is f64:
        return minimum(old, value)
    return old if old <= value else value


@function
def size_of():
    """Bytes of an element."""
    if element is u8:
        return 1
    if element is f32:
        return 4
    return 8


@range_kernel(reassociate=True)
def reduce_small(args, lo, hi, tid):
    """Sums, means and extremes of an (outer, n, inner) array."""
    g = array(i64, args)
    outer, n, inner = g[OUTER], g[N], g[INNER]
    out = array(total, g[OUT])
    if kind == MAX or kind == MIN:
        if inner == 1 and n <= SHORT:
            for o in range(0, outer, SIDE):
                x = array(element, g[X] + size_of() * o * n)
                row = array(element, g[OUT] + size_of() * o)
                few_extremes(x, 1, n, n, min(SIDE, outer - o), row)
            return
    elif element is f32 or element is f64:
        if inner == 1 and n <= VECTORED:
            divisor = element(n) if kind == MEAN else element(1)
            means_in_vectors(g[X], size_of() * n, n, i64(0), outer, g[OUT], divisor)
            return
    for o in range(outer):
        x = array(element, g[X] + size_of() * o * n * inner)
        if inner == 1:
            if kind == MAX or kind == MIN:
                out[o] = row_extreme(g[X] + size_of() * o * n, n)
            else:
                found = total(x[0])
                for i in range(1, n):
                    found = combined(found, x[i])
                out[o] = found
        else:
            row = array(
                total, g[OUT] + (1 if total is u8 else 4 if total is f32 else 8) * o * inner
            )
            for j in range(inner):
                row[j] = total(x[j])
            for i in range(1, n):
                at = i * inner
                for j in range(inner):
                    row[j] = combined(row[j], x[at + j])
    if kind == MEAN:
        for o in range(outer * inner):
            out[o] = out[o] / total(n)


@range_kernel(reassociate=True)
def select_small(args, lo, hi, tid):
    """Positions of extremes, and for the kinds with values the extremes."""
    g = array(i64, args)
    outer, n, inner = g[OUTER], g[N], g[INNER]
    places, values = array(i64, g[PLACES]), array(element, g[OUT])
    if inner == 1:
        rows_selected(g[X], size_of(), n, 0, outer, values, places)
    else:
        items = outer * ((inner + SIDE - 1) // SIDE)
        columns_selected(g[X], size_of(), n, inner, 0, items, values, places)

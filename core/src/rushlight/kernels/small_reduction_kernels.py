"""Compiled loops behind :mod:`rushlight.kernels.small_reduction`. Import at first need."""

from __future__ import annotations

from rushlight.backends.kernel_language import (
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
    stack,
    static,
    u8,
)

# Argument words.
X, OUT, PLACES, OUTER, N, INNER = range(6)

LANES = 16

kind = Parameter("kind")
SUM, MEAN, MAX, MIN, ARGMAX, ARGMIN, MAX_AT, MIN_AT = range(8)
total = Parameter("total")  # the type sums are made in, which is the result's


@function(reassociate=True)
def combined(old, value):
    """A result so far and one element more; NaN is an extreme where there is one."""
    if kind == SUM or kind == MEAN:
        return old + total(value)
    if kind == MAX or kind == ARGMAX or kind == MAX_AT:
        if element is f32 or element is f64:
            return maximum(old, value)
        return old if old >= value else value
    if element is f32 or element is f64:
        return minimum(old, value)
    return old if old <= value else value


@function(reassociate=True)
def place_of(x, n, step):
    """The first place of the extreme among n elements."""
    best = x[0]
    if step == 1 and n >= 2 * LANES:  # the vectorizer does not see this loop through
        lanes, whole = array(element, stack(LANES)), n - n % LANES
        for j in static(LANES):
            lanes[j] = x[j]
        for i in range(LANES, whole, LANES):
            for j in static(LANES):
                lanes[j] = combined(lanes[j], x[i + j])
        for j in static(LANES):
            best = combined(best, lanes[j])
        for i in range(whole, n):
            best = combined(best, x[i])
    else:
        for i in range(1, n):
            best = combined(best, x[i * step])
    for i in range(n):
        value = x[i * step]
        if value == best or (value != value and best != best):
            return i
    return i64(0)


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
    for o in range(outer):
        x = array(element, g[X] + size_of() * o * n * inner)
        if inner == 1:
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
    """Places of extremes, and for the kinds with values the extremes."""
    g = array(i64, args)
    outer, n, inner = g[OUTER], g[N], g[INNER]
    places, values = array(i64, g[PLACES]), array(element, g[OUT])
    for o in range(outer):
        for j in range(inner):
            x = array(element, g[X] + size_of() * (o * n * inner + j))
            place = i64(0)
            if inner == 1:
                place = place_of(x, n, 1)
            else:
                place = place_of(x, n, inner)
            places[o * inner + j] = place
            if kind == MAX_AT or kind == MIN_AT:
                values[o * inner + j] = x[place * inner]

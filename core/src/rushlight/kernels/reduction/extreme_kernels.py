"""Compiled loops for extremes and where they first are: rows, and columns side by side.

Short rows are treated as columns, many at a time: one alone is over before its vectors begin.
NaN is an extreme where there is one. Import at first need.
"""

from __future__ import annotations

from rushlight.kernels.reduction import row_extremes
from rushlight.kernels.reduction.row_extremes import FEW
from rushlight.machine.language.functions import (
    Chosen,
    Parameter,
    array,
    element,
    f32,
    f64,
    function,
    i32,
    i64,
    independent,
    range_kernel,
    stack,
    stored,
)
from rushlight.machine.worker_pool import scratch

SHORT = 2  # elements of a row up to which rows are columns
SIDE = 64  # columns that go together
WIDENED = 4096  # elements of short rows that are widened at a time

largest = Parameter("largest")  # 1: the largest are asked for
places_only = Parameter("places_only")
row_largest = Chosen(element, row_extremes.largest)
row_smallest = Chosen(element, row_extremes.smallest)
few_largest = Chosen(element, row_extremes.largest_of_few)
few_smallest = Chosen(element, row_extremes.smallest_of_few)
select_largest = Chosen(element, row_extremes.select_largest)
select_smallest = Chosen(element, row_extremes.select_smallest)
row_place = Chosen(element, row_extremes.first_place)


@function
def takes_over(value, best):
    """Whether an element is the extreme from here on: the first of equal ones, and NaN."""
    if element is f32 or element is f64:
        if largest == 1:
            return ((value > best) | (value != value)) & (best == best)
        return ((value < best) | (value != value)) & (best == best)
    if largest == 1:
        return value > best
    return value < best


@function(reassociate=True)
def row_extreme(address, n):
    """The extreme of a row."""
    if element is f32 or element is f64:
        if n <= FEW:
            return few_largest(address, n) if largest == 1 else few_smallest(address, n)
        return row_largest(address, n) if largest == 1 else row_smallest(address, n)
    x = array(element, address)
    best = x[0]
    for i in range(1, n):
        if largest == 1:
            best = max(best, x[i])
        else:
            best = min(best, x[i])
    return best


@function
def place_in_row(address, n, value):
    """Where a row first has its extreme."""
    if element is f32 or element is f64:
        return row_place(address, n, value)
    x, place = array(element, address), i64(0)
    while place < n - 1 and x[place] != value:
        place += 1
    return place


@function
def few_extremes(x, step, n, across, count, best):
    """The extremes of `count` columns of n elements a `step` apart; columns are `across` apart."""
    for j in independent(count):
        best[j] = x[j * across]
    for i in range(1, n):
        at = i * step
        for j in independent(count):
            value = x[at + j * across]
            best[j] = value if takes_over(value, best[j]) else best[j]


@function
def few_places(x, step, n, across, count, best, where):
    """The same, and where they first are."""
    for j in independent(count):
        best[j] = x[j * across]
        where[j] = 0
    for i in range(1, n):
        at = i * step
        for j in independent(count):
            value, old = x[at + j * across], best[j]
            takes = takes_over(value, old)
            best[j] = value if takes else old
            where[j] = i32(i) if takes else where[j]


@function
def write(values, places, at, count, best, where):
    """What was found for columns that go together."""
    if places_only == 0:
        for j in independent(count):
            values[at + j] = best[j]
    for j in independent(count):
        places[at + j] = i64(where[j])


@function
def few_selected(base, size, n, lo, hi, values, places):
    """Extremes of rows of at most FEW elements and their positions."""
    target = stack(1)
    for row in range(lo, hi):
        if largest == 1:
            places[row] = select_largest(base + size * row * n, n, target)
        else:
            places[row] = select_smallest(base + size * row * n, n, target)
        if places_only == 0:
            values[row] = array(element, target)[0]


@function
def rows_selected(base, size, n, lo, hi, values, places):
    """Extremes of rows and their positions."""
    if element is f32 or element is f64:
        if SHORT < n and n <= FEW:
            few_selected(base, size, n, lo, hi, values, places)
            return
    if n > SHORT:
        for row in range(lo, hi):
            address = base + size * row * n
            found = row_extreme(address, n)
            if places_only == 0:
                values[row] = found
            places[row] = place_in_row(address, n, found)
    else:
        best, where = array(element, stack(SIDE)), array(i32, stack(SIDE))
        for row in range(lo, hi, SIDE):
            count = min(SIDE, hi - row)
            few_places(array(element, base + size * row * n), 1, n, n, count, best, where)
            write(values, places, row, count, best, where)


@function
def wide_rows_selected(base, n, lo, hi, values, places, tid):
    """The same for rows of a type half as wide, some at a time as rows of `element`."""
    group = max(i64(1), WIDENED // n)
    room = scratch(tid, element.bits // 8 * group * n)
    wide = array(element, room)
    for row in range(lo, hi, group):
        count = min(group, hi - row)
        x = array(stored, base + stored.bits // 8 * row * n)
        for i in independent(count * n):
            wide[i] = x[i]
        found = array(stored, values + stored.bits // 8 * row)
        at = array(i64, places + 8 * row)
        rows_selected(room, element.bits // 8, n, i64(0), count, found, at)


@function
def columns_selected(base, size, n, inner, lo, hi, values, places):
    """Extremes of columns and their positions: items are SIDE columns."""
    best, where = array(element, stack(SIDE)), array(i32, stack(SIDE))
    segments = (inner + SIDE - 1) // SIDE
    for item in range(lo, hi):
        outer, column = item // segments, item % segments * SIDE
        count = min(SIDE, inner - column)
        x = array(stored, base + size * (outer * n * inner + column))
        few_places(x, inner, n, 1, count, best, where)
        write(values, places, outer * inner + column, count, best, where)


@function
def selected(base, size, n, inner, lo, hi, values, places, tid):
    """Extremes and positions of rows or columns; `values` and `places` are addresses."""
    if stored is not element and inner == 1:
        wide_rows_selected(base, n, lo, hi, values, places, tid)
    elif inner == 1:
        rows_selected(base, size, n, lo, hi, array(stored, values), array(i64, places))
    else:
        found, at = array(stored, values), array(i64, places)
        columns_selected(base, size, n, inner, lo, hi, found, at)


@range_kernel
def select(args, lo, hi, tid):
    """Items are rows, or SIDE columns. Constants: elements of a row, what is inside of it, bytes of
    an element."""
    g = array(i64, args)
    if places_only == 1:
        selected(g[2], g[5], g[3], g[4], lo, hi, i64(0), g[1], tid)
    else:
        selected(g[3], g[6], g[4], g[5], lo, hi, g[1], g[2], tid)

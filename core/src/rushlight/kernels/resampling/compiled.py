"""Compiled loops behind :mod:`rushlight.kernels.resampling.taps`. Import at first need.

Items are blocks of rows of the result: a row is a sum of rows of the input, then its elements are
sums of that one's. Tables hold the positions (int32) and weights of one tap after the other.
"""

from __future__ import annotations

from rushlight.kernels.copying.moving_kernels import copy_run
from rushlight.machine.language.functions import (
    Parameter,
    array,
    element,
    function,
    i32,
    i64,
    independent,
    range_kernel,
    static,
)
from rushlight.machine.worker_pool import scratch

# Argument words.
X, OUT, H, W, ROWS, COLUMNS, BLOCK, BLOCKS = range(8)
DOWN, DOWN_WEIGHTS, DOWN_TAPS, ACROSS, ACROSS_WEIGHTS, ACROSS_TAPS = range(8, 14)

size = Parameter("size")  # bytes of an element
down, across = Parameter("down"), Parameter("across")
high, wide = Parameter("high"), Parameter("wide")  # elements of a block of a sum
KEPT, MOVED, WEIGHTED, DOUBLED, BETWEEN = range(5)


@function
def weighted_element(x, out, j, g):
    """One element of a row of the result of a row."""
    places, weights = array(i32, g[ACROSS]), array(element, g[ACROSS_WEIGHTS])
    total = element(0)
    for k in range(g[ACROSS_TAPS]):
        weight = weights[k * g[COLUMNS] + j]
        if weight != element(0):
            total += x[i64(places[k * g[COLUMNS] + j])] * weight
    out[j] = total


@function
def gathered(source, target, g):
    """A row of the result of a row."""
    x, out, columns = array(element, source), array(element, target), g[COLUMNS]
    places = array(i32, g[ACROSS])
    if across == KEPT:
        copy_run(source, target, columns)
    elif across == DOUBLED:
        for i in range(columns // 2):
            value = x[i]
            out[2 * i] = value
            out[2 * i + 1] = value
    elif across == BETWEEN:  # a quarter and three quarters of neighbours, except at both ends
        for i in range(1, columns // 2 - 1):
            middle = x[i] * element(0.75)
            out[2 * i] = x[i - 1] * element(0.25) + middle
            out[2 * i + 1] = x[i + 1] * element(0.25) + middle
        for i in range(2):
            weighted_element(x, out, i, g)
            weighted_element(x, out, columns - 1 - i, g)
    elif across == MOVED:
        for j in range(columns):
            out[j] = x[i64(places[j])]
    else:
        weights = array(element, g[ACROSS_WEIGHTS])
        for j in range(columns):
            weight = weights[j]
            out[j] = x[i64(places[j])] * weight if weight != element(0) else element(0)
        for k in range(1, g[ACROSS_TAPS]):
            at = k * columns
            for j in range(columns):  # a padded tap must not bring in an infinity times zero
                weight = weights[at + j]
                term = x[i64(places[at + j])] * weight
                out[j] = out[j] + (term if weight != element(0) else element(0))


@function
def weighted_row(plane, target, row, g):
    """The sum of the rows of the input that make a row of the result."""
    out, width, rows = array(element, target), g[W], g[ROWS]
    places, weights = array(i32, g[DOWN]), array(element, g[DOWN_WEIGHTS])
    for k in range(g[DOWN_TAPS]):
        weight = weights[k * rows + row]
        x = array(element, plane + size * i64(places[k * rows + row]) * width)
        if k == 0:
            for i in range(width):
                out[i] = x[i] * weight if weight != element(0) else element(0)
        elif weight != element(0):
            for i in range(width):
                out[i] = out[i] + x[i] * weight


@range_kernel
def resample_rows(args, lo, hi, tid):
    """Blocks of rows of (planes, H, W) to (planes, ROWS, COLUMNS)."""
    g = array(i64, args)
    rows, columns, width = g[ROWS], g[COLUMNS], g[W]
    places = array(i32, g[DOWN])
    for item in range(lo, hi):
        index, first = item // g[BLOCKS], (item % g[BLOCKS]) * g[BLOCK]
        plane = g[X] + size * index * g[H] * width
        for row in range(first, min(rows, first + g[BLOCK])):
            target = g[OUT] + size * (index * rows + row) * columns
            if down == WEIGHTED:
                room = scratch(tid, size * width)
                weighted_row(plane, room, row, g)
                gathered(room, target, g)
            else:
                source, repeats = row, i64(0)
                if down == MOVED:
                    source = i64(places[row])
                    if row > first:
                        repeats = i64(1) if places[row] == places[row - 1] else i64(0)
                if repeats == 1:
                    copy_run(target - size * columns, target, columns)
                else:
                    gathered(plane + size * source * width, target, g)


@range_kernel(wide=True)
def sum_blocks(args, lo, hi, tid):
    """BLOCK rows of the result, whose elements are sums of `high` times `wide` of the input. ROWS
    are those of all planes: they follow each other in both."""
    g = array(i64, args)
    columns, width, block = g[COLUMNS], g[W], g[BLOCK]
    for item in range(lo, hi):
        first = item * block
        count = min(block, g[ROWS] - first)
        source = g[X] + size * first * high * width
        if high > 1:
            room = scratch(tid, size * block * width)
            for row in range(count):
                start = source + size * row * high * width
                x, out = array(element, start), array(element, room + size * row * width)
                for i in independent(width):
                    total = x[i]
                    for k in static(high - 1):
                        total += array(element, start + size * (k + 1) * width)[i]
                    out[i] = total
            source = room
        x, out = array(element, source), array(element, g[OUT] + size * first * columns)
        for i in range(count * columns):
            total = x[i * wide]
            for j in static(wide - 1):
                total += x[i * wide + j + 1]
            out[i] = total

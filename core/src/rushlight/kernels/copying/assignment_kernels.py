"""The compiled loop behind :mod:`rushlight.kernels.copying.assignment`. Import at first need."""

from __future__ import annotations

from rushlight.kernels.copying.conversion_kernels import half_of, single_of
from rushlight.machine.language.functions import (
    Parameter,
    array,
    element,
    f32,
    f64,
    function,
    i64,
    independent,
    range_kernel,
    scattered,
    u8,
)

# Argument words: both arrays; elements of a row, its steps (in elements); the last two of the three
# outer extents; the steps of these in bytes, of the target and of the source; pieces of a row.
OUT, X, COUNT, TO, FROM, MIDDLE, LAST, INTO, OUT_OF, PIECES = 1, 2, 3, 4, 5, 6, 7, 8, 11, 14

origin = Parameter("origin")  # the source's type
narrowed = Parameter("narrowed")  # what is half-width: 1 the source, 2 the target, 0 neither
truth = Parameter("truth")  # 1: whether elements are not zero
to_step = Parameter("to_step")  # of rows, where there is a loop for it, else -1
from_step = Parameter("from_step")


@function
def changed(value):
    """An element as the target holds it; floats become uint8 by way of int64, as elsewhere."""
    if narrowed == 1:
        return single_of(value)
    if narrowed == 2:
        return half_of(value)
    if truth == 1:
        return u8(value != origin(0))
    if element is u8 and (origin is f32 or origin is f64):
        return element(i64(value))
    return element(value)


@function
def write_row(x, out, first, last, to, step):
    """Elements of a row: in vectors where they are near each other."""
    if from_step == 0:
        value = changed(x[0])
        if to_step == 1:
            for i in independent(first, last):
                out[i] = value
        else:
            for i in scattered(first, last):
                out[i * to] = value
    elif to_step == 1 and from_step > 0:
        for i in independent(first, last):
            out[i] = changed(x[i * from_step])
    else:
        for i in scattered(first, last):
            out[i * to] = changed(x[i * step])


@range_kernel
def write_rows(args, lo, hi, tid):
    """Items are pieces of rows."""
    g = array(i64, args)
    n, to, step, last, pieces = g[COUNT], g[TO], g[FROM], g[LAST], g[PIECES]
    item = lo
    while item < hi:  # as many as are one after the other
        line, piece = item // pieces, item % pieces
        rest, place = line // last, line % last
        outer, second = rest // g[MIDDLE], rest % g[MIDDLE]
        source = g[X] + outer * g[OUT_OF] + second * g[OUT_OF + 1] + place * g[OUT_OF + 2]
        target = g[OUT] + outer * g[INTO] + second * g[INTO + 1] + place * g[INTO + 2]
        if pieces > 1:
            x, out = array(origin, source), array(element, target)
            write_row(x, out, n * piece // pieces, n * (piece + 1) // pieces, to, step)
            item += 1
        else:
            count = min(last - place, hi - item)
            for row in range(count):
                x = array(origin, source + row * g[OUT_OF + 2])
                write_row(x, array(element, target + row * g[INTO + 2]), i64(0), n, to, step)
            item += count

"""The compiled loop behind :mod:`rushlight.kernels.assignment`. Import at first need."""

from __future__ import annotations

from rushlight.backends.half_floats import (
    from_float16,
    rounded_to_half,
    to_bfloat16,
    to_float16,
    widened_from_half,
)
from rushlight.backends.kernel_language import (
    Parameter,
    array,
    bitcast,
    element,
    f32,
    f64,
    function,
    i64,
    independent,
    range_kernel,
    scattered,
    u8,
    u16,
    u32,
)

# Argument words: both arrays; elements of a row, its steps (in elements); the last two of the three
# outer extents; the steps of these in bytes, of the target and of the source; pieces of a row.
OUT, X, COUNT, TO, FROM, MIDDLE, LAST, INTO, OUT_OF, PIECES = 1, 2, 3, 4, 5, 6, 7, 8, 11, 14

origin = Parameter("origin")  # the source's type
narrowed = Parameter("narrowed")  # what is half-width: 1 the source, 2 the target, 0 neither
half = Parameter("half")  # 0: bfloat16, 1: float16, 2: float16 by the processor's instruction
truth = Parameter("truth")  # 1: whether elements are not zero
to_step = Parameter("to_step")  # of rows, where there is a loop for it, else -1
from_step = Parameter("from_step")


@function
def widened(bits):
    """A half-width number as float32."""
    if half == 2:
        return widened_from_half(u32(bits))
    if half == 1:
        return bitcast(f32, from_float16(u32(bits)))
    return bitcast(f32, u32(bits) << 16)


@function
def rounded(value):
    """The bits of a float32 as a half-width number."""
    if half == 2:
        return u16(rounded_to_half(value))
    if half == 1:
        return u16(to_float16(bitcast(u32, value)))
    return u16(to_bfloat16(bitcast(u32, value)))


@function
def changed(value):
    """An element as the target holds it; floats become uint8 by way of int64, as elsewhere."""
    if narrowed == 1:
        return widened(value)
    if narrowed == 2:
        return rounded(value)
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
    while item < hi:  # as many as lie one after the other
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

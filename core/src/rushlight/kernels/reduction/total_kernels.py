"""Compiled loops behind :mod:`rushlight.kernels.reduction.totals`. Import at first need.

An array is seen as (outer, n, inner), n being reduced; the rows of n are split into blocks whose
results a second pass brings together. Argument words follow
:mod:`rushlight.kernels.launch.prepared`.
"""

from __future__ import annotations

from rushlight.kernels.reduction.extreme_kernels import SHORT, SIDE, few_extremes, row_extreme
from rushlight.kernels.reduction.row_sums import (
    DOUBLES,
    SINGLES,
    distances_of_run,
    means_of_rows,
    sum_of_run,
)
from rushlight.machine.language.functions import (
    Parameter,
    absolute,
    array,
    bitcast,
    element,
    f32,
    f64,
    function,
    i64,
    maximum,
    minimum,
    quiet_nan,
    range_kernel,
    scattered,
    square_root,
    stack,
    u16,
    u32,
)
from rushlight.machine.language.half_floats import rounded_to_half, to_bfloat16, widened_from_half

OUT, X, N, INNER, BLOCKS, FOLD, DIVISOR, SIZE = range(1, 9)
CENTRE, AFTER_CENTRE = 3, 1  # `squares_rows` has one input more
ITEMS = 10  # and knows how many blocks there are
# Of an array with gaps: the extent of the dimension before n, its stride in bytes, and that of the
# dimension before it; the stride of n in bytes; elements from one of `inner` to the next.
EXTENT, NEAR, FAR, STEP, ACROSS = range(9, 14)
RUN = 4096  # elements of a row that are added up in the type of `middle`
SEGMENT = 1024  # columns of an item

kind = Parameter("kind")
SUM, MAX, MIN = range(3)
middle = Parameter("middle")  # the type of the arithmetic
result = Parameter("result")
# Elements of a row to be summed where they are few, IN_VECTORS for many rows at once, else 0.
narrow = Parameter("narrow")
IN_VECTORS = -1
gaps = Parameter("gaps")  # 1: the array is laid out as those words say
spread = Parameter("spread")  # from element to element of a row, 0: as those words say
half = Parameter("half")  # 1: what has 16 bits is float16, 0: bfloat16
taken = Parameter("taken")  # what of an element is added up: itself, or
SQUARES, SIZES, NUMBERS = range(1, 4)  # its square, its size, itself unless it is NaN
rooted = Parameter("rooted")  # 1: the result is the root of a sum


@function
def part_of(value):
    """What an element adds to a sum."""
    if taken == SQUARES:
        return value * value
    if taken == SIZES:
        return absolute(value)
    if taken == NUMBERS:
        return value if value == value else middle(0)
    return value


@function
def widened(value):
    """An element as a number of the arithmetic's type, and of it what is added up."""
    return part_of(number_of(value))


@function
def number_of(value):
    """An element as a number of the arithmetic's type."""
    if element is u16:
        if half == 1:
            return middle(widened_from_half(u32(value)))
        return middle(bitcast(f32, u32(value) << 16))
    return middle(value)


@function(reassociate=True)
def combined(old, value):
    """A result so far and one element more; NaN is an extreme where there is one."""
    if kind == SUM:
        return old + value
    if kind == MAX:
        if middle is f32 or middle is f64:
            return maximum(old, value)
        return old if old >= value else value
    if middle is f32 or middle is f64:
        return minimum(old, value)
    return old if old <= value else value


@function(reassociate=True)
def run_total(x, first, last):
    """The sum of a short run, in vectors."""
    found = middle(0)
    for i in range(first, last):
        found += widened(x[i])
    return found


@function
def in_order(bits):
    """The bits of a half-width number as an unsigned number of its order (MIN: the reverse)."""
    key = bits ^ ((u16(0) - (bits >> 15)) | u16(0x8000))
    return key if kind == MAX else key ^ u16(0xFFFF)


@function
def half_extreme(x, n):
    """The extreme of a row of half-width numbers: by their bits there are twice as many to a
    vector, and none to convert."""
    best, largest_size = u16(0), u16(0)
    for i in range(n):
        bits = x[i]
        largest_size = max(largest_size, bits & u16(0x7FFF))
        best = max(best, in_order(bits))
    if largest_size > u16(0x7C00 if half == 1 else 0x7F80):
        return quiet_nan(f32)
    key = best if kind == MAX else best ^ u16(0xFFFF)
    return widened(key ^ (((key >> 15) - u16(1)) | u16(0x8000)))


@function
def extreme(address, n):
    """The extreme of a row."""
    if element is u16:
        return half_extreme(array(element, address), n)
    return row_extreme(address, n)


@function
def stored(value):
    """A number as it is stored; half-width floats are rounded."""
    if result is u16:
        if half == 1:
            return u16(rounded_to_half(f32(value)))
        return u16(to_bfloat16(bitcast(u32, f32(value))))
    return result(value)


@function
def finished(total, divisor):
    """The result from a sum."""
    if rooted == 1:
        return stored(square_root(total))
    return stored(total / divisor)


@function
def accumulator():
    """Zero in the type in which runs are added up."""
    if middle is f32 or middle is f64:
        return f64(0)
    return middle(0)


@function
def stride_of(g):
    """From element to element of a row; a constant where code for it pays."""
    if spread:
        return spread
    return g[ACROSS]


@function(reassociate=True)
def apart_in_vectors(address, n):
    """The result of a run of elements as far apart as the code says."""
    x = array(element, address)
    found = middle(0) if kind == SUM else widened(x[0])
    for i in range(n):
        found = combined(found, widened(x[i * spread]))
    return found


@function
def apart(address, n, stride):
    """The result of a run of elements with gaps between them."""
    x = array(element, address)
    found = middle(0) if kind == SUM else widened(x[0])
    second, third, fourth = found, found, found  # results that do not wait for each other
    whole = n - n % 4
    for i in scattered(0, whole, 4):
        found = combined(found, widened(x[i * stride]))
        second = combined(second, widened(x[(i + 1) * stride]))
        third = combined(third, widened(x[(i + 2) * stride]))
        fourth = combined(fourth, widened(x[(i + 3) * stride]))
    for i in range(whole, n):
        found = combined(found, widened(x[i * stride]))
    return combined(combined(found, second), combined(third, fourth))


@function(reassociate=True)
def row_result(address, n, divisor, stride):
    """What becomes of one row or block of it."""
    if kind == SUM:
        x, total = array(element, address), accumulator()
        for start in range(0, n, RUN):
            if spread != 1:
                size = 2 if element is u16 else element.bits // 8
                first = address + size * stride * start
                count = min(i64(RUN), n - start)
                part = apart_in_vectors(first, count) if spread else apart(first, count, stride)
            elif taken == 0 and element is middle and (element is f32 or element is f64):
                part = sum_of_run(address + element.bits // 8 * start, min(i64(RUN), n - start))
            else:
                part = run_total(x, start, min(n, start + RUN))
            if middle is f32:
                total += f64(part)
            else:
                total += part
        if middle is f32 or middle is f64:
            return finished(total, divisor)
        return total
    if spread != 1:
        return stored(apart_in_vectors(address, n) if spread else apart(address, n, stride))
    return stored(extreme(address, n))


@function
def place_of(g, outer):
    """Where the elements begin that go to a position of the result."""
    if gaps:
        return g[X] + outer // g[EXTENT] * g[FAR] + outer % g[EXTENT] * g[NEAR]
    return g[X] + g[SIZE] * g[N] * g[INNER] * outer


@function
def means_in_vectors(x, row, n, lo, hi, out, divisor):
    """Sums of rows lo..hi-1 of float32 or float64, `row` bytes apart, over a divisor."""
    size, together = element.bits // 8, SINGLES if element is f32 else DOUBLES
    for first in range(lo, hi, together):
        rows = min(i64(together), hi - first)
        means_of_rows(x + row * first, row, n, rows, out + size * first, divisor)


@range_kernel(reassociate=True)
def total_rows(args, lo, hi, tid):
    """Items are blocks of rows."""
    g = array(i64, args)
    n, blocks, size = g[N], g[BLOCKS], g[SIZE]
    out, divisor = array(result, g[OUT]), array(f64, args)[DIVISOR]
    stride = stride_of(g)
    if kind != SUM and element is not u16 and result is element and gaps == 0:
        if n <= SHORT:
            for first in range(lo, hi, SIDE):
                x, best = (
                    array(element, g[X] + size * first * n),
                    array(element, g[OUT] + size * first),
                )
                few_extremes(x, 1, n, n, min(SIDE, hi - first), best)
            return
    if narrow == IN_VECTORS:
        row = g[NEAR] if gaps else size * n
        means_in_vectors(g[X], row, n, lo, hi, g[OUT], element(divisor))
    elif narrow > 0:  # a loop of known length is no loop
        for item in range(lo, hi):
            total = run_total(array(element, g[X] + size * narrow * item), 0, narrow)
            if middle is f32 or middle is f64:
                out[item] = finished(f64(total), divisor)
            else:
                out[item] = total
    elif blocks == 1:  # no divisions: rows may be short
        for item in range(lo, hi):
            out[item] = row_result(place_of(g, item), n, divisor, stride)
    else:
        for item in range(lo, hi):
            block, row = item % blocks, item // blocks
            first, last = n * block // blocks, n * (block + 1) // blocks
            start = place_of(g, row) + size * stride * first
            out[item] = row_result(start, last - first, divisor, stride)


@function(reassociate=True)
def add_row(acc, address, width, stride):
    """One row more."""
    x = array(element, address)
    for j in range(width):
        acc[j] = combined(acc[j], widened(x[j * stride]))


@function(reassociate=True)
def add_rows(acc, address, step, width, stride):
    """Four rows more: one trip of the results to the first cache and back."""
    a, b = array(element, address), array(element, address + step)
    c, d = array(element, address + 2 * step), array(element, address + 3 * step)
    for j in range(width):
        i = j * stride
        left, right = combined(widened(a[i]), widened(b[i])), combined(widened(c[i]), widened(d[i]))
        acc[j] = combined(acc[j], combined(left, right))


@range_kernel(reassociate=True)
def total_columns(args, lo, hi, tid):
    """Items are blocks of rows times segments of columns.

    Where rows are short, FOLD of them are taken as one, and its parts are brought together.
    """
    g = array(i64, args)
    n, inner, blocks, fold, size = g[N], g[INNER], g[BLOCKS], g[FOLD], g[SIZE]
    divisor = array(f64, args)[DIVISOR]
    acc = array(middle, stack(SEGMENT))
    wide, stride = inner * fold, stride_of(g)
    segments = (wide + SEGMENT - 1) // SEGMENT
    for item in range(lo, hi):
        both, column = item // segments, (item % segments) * SEGMENT
        block, outer = both % blocks, both // blocks
        first, last = n * block // blocks, n * (block + 1) // blocks
        width, step = min(wide - column, SEGMENT), g[STEP] if gaps else size * wide
        x = place_of(g, outer) + (step if gaps else size * inner) * first + size * stride * column
        count = (last - first) // fold
        start = array(element, x)
        for j in range(width):
            acc[j] = middle(0) if kind == SUM else widened(start[j * stride])
        whole = count - count % 4
        for i in range(0, whole, 4):
            add_rows(acc, x + step * i, step, width, stride)
        for i in range(whole, count):
            add_row(acc, x + step * i, width, stride)
        if fold > 1:
            add_row(acc, x + step * count, ((last - first) % fold) * inner, 1)
            width = inner
            for f in range(1, fold):
                for j in range(inner):
                    acc[j] = combined(acc[j], acc[f * inner + j])
        out = array(result, g[OUT])
        place = both * inner + column
        for j in range(width):
            if kind == SUM and (middle is f32 or middle is f64):
                out[place + j] = finished(f64(acc[j]), divisor)
            else:
                out[place + j] = stored(acc[j])


@range_kernel
def squares_rows(args, lo, hi, tid):
    """Of blocks of rows the squared distances from their centres (float64), and after those of all
    blocks the distances themselves, in float64."""
    g = array(i64, args)
    n, blocks, size = g[N + AFTER_CENTRE], g[BLOCKS + AFTER_CENTRE], g[SIZE + AFTER_CENTRE]
    out, centres, items, memory = array(f64, g[OUT]), array(f64, g[CENTRE]), g[ITEMS], stack(2)
    found = array(element, memory)
    for item in range(lo, hi):
        first, last = n * (item % blocks) // blocks, n * (item % blocks + 1) // blocks
        x = g[X] + size * ((item // blocks) * n + first)
        centre, squares, offsets = element(centres[item // blocks]), f64(0), f64(0)
        for start in range(0, last - first, RUN):
            count = min(i64(RUN), last - first - start)
            distances_of_run(x + size * start, count, centre, memory)
            squares += f64(found[0])
            offsets += f64(found[8 // size])
        out[item] = squares
        out[items + item] = offsets

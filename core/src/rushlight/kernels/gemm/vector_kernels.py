"""Compiled products of dense matrices with vectors, and conversions of dense arrays.

Argument words follow :mod:`rushlight.kernels.launch.prepared`. Import at first need.
"""

from __future__ import annotations

from rushlight.machine.language.functions import (
    Parameter,
    array,
    atomic_add,
    element,
    f32,
    f64,
    function,
    fused_multiply_add,
    i64,
    independent,
    range_kernel,
    real,
    stored,
    u8,
)
from rushlight.machine.worker_pool import memcpy

OUT, X, Y = 1, 2, 3
BLOCK = 4096  # elements of an item of a conversion
RUN = 8192  # elements that are added up in the array's own precision

source = Parameter("source")
truth = Parameter("truth")


@function(reassociate=True)
def run_product(x, y, first, last):
    """The inner product of a short run, in vectors."""
    total = real(0)
    for i in range(first, last):
        total += x[i] * y[i]
    return f64(total)


@range_kernel
def row_products(args, lo, hi, tid):
    """OUT[i] = X[i, :] . Y: items are rows. Constant: elements of a row."""
    g = array(i64, args)
    n, size = g[4], 4 if real is f32 else 8
    y, out = array(real, g[Y]), array(real, g[OUT])
    for item in range(lo, hi):
        x = array(real, g[X] + size * item * n)
        total = f64(0)
        for start in range(0, n, RUN):
            total += run_product(x, y, start, min(n, start + RUN))
        out[item] = real(total)


@range_kernel
def kronecker(args, lo, hi, tid):
    """OUT[i, k, j, l] = X[i, j] * Y[k, l]: items are (i, k). Constants: columns of X, its strides
    in bytes, rows and columns of Y, and the distance of its rows in bytes."""
    g = array(i64, args)
    columns, rows, width, size = g[4], g[7], g[8], 4 if real is f32 else 8
    for item in range(lo, hi):
        left, y = g[X] + item // rows * g[5], array(real, g[Y] + item % rows * g[9])
        for j in range(columns):
            factor = array(real, left + j * g[6])[0]
            out = array(real, g[OUT] + size * (item * columns + j) * width)
            for i in independent(width):
                out[i] = factor * y[i]


@range_kernel
def among(args, lo, hi, tid):
    """Whether elements are among others: items are blocks. Constants: elements, others, and
    whether the answer is the other way round."""
    g = array(i64, args)
    x, others, out = array(element, g[X]), array(element, g[Y]), array(u8, g[OUT])
    for item in range(lo, hi):
        first, last = item * BLOCK, min(g[4], (item + 1) * BLOCK)
        for i in range(first, last):
            out[i] = u8(g[6])
        for j in range(g[5]):
            other = others[j]
            for i in range(first, last):
                out[i] = u8(1 - g[6]) if x[i] == other else out[i]


@range_kernel
def strided_total(args, lo, hi, tid):
    """The one item: elements added up in order in float64. Constants: how many, bytes between."""
    g = array(i64, args)
    total = f64(0)
    for i in range(g[3]):
        total += f64(array(real, g[X] + i * g[4])[0])
    array(real, g[OUT])[0] = real(total)


@range_kernel(reassociate=True)
def small_product(args, lo, hi, tid):
    """The one item: OUT = X @ Y. Constants: rows, inner size, columns, then the steps, in elements,
    of the rows and columns of X and of Y."""
    g = array(i64, args)
    rows, inner, columns = g[4], g[5], g[6]
    x_row, x_column, y_row, y_column = g[7], g[8], g[9], g[10]
    x, size = array(real, g[X]), 4 if real is f32 else 8
    for i in range(rows):
        out = array(real, g[OUT] + size * i * columns)
        if y_column == 1:
            for j in range(columns):
                out[j] = real(0)
            for q in range(inner):
                value = x[i * x_row + q * x_column]
                y = array(real, g[Y] + size * q * y_row)
                for j in range(columns):
                    out[j] += value * y[j]
        else:
            for j in range(columns):
                y = array(real, g[Y] + size * j * y_column)
                total = real(0)
                for q in range(inner):
                    total += x[i * x_row + q * x_column] * y[q * y_row]
                out[j] = total


@range_kernel
def same(args, lo, hi, tid):
    """Items are parts: whether all elements of X and Y in one are equal, as a byte. Constants:
    elements, elements of a part."""
    g = array(i64, args)
    x, y = array(element, g[X]), array(element, g[Y])
    for part in range(lo, hi):
        found, start, n = i64(1), part * g[5], min(g[4], (part + 1) * g[5])
        while start < n:
            stop, other = min(n, start + 1024), i64(0)
            for i in range(start, stop):
                other += 1 if x[i] != y[i] else 0
            start = stop
            if other > 0:
                found = i64(0)
                start = n
        array(u8, g[OUT])[part] = u8(found)


@range_kernel
def one_hot(args, lo, hi, tid):
    """Rows of zeros with a one where X says: items are rows. Constants: where classes out of range
    are counted, elements of a row."""
    g = array(i64, args)
    x, n = array(i64, g[X]), g[4]
    for item in range(lo, hi):
        out, place = array(i64, g[OUT] + 8 * item * n), x[item]
        for i in range(n):
            out[i] = 0
        if (place < 0) | (place >= n):
            atomic_add(g[3], 1)
        else:
            out[place] = 1


@range_kernel
def ramp(args, lo, hi, tid):
    """Whole numbers from a start in equal steps: items are blocks. The start and the step are the
    numbers of the call; constant: elements."""
    g = array(i64, args)
    out, start, step = array(i64, g[OUT]), g[2], g[3]
    for i in range(lo * BLOCK, min(hi * BLOCK, g[4])):
        out[i] = start + i * step


@range_kernel(fused=False)
def spaced(args, lo, hi, tid):
    """Numbers in equal steps, the second half counted from its end, each rounded once as PyTorch
    does: items are blocks. The start and the end are the numbers of the call; constant: elements.
    """
    g, numbers = array(i64, args), array(f64, args)
    start, end = real(numbers[2]), real(numbers[3])
    out, n = array(real, g[OUT]), g[4]
    step = (end - start) / real(n - 1)
    half, last = n // 2, min(hi * BLOCK, g[4])
    for i in range(lo * BLOCK, min(last, half)):
        out[i] = fused_multiply_add(step, real(i), start)
    for i in range(max(lo * BLOCK, half), last):
        out[i] = fused_multiply_add(-step, real(n - 1 - i), end)


@range_kernel
def nonzero(args, lo, hi, tid):
    """The one item: the coordinates of the elements of X that are not zero, so many rows of OUT as
    there are. Constants: rows, elements of a row, dimensions, the three extents before the last."""
    g = array(i64, args)
    x, out, rows, n, dims = array(u8, g[X]), array(i64, g[OUT]), g[3], g[4], g[5]
    last = rows * n - 1  # of the elements that are not zero: up to it there is room to write ahead
    while x[last] == u8(0):
        last -= 1
    at = i64(0)
    for row in range(last // n + 1):
        rest, first, count = row, at, min(n, last + 1 - row * n)
        for i in range(count):
            out[at * dims + dims - 1] = i
            at += 1 if x[row * n + i] != u8(0) else 0
        for back in range(2, dims + 1):
            place, rest = rest % g[10 - back], rest // g[10 - back]
            for i in range(first, at):
                out[i * dims + dims - back] = place


@range_kernel
def selected(args, lo, hi, tid):
    """The one item: the elements of X where the bytes of a mask are not zero, so many of OUT as
    there are. Constant: elements."""
    g = array(i64, args)
    x, mask, out = array(element, g[2]), array(u8, g[3]), array(element, g[1])
    last = g[4] - 1  # of those: up to it there is room to write ahead
    while mask[last] == u8(0):
        last -= 1
    at = i64(0)
    for i in range(last + 1):
        out[at] = x[i]
        at += 1 if mask[i] != u8(0) else 0


@range_kernel
def added_at_mask(args, lo, hi, tid):
    """The one item: X, with the rows of VALUES in their order added where the bytes of a mask are
    not zero. Constants: rows, elements of a row, how many rows of VALUES there are."""
    g = array(i64, args)
    size, n, inner = stored.bits // 8, g[5], g[6]
    mask, last = array(u8, g[3]), g[7] - 1
    at = i64(0)
    if inner == 1:
        x, values, out = array(stored, g[2]), array(stored, g[4]), array(stored, g[1])
        for i in range(n):
            added = x[i] + values[min(at, last)]
            out[i] = added if mask[i] != u8(0) else x[i]
            at += 1 if mask[i] != u8(0) else 0
    else:
        for i in range(n):
            old, new = g[2] + size * inner * i, g[1] + size * inner * i
            if mask[i] != u8(0):
                x, out = array(stored, old), array(stored, new)
                values = array(stored, g[4] + size * inner * at)
                for j in range(inner):
                    out[j] = x[j] + values[j]
                at += 1
            else:
                memcpy(new, old, size * inner)


@range_kernel
def convert(args, lo, hi, tid):
    """Elements in another type: items are blocks. Floats become uint8 by way of int64, as
    elsewhere; `truth`: whether they are not zero. Constant: elements."""
    g = array(i64, args)
    x, out = array(source, g[X]), array(element, g[OUT])
    first, last = lo * BLOCK, min(hi * BLOCK, g[3])
    if truth == 1:
        for i in range(first, last):
            out[i] = u8(x[i] != source(0))
    elif (source is f32 or source is f64) and element is u8:
        for i in range(first, last):
            out[i] = element(i64(x[i]))
    else:
        for i in range(first, last):
            out[i] = element(x[i])

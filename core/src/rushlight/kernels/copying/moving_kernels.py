"""Compiled loops that move elements: copies of strided arrays, triangles, joining.

Argument words follow :mod:`rushlight.kernels.launch.prepared`: a number, the result, the inputs,
the numbers of the call, constants. Strides are in bytes. Import at first need.
"""

from __future__ import annotations

from rushlight.kernels.gemm.transposes import transpose, transpose_doubles
from rushlight.machine.language.functions import (
    Parameter,
    array,
    element,
    function,
    i64,
    range_kernel,
    static,
)

size = Parameter("size")  # bytes of an element
lower = Parameter("lower")
narrow = Parameter("narrow")
ways = Parameter("ways")
WOVEN = 4096
tile = Parameter("tile")  # rows and columns that are turned together
HEAD, OUT, X = range(3)


@function
def copy_run(source, target, count):
    """So many neighbouring elements."""
    x, out = array(element, source), array(element, target)
    for i in range(count):
        out[i] = x[i]


@function
def fill_run(target, first, last, value):
    """One value from an element to another."""
    out = array(element, target)
    for i in range(first, last):
        out[i] = value


@range_kernel
def copy_rows(args, lo, hi, tid):
    """Rows of a dense result from an array of any strides: items are rows.

    Constants: offset, elements and stride of a row, three outer extents, their strides. `narrow`:
    the elements of a row where they are few, else 0.
    """
    g = array(i64, args)
    n, step, next_row = g[4], g[5], g[11]
    row = lo
    while row < hi:  # as many rows as are one after the other
        rest, column = row // g[8], row % g[8]
        count = min(g[8] - column, hi - row)
        start = g[X] + g[3] + (rest // g[7]) * g[9] + (rest % g[7]) * g[10] + column * next_row
        target = g[OUT] + size * row * n
        if narrow > 0:
            out = array(element, target)
            if next_row == size:
                for j in range(count):
                    for k in static(narrow):
                        out[j * narrow + k] = array(element, start + k * step)[j]
            else:
                for j in range(count):
                    for k in static(narrow):
                        at = start + j * next_row + k * step
                        out[j * narrow + k] = array(element, at)[0]
        else:
            for j in range(count):
                copy_row(start + j * next_row, target + j * size * n, n, step)
        row += count


@function
def copy_row(start, target, n, step):
    """One row of any stride."""
    if step == size:
        copy_run(start, target, n)
    elif step == -size:
        x, out = array(element, start), array(element, target)
        for i in range(n):
            out[i] = x[0 - i]
    else:
        out = array(element, target)
        for i in range(n):
            out[i] = array(element, start + i * step)[0]


@range_kernel
def turn_rows(args, lo, hi, tid):
    """Dense matrices of elements of 4 or 8 bytes from transposed ones: items are strips of `tile`
    rows.

    Constants: offset, rows and columns of the result, bytes from matrix to matrix, bytes from row
    to row of the source (columns of the result).
    """
    g = array(i64, args)
    rows, columns, pitch = g[4], g[5], g[7]
    strips = (rows + tile - 1) // tile
    for item in range(lo, hi):
        matrix, row = item // strips, (item % strips) * tile
        source = g[X] + g[3] + matrix * g[6] + size * row
        target = g[OUT] + size * columns * (matrix * rows + row)
        wide = min(tile, rows - row)
        for column in range(0, columns, tile):
            high = min(tile, columns - column)
            first, to = source + column * pitch, target + size * column
            if size == 4:
                transpose(first, pitch, to, 4 * columns, high, wide, high)
            else:
                transpose_doubles(first, pitch, to, 8 * columns, high, wide, high)


@range_kernel
def roll_rows(args, lo, hi, tid):
    """Dense rows that begin with another of their elements. Constants: elements of a row, which."""
    g = array(i64, args)
    n, first = g[3], g[4]
    for row in range(lo, hi):
        source, target = g[X] + size * row * n, g[OUT] + size * row * n
        copy_run(source + size * first, target, n - first)
        copy_run(source, target + size * (n - first), first)


@range_kernel
def diagonal_rows(args, lo, hi, tid):
    """Zeros with a vector on a diagonal: items are rows.

    Constants: elements of a row and of the vector, the first row and column, the vector's stride.
    """
    g = array(i64, args)
    columns, n, first, shift, step = g[3], g[4], g[5], g[6], g[7]
    for row in range(lo, hi):
        target = g[OUT] + size * row * columns
        fill_run(target, i64(0), columns, element(0))
        i = row - first
        if i >= 0 and i < n:
            copy_run(g[X] + i * step, target + size * (i + shift), i64(1))


@range_kernel
def triangle(args, lo, hi, tid):
    """Rows of dense matrices on one side of a diagonal. Constants: rows, columns, diagonal."""
    g = array(i64, args)
    n = g[4]
    for item in range(lo, hi):
        source, target = g[X] + size * item * n, g[OUT] + size * item * n
        if lower == 1:
            bound = min(max(item % g[3] + g[5] + 1, i64(0)), n)
            copy_run(source, target, bound)
            fill_run(target, bound, n, element(0))
        else:
            bound = min(max(item % g[3] + g[5], i64(0)), n)
            fill_run(target, i64(0), bound, element(0))
            copy_run(source + size * bound, target + size * bound, n - bound)


@range_kernel
def weave(args, lo, hi, tid):
    """Elements of `ways` arrays in turn: items are blocks of WOVEN of each. Constant: elements."""
    g = array(i64, args)
    out, a, b = array(element, g[OUT]), array(element, g[X]), array(element, g[X + 1])
    c, d = array(element, g[X + min(ways - 1, 2)]), array(element, g[X + ways - 1])
    for i in range(lo * WOVEN, min(hi * WOVEN, g[X + ways])):
        out[i * ways] = a[i]
        out[i * ways + 1] = b[i]
        if ways > 2:
            out[i * ways + 2] = c[i]
        if ways > 3:
            out[i * ways + 3] = d[i]


@range_kernel
def join(args, lo, hi, tid):
    """Arrays of dense rows side by side: items are rows. The head is how many arrays there are;
    constants: elements of a row of the result and of each array, bytes from row to row of each."""
    g = array(i64, args)
    count = g[HEAD]
    for row in range(lo, hi):
        target = g[OUT] + size * row * g[2 + count]
        for j in range(count):
            width, step = g[3 + count + j], g[3 + 2 * count + j]
            copy_run(g[X + j] + row * step, target, width)
            target = target + size * width


@range_kernel
def join_rows(args, lo, hi, tid):
    """Arrays of one shape, whose rows are dense, one after the other: items are rows. The head is
    how many arrays there are; constants: rows of each, elements of a row, bytes from row to row of
    each."""
    g = array(i64, args)
    count = g[HEAD]
    rows, width = g[2 + count], g[3 + count]
    item = lo
    while item < hi:  # as many rows as are of one array
        j, first = item // rows, item % rows
        some = min(rows - first, hi - item)
        step = g[4 + count + j]
        for r in range(some):
            target = g[OUT] + size * width * (item + r)
            copy_run(g[X + j] + (first + r) * step, target, width)
        item += some

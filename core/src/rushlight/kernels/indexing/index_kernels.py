"""Compiled loops that read rows and elements at indices, and write and add them there.

Argument words follow :mod:`rushlight.kernels.launch.prepared`. An index out of range counts in the
word at FAILED and is left out: the caller sees the count and says what is wrong. Where `wrap` is 1,
negative indices count from the end. Import at first need.
"""

from __future__ import annotations

from rushlight.kernels.copying.block_kernels import move_past, streams
from rushlight.kernels.copying.streaming import LINE, few_bytes, stream_copy
from rushlight.kernels.indexing.indices import (
    ADD,
    LARGEST,
    MULTIPLY,
    NARROWED,
    SHORT_ROWS,
    SMALLEST,
)
from rushlight.machine.language.functions import (
    Chosen,
    Parameter,
    array,
    atomic_add,
    element,
    function,
    i64,
    independent,
    range_kernel,
    stack,
    u16,
)

OUT, X, INDEX = 1, 2, 3
ROW_WORDS = 4  # failures, length that indices go through, number of indices, elements of a row;
# of reading, bytes from one outer block to the next, and of rows from one to the next

SEGMENT = 1024  # columns of an item
LOOKED_AT = 1024  # indices

size = Parameter("size")  # bytes of an element
wrap = Parameter("wrap")
way = Parameter("way")  # how a value and what was there combine: one of `places.WAYS`
single = Parameter("single")  # 1: the source is one element, for all positions
upper = Parameter("upper")
width = Parameter("width")  # bytes of a row that is one of `SHORT_ROWS`, else 0
copied = Chosen(width, {count: few_bytes(count) for count in SHORT_ROWS})


@function
def wrapped(place, n):
    """An index of n elements, from the end where it is negative; -1 where there is none."""
    if wrap == 1:
        place = place + n if place < 0 else place
    return place if (place >= 0) & (place < n) else i64(-1)


@function
def outside(index, first, last, n):
    """How many of the indices from one to another are out of range."""
    found = i64(0)
    for i in range(first, last):
        found += 1 if (index[i] < 0) | (index[i] >= n) else 0
    return found


@function
def take_elements(x, index, out, count, n):
    """OUT[i] = X[INDEX[i]]; how many indices are out of range. So many at a time are looked at
    first, in vectors, that they are still in the cache when they are used."""
    failed = i64(0)
    for first in range(0, count, LOOKED_AT):
        last = min(count, first + LOOKED_AT)
        if outside(index, first, last, n) == 0:
            for i in range(first, last):
                out[i] = x[index[i]]
        else:
            for i in range(first, last):
                place = wrapped(index[i], n)
                failed += 1 if place < 0 else 0
                out[i] = x[i64(0) if place < 0 else place]
    return failed


@function
def between(diagonal, n):
    """How many of n columns a row of a triangle has whose diagonal is at a column."""
    inside = max(i64(0), min(n, diagonal if upper == 1 else diagonal + 1))
    return n - inside if upper == 1 else inside


@range_kernel
def take_rows(args, lo, hi, tid):
    """OUT[o, i, :] = X[o, INDEX[i], :]: items are rows of OUT."""
    g = array(i64, args)
    n, m, inner = g[5], g[6], g[7]
    index = array(i64, g[INDEX])
    item = lo
    while item < hi:
        first, outer = item % m, item // m
        last, failed = min(m, first + hi - item), i64(0)
        x, at = g[X] + g[8] * outer, item - first
        if inner == 1:
            indices, out = array(i64, g[INDEX] + 8 * first), array(element, g[OUT] + size * item)
            failed = take_elements(array(element, x), indices, out, last - first, n)
        else:
            for i in range(first, last):
                place = wrapped(index[i], n)
                if place < 0:
                    failed += 1
                else:
                    row, to = x + g[9] * place, g[OUT] + size * (at + i) * inner
                    if width > 0:
                        copied(row, to)
                    else:
                        source, out = array(element, row), array(element, to)
                        for j in independent(inner):
                            out[j] = source[j]
        if failed > 0:
            atomic_add(g[4], failed)
        item += last - first


@range_kernel
def add_rows(args, lo, hi, tid):
    """OUT = X, then OUT[o, INDEX[i], c] += SOURCE[o, i, c], in the order of the indices: items are
    outer blocks times segments of SEGMENT columns."""
    g = array(i64, args)
    n, m, inner = g[6], g[7], g[8]
    index, segments = array(i64, g[INDEX]), (inner + SEGMENT - 1) // SEGMENT
    for item in range(lo, hi):
        outer, column = item // segments, (item % segments) * SEGMENT
        width = min(SEGMENT, inner - column)
        base = size * (outer * n * inner + column)
        rows, length = 1 if segments == 1 else n, n * inner if segments == 1 else width
        for i in range(rows):
            x = array(element, g[X] + base + size * i * inner)
            out = array(element, g[OUT] + base + size * i * inner)
            for c in independent(length):
                out[c] = x[c]
        source = g[4] + size * (outer * m * inner + column)
        for i in range(m):
            place = wrapped(index[i], n)
            if place < 0:
                atomic_add(g[5], 1)
            else:
                out = array(element, g[OUT] + base + size * place * inner)
                x = array(element, source + size * i * inner)
                for c in independent(width):
                    out[c] += x[c]


@range_kernel
def take_along(args, lo, hi, tid):
    """OUT[o, i, c] = X[o, INDEX[o, i, c], c]: items are outer blocks."""
    g = array(i64, args)
    n, m, inner = g[5], g[6], g[7]
    for item in range(lo, hi):
        index = array(i64, g[INDEX] + 8 * item * m * inner)
        x = array(element, g[X] + g[8] * item)
        out = array(element, g[OUT] + size * item * m * inner)
        failed = i64(0)
        if inner == 1:
            failed = take_elements(x, index, out, m, n)
        else:
            for i in range(m):
                for c in range(inner):
                    place = wrapped(index[i * inner + c], n)
                    failed += 1 if place < 0 else 0
                    place = i64(0) if place < 0 else place
                    out[i * inner + c] = x[place * inner + c]
        if failed > 0:
            atomic_add(g[4], failed)


@function
def combined(old, new):
    """What stands at a position after a value came there."""
    if way == ADD:
        return old + new
    if way == MULTIPLY:
        return old * new
    if way == LARGEST:
        return new if (new > old) | (new != new) else old
    if way == SMALLEST:
        return new if (new < old) | (new != new) else old
    return new


@function
def put_one_each(g, n, lo, hi):
    """One element of each row."""
    index, source, out = array(i64, g[INDEX]), array(element, g[4]), array(element, g[OUT])
    failed = i64(0)
    for item in range(lo, hi):
        place = wrapped(index[item], n)
        if place < 0:
            failed += 1
        else:
            at = item * n + place
            out[at] = combined(out[at], source[i64(0) if single == 1 else item])
    if failed > 0:
        atomic_add(g[5], failed)


@function
def put_inside(index, m, source, out):
    """A row's values at positions that are all in range."""
    for i in range(m):
        place = i64(index[i])
        out[place] = combined(out[place], source[i64(0) if single == 1 else i])


@range_kernel
def put_along(args, lo, hi, tid):
    """OUT = X (which may be OUT), then OUT[o, INDEX[o, i, c], c] = SOURCE[o, i, c], or what the way
    makes of it: items are outer blocks. The last constant: 1 for nothing at all where an index is
    out of range, 2 where none is."""
    g = array(i64, args)
    n, m, inner = g[6], g[7], g[8]
    if g[9] == 1:
        failed = outside(array(i64, g[INDEX]), lo * m * inner, hi * m * inner, n)
        if failed > 0:
            atomic_add(g[5], failed)
            return
    old, new = (
        array(element, g[X] + size * lo * n * inner),
        array(element, g[OUT] + size * lo * n * inner),
    )
    if g[X] != g[OUT]:
        for i in independent((hi - lo) * n * inner):
            new[i] = old[i]
    if m * inner == 1:  # one place in each row
        put_one_each(g, n, lo, hi)
        return
    for item in range(lo, hi):
        index = array(i64, g[INDEX] + 8 * item * m * inner)
        source = array(element, g[4] if single == 1 else g[4] + size * item * m * inner)
        out = array(element, g[OUT] + size * item * n * inner)
        failed = i64(0)
        if inner == 1 and (g[9] > 0 or outside(index, 0, m, n) == 0):  # together, in vectors
            put_inside(index, m, source, out)
        elif inner == 1:
            for i in range(m):
                place = wrapped(index[i], n)
                if place < 0:
                    failed += 1
                else:
                    out[place] = combined(out[place], source[i64(0) if single == 1 else i])
        else:
            for i in range(m):
                for c in range(inner):
                    place = wrapped(index[i * inner + c], n)
                    if place < 0:
                        failed += 1
                    else:
                        place, at = place * inner + c, i64(0) if single == 1 else i * inner + c
                        out[place] = combined(out[place], source[at])
        if failed > 0:
            atomic_add(g[5], failed)


@function
def put_slice(x, source, width):
    """A piece of a slice, dense in memory: a number everywhere where `single`."""
    out = array(element, x)
    new = array(element, source)
    if single == 1:
        value = new[0]
        for c in independent(width):
            out[c] = combined(out[c], value)
    elif streams == 1:
        move_past(source, x, size * width)
    else:
        for c in independent(width):
            out[c] = combined(out[c], new[c])


@range_kernel
def put_rows(args, lo, hi, tid):
    """OUT[o, INDEX[i], c] = SOURCE[o, i, c], or what the way makes of both, in the order of the
    indices; nothing at all where one is out of range: items are outer blocks times bands of slices
    times segments of columns. Constants: failures, extent, number of indices, columns, columns of a
    segment, bands."""
    g = array(i64, args)
    n, m, inner, segment, bands = g[6], g[7], g[8], g[9], g[10]
    index, segments = array(i64, g[INDEX]), (inner + segment - 1) // segment
    failed = outside(index, 0, m, n)
    if failed > 0:
        atomic_add(g[5], failed)
        return
    for item in range(lo, hi):
        both, column = item // segments, (item % segments) * segment
        outer, band = both // bands, both % bands
        first, last = n * band // bands, n * (band + 1) // bands
        width = min(segment, inner - column)
        out = g[OUT] + size * (outer * n * inner + column)
        source = g[4] if single == 1 else g[4] + size * (outer * m * inner + column)
        if inner == 1:
            put_inside(index, m, array(element, source), array(element, out))
        else:
            for i in range(m):
                if (index[i] >= first) & (index[i] < last):
                    put_slice(out + size * index[i] * inner,
                              source if single == 1 else source + size * i * inner,
                              width)  # fmt: skip


@range_kernel
def count_outside(args, lo, hi, tid):
    """How many indices are out of range is added to the failures: items are indices."""
    g = array(i64, args)
    failed = outside(array(i64, g[INDEX]), lo, hi, g[6])
    if failed > 0:
        atomic_add(g[5], failed)


@range_kernel
def narrow_indices(args, lo, hi, tid):
    """OUT = indices of 64 bits as 16, past the caches; how many are out of range is added to the
    failures: items are NARROWED indices. Constants: failures, the extent, indices."""
    g = array(i64, args)
    n, failed = g[6], i64(0)
    few = stack(NARROWED // 4)
    narrow = array(u16, few)
    for item in range(lo, hi):
        start = item * NARROWED
        index, count = array(i64, g[INDEX] + 8 * start), min(i64(NARROWED), g[7] - start)
        for i in independent(count):
            place = index[i]
            narrow[i] = u16(place)
            failed += 1 if (place < 0) | (place >= n) else 0
        stream_copy(few, g[OUT] + 2 * start, (2 * count + LINE - 1) // LINE)
    if failed > 0:
        atomic_add(g[5], failed)


@range_kernel
def put_at_narrow(args, lo, hi, tid):
    """:func:`put_along` in place, at indices of 16 bits, all in range, of single columns."""
    g = array(i64, args)
    n, m = g[6], g[7]
    for item in range(lo, hi):
        index = array(u16, g[INDEX] + 2 * item * m)
        source = array(element, g[4] + size * item * m)
        out = array(element, g[OUT] + size * item * n)
        put_inside(index, m, source, out)


@range_kernel
def triangle(args, lo, hi, tid):
    """OUT = the row numbers of a triangle's elements, then their columns: items are rows.
    Constants: columns, offset of the diagonal, elements."""
    g = array(i64, args)
    n, offset, count = g[2], g[3], g[4]
    at = i64(0)
    for row in range(0, lo):
        at += between(row + offset, n)
    for row in range(lo, hi):
        m = between(row + offset, n)
        first = n - m if upper == 1 else i64(0)
        rows, columns = (
            array(element, g[OUT] + size * at),
            array(element, g[OUT] + size * (count + at)),
        )
        for i in range(m):
            rows[i] = element(row)
            columns[i] = element(first + i)
        at += m

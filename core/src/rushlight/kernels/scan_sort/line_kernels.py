"""Compiled loops along one dimension: running sums, the k largest, reading and adding at indices.

Arrays are dense and seen as (outer, n, inner), n being the dimension. Import at first need.
"""

from __future__ import annotations

from rushlight.kernels.scan_sort.row_scans import GROUP, scan
from rushlight.machine.language.functions import (
    Chosen,
    Parameter,
    array,
    element,
    f32,
    f64,
    function,
    i64,
    independent,
    maximum,
    minimum,
    range_kernel,
    real,
    stack,
    static,
)

# Argument words; those of running sums are as in `prepared`.
INDEX, OUT, X, _, FAILED, N, M, INNER = range(8)
TOP_PLACES, TOP_X, TOP_N, TOP_K = 2, 3, 4, 5  # of the k largest, as in `prepared`
SEGMENT = 256  # columns that one item runs down
ROWS = 4  # rows whose running extremes are found side by side
RUN = 4096  # elements of a block of differences
LOOK = 32  # elements that are looked at together for one that is among the k largest

product = Parameter("product")
largest = Parameter("largest")
adding = Parameter("adding")
scan32, scan64 = Chosen(product, scan[f32]), Chosen(product, scan[f64])


# ---- running sums and products -------------------------------------------------------------------
@function
def joined(a, b):
    """The sum or the product."""
    return a * b if product == 1 else a + b


@range_kernel
def scan_rows(args, lo, hi, tid):
    """Items are rows (inner is 1)."""
    g = array(i64, args)
    n, size = g[N], 4 if real is f32 else 8
    for row in range(lo, hi):
        source, target = g[X] + size * row * n, g[OUT] + size * row * n
        first = f64(1) if product == 1 else f64(0)
        if real is f32:
            total = scan32(source, target, n // GROUP, first)
        else:
            total = scan64(source, target, n // GROUP, first)
        x, out = array(real, source), array(real, target)
        for i in range(n - n % GROUP, n):
            total = joined(total, f64(x[i]))
            out[i] = real(total)


@range_kernel
def scan_columns(args, lo, hi, tid):
    """Items are segments of columns."""
    g = array(i64, args)
    n, inner, size = g[N], g[INNER], 4 if real is f32 else 8
    segments = (inner + SEGMENT - 1) // SEGMENT
    totals = array(f64, stack(SEGMENT))
    for item in range(lo, hi):
        outer, column = item // segments, item % segments * SEGMENT
        width = min(inner - column, SEGMENT)
        for i in range(width):
            totals[i] = 1 if product == 1 else 0
        for row in range(n):
            place = size * ((outer * n + row) * inner + column)
            x, out = array(real, g[X] + place), array(real, g[OUT] + place)
            for i in range(width):
                total = joined(totals[i], f64(x[i]))
                totals[i] = total
                out[i] = real(total)


# ---- products of all others ---------------------------------------------------------------------
@range_kernel
def others_rows(args, lo, hi, tid):
    """OUT[o, i] = GRAD[o] times the product of X[o, j] for all other j: items are rows."""
    g = array(i64, args)
    n, size = g[4], 4 if real is f32 else 8
    grads = array(real, g[3])
    for row in range(lo, hi):
        x, out = array(real, g[2] + size * row * n), array(real, g[1] + size * row * n)
        before = f64(1)
        for i in range(n):
            out[i] = real(before)
            before = before * f64(x[i])
        after = f64(grads[row])
        for j in range(n):
            i = n - 1 - j
            out[i] = real(f64(out[i]) * after)
            after = after * f64(x[i])


@range_kernel
def others_columns(args, lo, hi, tid):
    """The same along columns: items are segments of columns."""
    g = array(i64, args)
    n, inner, size = g[4], g[5], 4 if real is f32 else 8
    segments = (inner + SEGMENT - 1) // SEGMENT
    products = array(f64, stack(SEGMENT))
    for item in range(lo, hi):
        outer, column = item // segments, item % segments * SEGMENT
        width = min(inner - column, SEGMENT)
        grads = array(real, g[3] + size * (outer * inner + column))
        for c in range(width):
            products[c] = 1
        for i in range(n):
            place = size * ((outer * n + i) * inner + column)
            x, out = array(real, g[2] + place), array(real, g[1] + place)
            for c in range(width):
                out[c] = real(products[c])
                products[c] = products[c] * f64(x[c])
        for c in range(width):
            products[c] = f64(grads[c])
        for j in range(n):
            place = size * ((outer * n + n - 1 - j) * inner + column)
            x, out = array(real, g[2] + place), array(real, g[1] + place)
            for c in range(width):
                out[c] = real(f64(out[c]) * products[c])
                products[c] = products[c] * f64(x[c])


# ---- running extremes ----------------------------------------------------------------------------
@function
def takes_over(value, best):
    """Whether an element is the extreme from here on: of equal ones the last, and NaN."""
    if largest == 1:
        return (value >= best) | (value != value)
    return (value <= best) | (value != value)


@range_kernel
def extreme_rows(args, lo, hi, tid):
    """Running extremes of rows and their positions: items are rows. Constants: elements of a row
    and of what is inside of it (1), bytes of an element."""
    g = array(i64, args)
    n, size = g[4], g[6]
    whole = lo + (hi - lo) // ROWS * ROWS
    best, place = array(element, stack(ROWS)), array(i64, stack(ROWS))
    for row in range(lo, whole, ROWS):  # one row alone would wait for its comparisons
        x, out = array(element, g[3] + size * row * n), array(element, g[1] + size * row * n)
        places = array(i64, g[2] + 8 * row * n)
        for j in static(ROWS):
            best[j] = x[j * n]
            place[j] = 0
        for i in range(n):
            for j in static(ROWS):
                value = x[j * n + i]
                takes = takes_over(value, best[j])
                best[j] = value if takes else best[j]
                place[j] = i if takes else place[j]
                out[j * n + i] = best[j]
                places[j * n + i] = place[j]
    for row in range(whole, hi):
        x, out = array(element, g[3] + size * row * n), array(element, g[1] + size * row * n)
        places, most, where = array(i64, g[2] + 8 * row * n), x[0], i64(0)
        for i in range(n):
            takes = takes_over(x[i], most)
            most, where = x[i] if takes else most, i if takes else where
            out[i] = most
            places[i] = where


@range_kernel
def extreme_columns(args, lo, hi, tid):
    """The same along columns: items are segments of columns."""
    g = array(i64, args)
    n, inner, size = g[4], g[5], g[6]
    segments = (inner + SEGMENT - 1) // SEGMENT
    for item in range(lo, hi):
        outer, column = item // segments, item % segments * SEGMENT
        width = min(inner - column, SEGMENT)
        for row in range(n):
            at = (outer * n + row) * inner + column
            x, out = array(element, g[3] + size * at), array(element, g[1] + size * at)
            places = array(i64, g[2] + 8 * at)
            if row == 0:
                for i in range(width):
                    out[i] = x[i]
                    places[i] = 0
            else:
                before = array(element, g[1] + size * (at - inner))
                were = array(i64, g[2] + 8 * (at - inner))
                for i in range(width):
                    takes = takes_over(x[i], before[i])
                    out[i] = x[i] if takes else before[i]
                    places[i] = row if takes else were[i]


# ---- the k largest -------------------------------------------------------------------------------
@function
def beats(a, b):
    """Whether a comes before b; NaN counts as the largest."""
    if largest == 1:
        return a > b or (a != a and b == b)
    return a < b or (b != b and a == a)


@function
def insert(values, places, count, value, place):
    """Put a value into a sorted list whose last entry makes room; after equal ones."""
    j = count - 1
    while j > 0 and beats(value, values[j - 1]):
        values[j] = values[j - 1]
        places[j] = places[j - 1]
        j -= 1
    values[j] = value
    places[j] = place


@range_kernel
def top_rows(args, lo, hi, tid):
    """Items are rows: the K first in order, and where they were."""
    g = array(i64, args)
    n, k, size = g[TOP_N], g[TOP_K], 4 if real is f32 else 8
    for row in range(lo, hi):
        x = array(real, g[TOP_X] + size * row * n)
        values = array(real, g[OUT] + size * row * k)
        places = array(i64, g[TOP_PLACES] + 8 * row * k)
        for i in range(k):
            insert(values, places, i + 1, x[i], i)
        worst = values[k - 1]
        i = k
        while i < n:
            last = min(i + LOOK, n)
            best = x[i]
            for j in range(i, last):
                best = maximum(best, x[j]) if largest == 1 else minimum(best, x[j])
            if best != best or beats(best, worst):
                for j in range(i, last):
                    if beats(x[j], worst):
                        insert(values, places, k, x[j], j)
                        worst = values[k - 1]
            i = last


# ---- reading and adding at indices ---------------------------------------------------------------
@range_kernel
def at_indices(args, lo, hi, tid):
    """Items are outer blocks. Reading: OUT[o, i, c] = X[o, INDEX[o, i, c], c]; adding: OUT[o,
    INDEX[o, i, c], c] += X[o, i, c]. N is the length that indices go through, M theirs."""
    g = array(i64, args)
    n, m, inner, size = g[N], g[M], g[INNER], 4 if real is f32 else 8
    for outer in range(lo, hi):
        index = array(i64, g[INDEX] + 8 * outer * m * inner)
        wide, short = size * outer * n * inner, size * outer * m * inner
        if adding == 1:
            x, out = array(real, g[X] + short), array(real, g[OUT] + wide)
        else:
            x, out = array(real, g[X] + wide), array(real, g[OUT] + short)
        for i in range(m):
            for c in range(inner):
                place = index[i * inner + c]
                if place < 0 or place >= n:
                    array(i64, g[FAILED])[0] = 1
                    array(i64, g[FAILED])[1] = place
                    return
                if adding == 1:
                    out[place * inner + c] += x[i * inner + c]
                else:
                    out[i * inner + c] = x[place * inner + c]


# ---- differences of neighbours -------------------------------------------------------------------
@range_kernel
def differences(args, lo, hi, tid):
    """Those of neighbours, `inner` elements apart; words: a number, OUT, X, the elements of an
    outer position of OUT, `inner`, blocks of an outer position. Items are blocks of RUN
    elements."""
    g = array(i64, args)
    count, inner, blocks, size = g[3], g[4], g[5], 4 if real is f32 else 8
    for item in range(lo, hi):
        outer, first = item // blocks, item % blocks * RUN
        x = array(real, g[2] + size * (outer * (count + inner) + first))
        out = array(real, g[1] + size * (outer * count + first))
        for i in independent(min(RUN, count - first)):
            out[i] = x[i + inner] - x[i]


@range_kernel
def differences_back(args, lo, hi, tid):
    """The transpose: each element less the one behind it, with zeros around. Words: a number, OUT,
    X, the elements of an outer position of X, `inner`, blocks of an outer position of OUT."""
    g = array(i64, args)
    count, inner, blocks, size = g[3], g[4], g[5], 4 if real is f32 else 8
    for item in range(lo, hi):
        outer, first = item // blocks, item % blocks * RUN
        last = min(count + inner, first + RUN)
        x = array(real, g[2] + size * outer * count)
        out = array(real, g[1] + size * outer * (count + inner))
        head, tail = max(first, min(last, inner)), max(first, min(last, count))
        for i in range(first, head):
            out[i] = -x[i]
        here, before = array(real, g[2] + size * (outer * count + head)), head - inner
        there = array(real, g[2] + size * (outer * count + before))
        middle = array(real, g[1] + size * (outer * (count + inner) + head))
        for i in independent(tail - head):
            middle[i] = there[i] - here[i]
        for i in range(max(head, tail), last):
            out[i] = x[i - inner]

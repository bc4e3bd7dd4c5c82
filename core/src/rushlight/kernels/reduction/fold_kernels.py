"""Compiled reductions that give their result by one call: variances, norms, products, logarithms of
sums of exponentials, and whether any or all elements are true.

An array is seen as (outer, n, inner), n being reduced. Argument words follow
:mod:`rushlight.kernels.launch.prepared`. Import at first need.
"""

from __future__ import annotations

from rushlight.kernels.launch.exponential import exponential, logarithm
from rushlight.kernels.reduction.softmax import row_maximum, total_of_exponentials
from rushlight.machine.language.functions import (
    Parameter,
    array,
    element,
    f64,
    function,
    i64,
    independent,
    infinity,
    maximum,
    range_kernel,
    real,
    square_root,
    stack,
    stored,
    u8,
)

OUT, X, N, INNER, DIVISOR = 1, 2, 3, 4, 5
RUN = 1024  # elements that are added up in the array's own precision
COLUMNS = 128  # columns that go together

kind = Parameter("kind")
SUM, VARIANCE, DEVIATION, NORM, PRODUCT, LOG_SUM_EXP = range(6)
every = Parameter("every")


@function(reassociate=True)
def run_sum(x, first, last):
    """A short run, in vectors."""
    total = real(0)
    for i in range(first, last):
        total += x[i]
    return f64(total)


@function(reassociate=True)
def run_distances(x, first, last, centre):
    """The squared distances of a short run from a centre, and the distances."""
    total, offset = real(0), real(0)
    for i in range(first, last):
        apart = x[i] - centre
        total += apart * apart
        offset += apart
    return f64(total), f64(offset)


@function(reassociate=True)
def run_product(x, first, last):
    """The product of a run, in float64."""
    total = f64(1)
    for i in range(first, last):
        total = total * f64(x[i])
    return total


@function
def distances(x, n, centre):
    """Squared distances of a row from a centre, added up run by run, and the distances."""
    total, offset = f64(0), f64(0)
    for start in range(0, n, RUN):
        found, apart = run_distances(x, start, min(n, start + RUN), centre)
        total += found
        offset += apart
    return total, offset


@function
def plain_sum(x, n):
    """A row added up run by run."""
    total = f64(0)
    for start in range(0, n, RUN):
        total += run_sum(x, start, min(n, start + RUN))
    return total


@function
def squares(x, n):
    """The squares of a row added up run by run."""
    total, offset = distances(x, n, real(0))
    return total


@function
def row_variance(x, n, divisor):
    """The variance of a row: the centre is rounded, which numbers that differ by as little would
    show, so that what it is off by is taken off again."""
    total, offset = distances(x, n, real(plain_sum(x, n) / f64(n)))
    total -= offset * offset / f64(n)
    return (f64(0) if total < 0 else total) / divisor


@function
def shift_of(best):
    """What exponents are taken less: the largest, where that is a finite number."""
    return real(0) if (best == infinity(real)) | (best == -infinity(real)) else best


@range_kernel
def fold_rows(args, lo, hi, tid):
    """Items are rows. DIVISOR holds a double. (Logarithms of sums: `stored` is `real`.)"""
    g = array(i64, args)
    n, size = g[N], stored.bits // 8
    out, divisor = array(stored, g[OUT]), array(f64, args)[DIVISOR]
    for item in range(lo, hi):
        x = array(stored, g[X] + size * item * n)
        if kind == PRODUCT:
            out[item] = real(run_product(x, i64(0), n))
        elif kind == LOG_SUM_EXP:
            best = row_maximum(g[X] + size * item * n, n)
            out[item] = best  # an infinity or NaN
            if best - best == 0:
                out[item] = logarithm(total_of_exponentials(x, n, best)) + best
        elif kind == NORM:
            out[item] = real(square_root(squares(x, n)))
        elif kind == SUM:
            out[item] = real(plain_sum(x, n))
        else:
            found = row_variance(x, n, divisor)
            out[item] = real(found if kind == VARIANCE else square_root(found))


wide_fold_rows = range_kernel(fold_rows.definition, wide=True)  # for exponentials


@function
def columns_of_four(x, first, inner):
    """A column of four rows from element `first` on."""
    return x[first], x[first + inner], x[first + 2 * inner], x[first + 3 * inner]


@function
def column_maxima(x, n, inner, count, best):
    """The maxima of `count` columns, rows `inner` apart, or 0 for infinite ones."""
    whole = n - n % 4
    for i in range(0, whole, 4):
        for j in independent(count):
            a, b, c, d = columns_of_four(x, i * inner + j, inner)
            best[j] = maximum(best[j], maximum(maximum(a, b), maximum(c, d)))
    for i in range(whole, n):
        for j in independent(count):
            best[j] = maximum(best[j], x[i * inner + j])
    for j in range(count):
        best[j] = shift_of(best[j])


@function
def column_exponentials(x, n, inner, count, centre, total):
    """Sums of exponentials of distances from `centre`, four of which are added before they are
    widened."""
    whole = n - n % 4
    for i in range(0, whole, 4):
        for j in independent(count):
            a, b, c, d = columns_of_four(x, i * inner + j, inner)
            low = exponential(a - centre[j]) + exponential(b - centre[j])
            high = exponential(c - centre[j]) + exponential(d - centre[j])
            total[j] += f64(low + high)
    for i in range(whole, n):
        for j in independent(count):
            total[j] += f64(exponential(x[i * inner + j] - centre[j]))


@range_kernel
def fold_columns(args, lo, hi, tid):
    """Items are blocks of COLUMNS neighbouring columns."""
    g = array(i64, args)
    n, inner, size = g[N], g[INNER], stored.bits // 8
    divisor = array(f64, args)[DIVISOR]
    total, centre = array(f64, stack(COLUMNS)), array(real, stack(COLUMNS))
    middle = array(f64, stack(COLUMNS))
    blocks = (inner + COLUMNS - 1) // COLUMNS
    for item in range(lo, hi):
        first = (item % blocks) * COLUMNS
        count = min(COLUMNS, inner - first)
        x = array(stored, g[X] + size * ((item // blocks) * n * inner + first))
        out = array(stored, g[OUT] + size * ((item // blocks) * inner + first))
        for j in range(count):
            total[j] = f64(1) if kind == PRODUCT else f64(0)
            centre[j] = -infinity(real) if kind == LOG_SUM_EXP else real(0)
            middle[j] = 0
        if kind == VARIANCE or kind == DEVIATION:
            for i in range(n):
                for j in range(count):
                    total[j] += f64(x[i * inner + j])
            for j in range(count):
                middle[j] = total[j] / f64(n)
                total[j] = 0
        elif kind == LOG_SUM_EXP:
            column_maxima(x, n, inner, count, centre)
            column_exponentials(x, n, inner, count, centre, total)
        for i in range(n if kind != LOG_SUM_EXP else i64(0)):
            for j in range(count):
                value = x[i * inner + j]
                if kind == PRODUCT:
                    total[j] = total[j] * f64(value)
                elif kind == SUM:
                    total[j] += f64(value)
                else:
                    apart = f64(value) - middle[j]
                    total[j] += apart * apart
        for j in range(count):
            if kind == VARIANCE:
                out[j] = real(total[j] / divisor)
            elif kind == DEVIATION:
                out[j] = real(square_root(total[j] / divisor))
            elif kind == NORM:
                out[j] = real(square_root(total[j]))
            elif kind == LOG_SUM_EXP:
                out[j] = logarithm(real(total[j])) + centre[j]
            else:
                out[j] = real(total[j])


wide_fold_columns = range_kernel(fold_columns.definition, wide=True)


@range_kernel
def truth_rows(args, lo, hi, tid):
    """Whether any (or, where `every` is 1, each) element of a part of a row is not zero, as bytes.
    Constants: elements of a row, bytes of one, parts."""
    g = array(i64, args)
    n, parts = g[N], g[INNER + 1]
    out = array(u8, g[OUT])
    for item in range(lo, hi):
        x = array(element, g[X] + g[INNER] * (item // parts) * n)
        found = i64(every)
        start, end = n * (item % parts) // parts, n * (item % parts + 1) // parts
        while start < end:
            stop = min(end, start + 512)
            zeros = i64(0)
            for i in range(start, stop):
                zeros += 1 if x[i] == element(0) else 0
            others = stop - start - zeros
            start = stop
            if every == 1:
                if zeros > 0:
                    found = i64(0)
                    start = end
            elif others > 0:
                found = i64(1)
                start = end
        out[item] = u8(found)

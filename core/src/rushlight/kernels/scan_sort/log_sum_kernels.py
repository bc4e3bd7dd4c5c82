"""Compiled logarithms of running sums of exponentials, and their gradient, in float64.

Arrays are dense and seen as (outer, n, inner), n being the dimension. Argument words follow
:mod:`rushlight.kernels.launch.prepared`. Import at first need.

A block of a row is summed relative to its largest element: all terms are positive, so a sum has
the relative precision of float64 however small it is. Where numbers are too far apart for that, or
are not finite, elements go one by one.
"""

from __future__ import annotations

from rushlight.kernels.launch.exponential import exponential64, logarithm64
from rushlight.kernels.reduction.softmax import row_maximum
from rushlight.kernels.scan_sort.row_scans import GROUP, scan
from rushlight.machine.language.functions import (
    External,
    array,
    f32,
    f64,
    function,
    i64,
    independent,
    infinity,
    maximum,
    minimum,
    range_kernel,
    real,
    stack,
)

OUT, X, N, INNER = 1, 2, 3, 4
DX, GRAD, INPUT, SUMS, GRAD_N, GRAD_INNER = 1, 2, 3, 4, 5, 6
BLOCK = 256  # elements of a row, or columns, that go together
FAR, FAR_64 = 600.0, 40.0  # exponents within a block: e^600 is a number, e^40 keeps float64's bits

_log1p = External("log1p", f64, (f64,))
sums = scan[f64][0]


@function
def added(total, x):
    """``log(exp(total) + exp(x))``, one at a time."""
    high, low = maximum(total, x), minimum(total, x)
    found = high  # an infinity or NaN
    if high - high == 0:
        found = high + _log1p(exponential64(low - high))
    return found


@range_kernel
def rows(args, lo, hi, tid):
    """Items are rows (inner is 1)."""
    g = array(i64, args)
    n, size = g[N], 4 if real is f32 else 8
    far = f64(FAR if real is f32 else FAR_64)
    memory = stack(BLOCK)
    terms = array(f64, memory)
    for row in range(lo, hi):
        total = -infinity(f64)
        for start in range(0, n, BLOCK):
            count, place = min(BLOCK, n - start), size * (row * n + start)
            x, out = array(real, g[X] + place), array(real, g[OUT] + place)
            most = maximum(f64(row_maximum(g[X] + place, count)), total)
            if most - maximum(total, f64(x[0])) <= far:
                for i in independent(count):
                    terms[i] = exponential64(f64(x[i]) - most)
                whole = count // GROUP * GROUP
                sum = sums(memory, memory, count // GROUP, exponential64(total - most))
                for i in range(whole, count):
                    sum += terms[i]
                    terms[i] = sum
                for i in independent(count):
                    out[i] = real(logarithm64(terms[i]) + most)
                total = logarithm64(sum) + most
            else:
                for i in range(count):
                    total = added(total, f64(x[i]))
                    out[i] = real(total)


@range_kernel
def columns(args, lo, hi, tid):
    """Items are blocks of columns."""
    g = array(i64, args)
    n, inner, size = g[N], g[INNER], 4 if real is f32 else 8
    blocks = (inner + BLOCK - 1) // BLOCK
    totals = array(f64, stack(BLOCK))
    for item in range(lo, hi):
        outer, column = item // blocks, item % blocks * BLOCK
        width = min(inner - column, BLOCK)
        for j in range(width):
            totals[j] = -infinity(f64)
        for row in range(n):
            place = size * ((outer * n + row) * inner + column)
            x, out = array(real, g[X] + place), array(real, g[OUT] + place)
            for j in independent(width):
                high, low = maximum(totals[j], f64(x[j])), minimum(totals[j], f64(x[j]))
                more = high + logarithm64(1 + exponential64(low - high))
                found = more if high - high == 0 else high
                totals[j] = found
                out[j] = real(found)


@function
def pulled(before, grad, out, after):
    """The sum of later gradients by ``exp(out - their out)``, and a gradient more; gradients that
    are NaN, and those of infinite sums, count for nothing."""
    own = f64(grad) if (grad == grad) & ((out - out == 0) | (out != out)) else f64(0)
    passed = before * exponential64(f64(out) - f64(after))
    return own if before == 0 else passed + own


@range_kernel
def row_gradients(args, lo, hi, tid):
    """DX[j] = sum over i >= j of GRAD[i] * exp(INPUT[j] - SUMS[i]). Items are rows."""
    g = array(i64, args)
    n, size = g[GRAD_N], 4 if real is f32 else 8
    terms = array(f64, stack(BLOCK))
    far = f64(FAR if real is f32 else FAR_64)
    for row in range(lo, hi):
        total, after = f64(0), f64(0)  # relative to the exponential of `after`
        for back in range(0, n, BLOCK):
            count = min(BLOCK, n - back)
            place = size * (row * n + n - back - count)
            dx, grad = array(real, g[DX] + place), array(real, g[GRAD] + place)
            x, out = array(real, g[INPUT] + place), array(real, g[SUMS] + place)
            least = f64(out[0])
            if f64(out[count - 1]) - least <= far:
                for i in independent(count):
                    own = f64(grad[i]) if grad[i] == grad[i] else f64(0)
                    terms[i] = own * exponential64(least - f64(out[i]))
                total = f64(0) if total == 0 else total * exponential64(least - after)
                for j in range(count):
                    total += terms[count - 1 - j]
                    terms[count - 1 - j] = total
                for i in independent(count):
                    dx[i] = real(terms[i] * exponential64(f64(x[i]) - least))
                after = least
            else:
                for j in range(count):
                    i = count - 1 - j
                    total = pulled(total, grad[i], out[i], after)
                    after = f64(out[i])
                    dx[i] = real(total * exponential64(f64(x[i]) - after))
                    if after == -infinity(f64):
                        dx[i], total = real(0), f64(0)


@range_kernel
def column_gradients(args, lo, hi, tid):
    """The same along columns: items are blocks of them."""
    g = array(i64, args)
    n, inner, size = g[GRAD_N], g[GRAD_INNER], 4 if real is f32 else 8
    blocks = (inner + BLOCK - 1) // BLOCK
    totals, afters = array(f64, stack(BLOCK)), array(f64, stack(BLOCK))
    for item in range(lo, hi):
        outer, column = item // blocks, item % blocks * BLOCK
        width = min(inner - column, BLOCK)
        for j in range(width):
            totals[j], afters[j] = f64(0), f64(0)
        for back in range(n):
            place = size * ((outer * n + n - 1 - back) * inner + column)
            dx, grad = array(real, g[DX] + place), array(real, g[GRAD] + place)
            x, out = array(real, g[INPUT] + place), array(real, g[SUMS] + place)
            for j in independent(width):
                total, after = pulled(totals[j], grad[j], out[j], afters[j]), f64(out[j])
                found = total * exponential64(f64(x[j]) - after)
                nothing = after == -infinity(f64)
                dx[j] = real(0) if nothing else real(found)
                totals[j] = f64(0) if nothing else total
                afters[j] = after

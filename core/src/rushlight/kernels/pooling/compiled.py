"""Compiled loops over windows: maxima, means and their gradients, for :mod:`pooling`.

One kernel over (planes, depth, height, width) serves one to three spatial dims; the windows of each
dim come as tables of starts and ends, so adaptive pooling is no special case.
"""

from __future__ import annotations

from rushlight.machine.language.functions import (
    array,
    f32,
    function,
    i32,
    i64,
    independent,
    infinity,
    range_kernel,
    real,
    stack,
)

# Argument words: three arrays and a cell for errors, then the dims of the image and of the result,
# then the windows (start and end of each along each dim, as tables).
X, Y, INDEX, FAILED, D, H, W, OD, OH, OW, STEP_D, STEP_H, STEP_W = range(13)
TABLE_D, TABLE_H, TABLE_W, COUNTED, PADDING_W, CODE = range(13, 19)
WORDS = 19
STRIP = 128  # columns of an image whose maxima over rows are kept at once


@range_kernel
def max_forward(args, lo, hi, tid):
    """Items are planes (image, channel)."""
    g = array(i64, args)
    depth, height, width = g[D], g[H], g[W]
    od, oh, ow = g[OD], g[OH], g[OW]
    step_d, step_h, step_w = g[STEP_D], g[STEP_H], g[STEP_W]
    planes_d, rows_h = array(i64, g[TABLE_D]), array(i64, g[TABLE_H])
    columns_w = array(i64, g[TABLE_W])
    size = 4 if real is f32 else 8
    for plane in range(lo, hi):
        x = array(real, g[X] + size * plane * depth * height * width)
        y = array(real, g[Y] + size * plane * od * oh * ow)
        index = array(i64, g[INDEX] + 8 * plane * od * oh * ow)
        for i in range(od * oh):
            a, b = i // oh, i % oh
            for c in range(ow):
                first = columns_w[2 * c]
                best = -infinity(real)
                place = (planes_d[2 * a] * height + rows_h[2 * b]) * width + first
                for z in range(planes_d[2 * a], planes_d[2 * a + 1], step_d):
                    for v in range(rows_h[2 * b], rows_h[2 * b + 1], step_h):
                        base = (z * height + v) * width
                        for u in range(first, columns_w[2 * c + 1], step_w):
                            value = x[base + u]
                            if value > best or value != value:
                                best = value
                                place = base + u
                y[i * ow + c] = best
                index[i * ow + c] = place


@function
def larger_of(value, row, best, at):
    """The larger of two values with its row; a NaN after another one wins."""
    take = (value > best) | (value != value)
    return value if take else best, row if take else at


@function
def maxima_of_columns(g, x, best, rows, a, b, count):
    """Maxima over the rows of a window in each of `count` columns, and the rows they are in."""
    height, size = g[H], 4 if real is f32 else 8
    planes_d, rows_h = array(i64, g[TABLE_D]), array(i64, g[TABLE_H])
    fresh, last = i64(1), rows_h[2 * b + 1] - 1
    for z in range(planes_d[2 * a], planes_d[2 * a + 1]):
        for v in range(rows_h[2 * b], last + 1, 4):  # the last row more than once changes nothing
            v1, v2, v3 = min(v + 1, last), min(v + 2, last), min(v + 3, last)
            above, pitch = x + size * z * height * g[W], size * g[W]
            x0, x1 = array(real, above + v * pitch), array(real, above + v1 * pitch)
            x2, x3 = array(real, above + v2 * pitch), array(real, above + v3 * pitch)
            r0 = z * height
            r1, r2, r3 = i32(r0 + v1), i32(r0 + v2), i32(r0 + v3)
            if fresh == 1:
                for j in independent(count):
                    found, at = larger_of(x1[j], r1, x0[j], i32(r0 + v))
                    found, at = larger_of(x2[j], r2, found, at)
                    best[j], rows[j] = larger_of(x3[j], r3, found, at)
            else:
                for j in independent(count):
                    found, at = larger_of(x0[j], i32(r0 + v), best[j], rows[j])
                    found, at = larger_of(x1[j], r1, found, at)
                    found, at = larger_of(x2[j], r2, found, at)
                    best[j], rows[j] = larger_of(x3[j], r3, found, at)
            fresh = i64(0)


@function
def first_larger(best, at, place, value, row, column):
    """The larger of two maxima of columns; of equal numbers the first in memory."""
    take = (value > best) | (value != value) | ((value == best) & (row < at))
    return value if take else best, row if take else at, column if take else place


@function
def last_nan(g, x, a, b, first, last):
    """Where the last NaN of a window is that has one."""
    planes_d, rows_h = array(i64, g[TABLE_D]), array(i64, g[TABLE_H])
    values, place = array(real, x), i64(0)
    for z in range(planes_d[2 * a], planes_d[2 * a + 1]):
        for v in range(rows_h[2 * b], rows_h[2 * b + 1]):
            base = (z * g[H] + v) * g[W]
            for u in range(first, last):
                value = values[base + u]
                place = base + u if value != value else place
    return place


@range_kernel
def max_strips(args, lo, hi, tid):
    """Windows of several rows without gaps: maxima of columns in vectors, then of each window's
    columns. Items are rows of results."""
    g = array(i64, args)
    height, width, od, oh, ow = g[H], g[W], g[OD], g[OH], g[OW]
    planes_d, rows_h = array(i64, g[TABLE_D]), array(i64, g[TABLE_H])
    columns_w, size = array(i64, g[TABLE_W]), 4 if real is f32 else 8
    maxima, held = array(real, stack(STRIP)), array(i32, stack(STRIP // 2))
    for row in range(lo, hi):
        rest, b = row // oh, row % oh
        a, x = rest % od, g[X] + size * (rest // od) * g[D] * height * width
        y, index = array(real, g[Y] + size * row * ow), array(i64, g[INDEX] + 8 * row * ow)
        start, end = i64(0), i64(0)
        for c in range(ow):
            first, last = columns_w[2 * c], columns_w[2 * c + 1]
            best, at, place = -infinity(real), i32(planes_d[2 * a] * height + rows_h[2 * b]), first
            u = first
            while u < last:
                if u >= end or (last > end and u > start):
                    start, end = u, min(width, u + STRIP)
                    maxima_of_columns(g, x + size * start, maxima, held, a, b, end - start)
                upto = min(last, end)
                stop = upto - start - 1
                for k in range(u - start, stop + 1, 4):
                    k1, k2, k3 = min(k + 1, stop), min(k + 2, stop), min(k + 3, stop)
                    v1, r1, p1 = first_larger(maxima[k], held[k], k, maxima[k1], held[k1], k1)
                    v2, r2, p2 = first_larger(maxima[k2], held[k2], k2, maxima[k3], held[k3], k3)
                    v1, r1, p1 = first_larger(v1, r1, p1, v2, r2, p2)
                    best, at, place = first_larger(best, at, place, v1, r1, start + p1)
                u = upto
            y[c] = best
            index[c] = i64(at) * width + place
            if best != best:
                index[c] = last_nan(g, x, a, b, first, last)


@range_kernel
def max_backward(args, lo, hi, tid):
    """Gradients go to the positions of the maxima. Items are planes."""
    g = array(i64, args)
    inside, outside = g[D] * g[H] * g[W], g[OD] * g[OH] * g[OW]
    size = 4 if real is f32 else 8
    for plane in range(lo, hi):
        x = array(real, g[X] + size * plane * inside)
        y = array(real, g[Y] + size * plane * outside)
        index = array(i64, g[INDEX] + 8 * plane * outside)
        for i in range(inside):
            x[i] = 0
        for i in range(outside):
            place = index[i]
            if 0 <= place < inside:
                x[place] += y[i]
            else:
                array(i64, g[FAILED])[0] = 1


@range_kernel(reassociate=True)
def avg_forward(args, lo, hi, tid):
    """Items are planes. COUNTED holds one divisor per result of a plane (as its reciprocal)."""
    g = array(i64, args)
    depth, height, width = g[D], g[H], g[W]
    od, oh, ow = g[OD], g[OH], g[OW]
    planes_d, rows_h = array(i64, g[TABLE_D]), array(i64, g[TABLE_H])
    columns_w = array(i64, g[TABLE_W])
    size = 4 if real is f32 else 8
    divisors = array(real, g[COUNTED])
    for plane in range(lo, hi):
        x = array(real, g[X] + size * plane * depth * height * width)
        y = array(real, g[Y] + size * plane * od * oh * ow)
        for i in range(od * oh):
            a, b = i // oh, i % oh
            for c in range(ow):
                total = real(0)
                first, last = columns_w[2 * c], columns_w[2 * c + 1]
                for z in range(planes_d[2 * a], planes_d[2 * a + 1]):
                    for v in range(rows_h[2 * b], rows_h[2 * b + 1]):
                        row = (z * height + v) * width
                        for u in range(first, last):
                            total += x[row + u]
                y[i * ow + c] = total / divisors[i * ow + c]


@range_kernel
def avg_backward(args, lo, hi, tid):
    """Every input of a window receives its share. Items are planes."""
    g = array(i64, args)
    depth, height, width = g[D], g[H], g[W]
    od, oh, ow = g[OD], g[OH], g[OW]
    planes_d, rows_h = array(i64, g[TABLE_D]), array(i64, g[TABLE_H])
    columns_w = array(i64, g[TABLE_W])
    size = 4 if real is f32 else 8
    divisors = array(real, g[COUNTED])
    for plane in range(lo, hi):
        x = array(real, g[X] + size * plane * depth * height * width)
        y = array(real, g[Y] + size * plane * od * oh * ow)
        for i in range(depth * height * width):
            x[i] = 0
        for i in range(od * oh):
            a, b = i // oh, i % oh
            for c in range(ow):
                share = y[i * ow + c] / divisors[i * ow + c]
                first, last = columns_w[2 * c], columns_w[2 * c + 1]
                for z in range(planes_d[2 * a], planes_d[2 * a + 1]):
                    for v in range(rows_h[2 * b], rows_h[2 * b + 1]):
                        row = (z * height + v) * width
                        for u in range(first, last):
                            x[row + u] += share


@range_kernel
def spread_planes(args, lo, hi, tid):
    """The same of one window as large as the image. Items are planes."""
    g = array(i64, args)
    inside, size = g[D] * g[H] * g[W], 4 if real is f32 else 8
    y, divisor = array(real, g[Y]), array(real, g[COUNTED])[0]
    for plane in range(lo, hi):
        x, share = array(real, g[X] + size * plane * inside), y[plane] / divisor
        for i in range(inside):
            x[i] = share

"""Compiled loops over windows: maxima, means and their gradients, for :mod:`pooling`.

One kernel over (planes, depth, height, width) serves one to three spatial dims; the windows of each
dim come as tables of starts and ends, so adaptive pooling is no special case.
"""

from __future__ import annotations

from rushlight.machine.language.functions import (
    Parameter,
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
    static,
)

# Argument words: three arrays and a cell for errors, then the dims of the image and of the result,
# then the windows (start and end of each along each dim, as tables).
X, Y, INDEX, FAILED, D, H, W, OD, OH, OW, STEP_D, STEP_H, STEP_W = range(13)
TABLE_D, TABLE_H, TABLE_W, COUNTED, PADDING_W, KERNEL_W = range(13, 19)
WORDS = 19
STRIP = 128  # columns of an image whose maxima over rows are kept at once
stride = Parameter("stride")  # of the last dim
taps = Parameter("taps")  # along the last dim
high = Parameter("high")  # rows of windows that are gone through at once
places = Parameter("places")  # whether maxima are asked for with their positions: 1 or 0


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


@range_kernel
def max_forward_regular(args, lo, hi, tid):
    """Windows at a fixed stride: a kernel tap at a time over a whole output row, in vectors."""
    g = array(i64, args)
    depth, height, width = g[D], g[H], g[W]
    od, oh, ow, step, taps, padding = g[OD], g[OH], g[OW], g[STEP_W], g[KERNEL_W], g[PADDING_W]
    planes_d, rows_h = array(i64, g[TABLE_D]), array(i64, g[TABLE_H])
    columns_w = array(i64, g[TABLE_W])
    size = 4 if real is f32 else 8
    for row in range(lo * od * oh, hi * od * oh):
        a, b = row // oh % od, row % oh
        image = g[X] + size * (row // (od * oh)) * depth * height * width
        y, index = array(real, g[Y] + size * row * ow), array(i64, g[INDEX] + 8 * row * ow)
        start = (planes_d[2 * a] * height + rows_h[2 * b]) * width
        for c in range(ow):
            y[c] = -infinity(real)
            index[c] = start + columns_w[2 * c]
        for z in range(planes_d[2 * a], planes_d[2 * a + 1], g[STEP_D]):
            for v in range(rows_h[2 * b], rows_h[2 * b + 1], g[STEP_H]):
                base = (z * height + v) * width
                for k in range(taps):
                    shift = k * step - padding  # window c meets column c * stride + shift
                    first = max(0, (stride - 1 - shift) // stride)
                    last = min(ow, (width - 1 - shift) // stride + 1)
                    x = array(real, image + size * (base + shift))
                    for c in range(first, last):
                        value, best = x[c * stride], y[c]
                        take = (value > best) | (value != value)
                        y[c] = value if take else best
                        index[c] = base + shift + c * stride if take else index[c]


@function
def largest_of_window(x, c, place, apart, more):
    """The maximum of window c, and where it is: ``high`` rows that are ``apart`` elements from each
    other, the last of the ``more`` after the first again and again: that changes nothing."""
    best, at = x[c * stride], place + c * stride
    for k in static(1, taps):
        value = x[c * stride + k]
        take = (value > best) | (value != value)
        best = value if take else best
        if places == 1:
            at = place + c * stride + k if take else at
    for row in static(1, high):
        shift = min(row, more) * apart
        for k in static(taps):
            value = x[c * stride + shift + k]
            take = (value > best) | (value != value)
            best = value if take else best
            if places == 1:
                at = place + c * stride + shift + k if take else at
    return best, at


@function
def maxima_of_rows(x, y, index, count, place, apart, more, fresh):
    """Maxima of some rows of windows, and of what is in ``y`` unless it is ``fresh``: what is there
    is left out by a loop of its own then, as LLVM makes partial stores of a choice between a value
    and what a position has already, which are slow on some processors."""
    if fresh != 0:
        for c in range(count):
            best, at = largest_of_window(x, c, place, apart, more)
            y[c] = best
            if places == 1:
                index[c] = at
        return
    for c in range(count):
        best, at = largest_of_window(x, c, place, apart, more)
        take = (best > y[c]) | (best != best)
        y[c] = best if take else y[c]
        if places == 1:
            index[c] = at if take else index[c]


@range_kernel
def max_rows(args, lo, hi, tid):
    """Windows of a few neighbouring columns, in vectors: items are rows of results."""
    g = array(i64, args)
    depth, height, width, od, oh, ow = g[D], g[H], g[W], g[OD], g[OH], g[OW]
    planes_d, rows_h = array(i64, g[TABLE_D]), array(i64, g[TABLE_H])
    size, padding, step = 4 if real is f32 else 8, g[PADDING_W], g[STEP_H]
    first = min(ow, (padding + stride - 1) // stride)  # whole windows
    last = max(first, min(ow, (width - taps + padding) // stride + 1))
    start = first * stride - padding
    for row in range(lo, hi):
        rest, b = row // oh, row % oh
        a, image = rest % od, rest // od * depth * height * width
        y, index = g[Y] + size * row * ow, g[INDEX] + 8 * row * ow
        fresh, end = i64(1), rows_h[2 * b + 1]
        for z in range(planes_d[2 * a], planes_d[2 * a + 1], g[STEP_D]):
            for v in range(rows_h[2 * b], end, high * step):
                base, more = (z * height + v) * width, (end - 1 - v) // step
                maxima_of_rows(array(real, g[X] + size * (image + base + start)),
                               array(real, y + size * first), array(i64, index + 8 * first),
                               last - first, base + start, step * width, more, fresh)  # fmt: skip
                if first > 0 or last < ow:
                    for below in range(min(more + 1, high)):
                        at = base + below * step * width
                        x = array(real, g[X] + size * (image + at))
                        for c in range(first):
                            maximum_at_edge(g, x, array(real, y), array(i64, index), c, at, fresh)
                        for c in range(last, ow):
                            maximum_at_edge(g, x, array(real, y), array(i64, index), c, at, fresh)
                        fresh = i64(0)
                fresh = i64(0)


@function
def maximum_at_edge(g, x, y, index, c, base, fresh):
    """The same of one window, parts of which are padding."""
    columns_w = array(i64, g[TABLE_W])
    begin = columns_w[2 * c]
    best, at = x[begin], begin
    for u in range(begin + 1, columns_w[2 * c + 1]):
        value = x[u]
        take = (value > best) | (value != value)
        best, at = value if take else best, u if take else at
    if (fresh != 0) | (best > y[c]) | (best != best):
        y[c] = best
        if places == 1:
            index[c] = base + at


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
def max_forward_pairs(args, lo, hi, tid):
    """Windows of 2 x 2 at stride 2 without padding: the common case, free of inner loops."""
    g = array(i64, args)
    height, width, oh, ow = g[H], g[W], g[OH], g[OW]
    size = 4 if real is f32 else 8
    for plane in range(lo, hi):
        for b in range(oh):
            top = 2 * b * width
            x = array(real, g[X] + size * (plane * height * width + top))
            y = array(real, g[Y] + size * (plane * oh + b) * ow)
            index = array(i64, g[INDEX] + 8 * (plane * oh + b) * ow)
            for c in range(ow):
                u = 2 * c
                best, place = x[u], top + u
                right = x[u + 1]
                take = (right > best) | (right != right)
                best, place = right if take else best, top + u + 1 if take else place
                left = x[u + width]
                take = (left > best) | (left != left)
                best, place = left if take else best, top + u + width if take else place
                last = x[u + width + 1]
                take = (last > best) | (last != last)
                best, place = last if take else best, top + u + width + 1 if take else place
                y[c] = best
                index[c] = place


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
def avg_rows(args, lo, hi, tid):
    """Windows at a fixed stride, in vectors: items are rows of results, each of which receives a
    kernel tap (or two that are neighbours) at a time."""
    g = array(i64, args)
    depth, height, width = g[D], g[H], g[W]
    od, oh, ow, taps, padding = g[OD], g[OH], g[OW], g[KERNEL_W], g[PADDING_W]
    planes_d, rows_h = array(i64, g[TABLE_D]), array(i64, g[TABLE_H])
    size = 4 if real is f32 else 8
    for row in range(lo, hi):
        place = row % (od * oh)
        a, b = place // oh, place % oh
        image = g[X] + size * (row // (od * oh)) * depth * height * width
        y, divisors = array(real, g[Y] + size * row * ow), array(real, g[COUNTED])
        for c in range(ow):
            y[c] = 0
        for z in range(planes_d[2 * a], planes_d[2 * a + 1]):
            for v in range(rows_h[2 * b], rows_h[2 * b + 1]):
                base = (z * height + v) * width
                k = i64(0)
                if padding == 0:
                    for pair in range(taps // 2):
                        x = array(real, image + size * (base + 2 * pair))
                        for c in range(ow):
                            y[c] = y[c] + x[c * stride] + x[c * stride + 1]
                    k = taps // 2 * 2
                for tap in range(k, taps):
                    shift = tap - padding  # window c meets column c * stride + shift
                    first = max(0, (stride - 1 - shift) // stride)
                    last = min(ow, (width - 1 - shift) // stride + 1)
                    x = array(real, image + size * (base + shift))
                    for c in range(first, last):
                        y[c] += x[c * stride]
        for c in range(ow):
            y[c] = y[c] / divisors[place * ow + c]


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

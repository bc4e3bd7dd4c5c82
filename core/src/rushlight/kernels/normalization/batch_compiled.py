"""Kernels of batch normalisation: by parts of a channel's planes, by channels, by columns.

Means and variances use two passes over the data (no cancellation). Where channels are few, every
(channel, image chunk) has its own partial result, in float64, combined in order (Chan, Golub and
LeVeque's rule for variances); otherwise a thread takes a channel as a whole and finds its planes in
the second cache when it goes over them again. So results do not depend on threads.
"""

from __future__ import annotations

from rushlight.kernels.normalization.types import ROWS, scales, stored, wanted
from rushlight.machine.language.functions import (
    Parameter,
    array,
    call_address,
    f64,
    function,
    i64,
    independent,
    range_kernel,
    real,
    square_root,
    stack,
)

# Argument words of batch normalisation.
X, Y, WEIGHT, BIAS, MEAN, INVSTD, GRAD, PARTIAL, N, C, S, PARTS, EPS = range(13)
LEAST, MOST = 13, 14  # of the forward pass: float64 bounds of results
GRAD_WEIGHT, GRAD_BIAS = Y, BIAS  # of the backward sums
SHIFT = 14  # of the backward pass: the bias
BLOCK = PARTS  # channels of an item, where planes are small
COLUMNS = 256  # elements that an item takes at once where planes are small
SMALL_PLANE = 25  # elements


# Of the backward pass, 0: results as they are, 1: their ReLU, 6: their ReLU6. The forward pass has
# bounds among its words instead: one kernel for all three computes the statistics to the same bits.
rectified = Parameter("rectified")


# ---- batch normalisation -------------------------------------------------------------------------


@function
def within(value, least, most):
    """The value, or the bound that it is beyond; NaN stays."""
    value = least if value < least else value
    return most if value > most else value


@function
def passed(grad, value):
    """The gradient where ReLU or ReLU6 of the value lets it through, else zero."""
    if rectified != 0:
        grad = real(0) if value <= real(0) else grad
    if rectified == 6:
        grad = real(0) if value >= real(6) else grad
    return grad


@function
def affine(g, channel):
    """(mean, invstd * weight, bias) of a channel in the backward pass."""
    scale, shift = array(real, g[INVSTD])[channel], real(0)
    if g[WEIGHT] != 0:
        scale = scale * array(scales, g[WEIGHT])[channel]
    if g[SHIFT] != 0:
        shift = array(scales, g[SHIFT])[channel]
    return array(real, g[MEAN])[channel], scale, shift


@function(reassociate=True)
def run_sum(x, n):
    """Sum of n neighbours; blocks of 4096 are added in float64."""
    total = f64(0)
    for start in range(0, n, 4096):
        part = real(0)
        for i in independent(start, min(n, start + 4096)):
            part += x[i]
        total += f64(part)
    return total


@function(reassociate=True)
def run_squares(x, n, mean):
    """Sum of squared distances from the mean."""
    total = f64(0)
    for start in range(0, n, 4096):
        part = real(0)
        for i in independent(start, min(n, start + 4096)):
            d = x[i] - mean
            part += d * d
        total += f64(part)
    return total


@function
def plane(g, base, size, image, channel):
    """One plane of an (N, C, S) array."""
    return array(stored, base + size * (image * g[C] + channel) * g[S])


@function
def planes_statistics(g, channel, first, last):
    """(count, mean, squared distances from it) of images first..last of a channel."""
    size, s = stored.bits // 8, g[S]
    total = f64(0)
    for image in range(first, last):
        total += run_sum(plane(g, g[X], size, image, channel), s)
    count = f64((last - first) * s)
    mean = total / count
    near = real(mean)
    squares, shift = f64(0), mean - f64(near)
    for image in range(first, last):
        squares += run_squares(plane(g, g[X], size, image, channel), s, near)
    # the mean was rounded: put the centre back
    return count, mean, squares - count * shift * shift


@range_kernel
def batch_statistics(args, lo, hi, tid):
    """Items: channel * PARTS + part. PARTIAL: [item][count, mean, squared distances]."""
    g = array(i64, args)
    parts = g[PARTS]
    for item in range(lo, hi):
        channel, part = item // parts, item % parts
        first, last = g[N] * part // parts, g[N] * (part + 1) // parts
        out = array(f64, g[PARTIAL] + 24 * item)
        out[0], out[1], out[2] = planes_statistics(g, channel, first, last)


@range_kernel
def combine_statistics(args, lo, hi, tid):
    """Items are channels: mean and 1 / sqrt(variance + eps)."""
    g = array(i64, args)
    parts = g[PARTS]
    mean_out, inverse_out = array(real, g[MEAN]), array(real, g[INVSTD])
    for channel in range(lo, hi):
        p = array(f64, g[PARTIAL] + 24 * channel * parts)
        count, mean, squares = p[0], p[1], p[2]
        for i in range(1, parts):
            n, other = p[3 * i], p[3 * i + 1]
            whole, gap = count + n, other - mean
            mean += gap * n / whole
            squares += p[3 * i + 2] + gap * gap * count * n / whole
            count = whole
        mean_out[channel] = real(mean)
        inverse_out[channel] = real(1.0 / square_root(squares / count + array(f64, args)[EPS]))


@function
def apply_plane(g, item, channel, least, most):
    """Y = (X - mean) * (invstd * weight) + bias of plane ``item``, within bounds."""
    size, s = stored.bits // 8, g[S]
    centre, scale = array(real, g[MEAN])[channel], array(real, g[INVSTD])[channel]
    shift = real(0)
    if g[WEIGHT] != 0:
        scale = scale * array(scales, g[WEIGHT])[channel]
    if g[BIAS] != 0:
        shift = array(scales, g[BIAS])[channel]
    x, y = array(stored, g[X] + size * item * s), array(stored, g[Y] + size * item * s)
    for i in independent(s):
        y[i] = within((x[i] - centre) * scale + shift, least, most)


@range_kernel
def batch_apply(args, lo, hi, tid):
    """Items: image * C + channel."""
    g, bounds = array(i64, args), array(f64, args)
    least, most = real(bounds[LEAST]), real(bounds[MOST])
    for item in range(lo, hi):
        apply_plane(g, item, item % g[C], least, most)


@range_kernel
def batch_channels(args, lo, hi, tid):
    """Items are channels: statistics, then the result while the second cache has the planes."""
    g, bounds = array(i64, args), array(f64, args)
    least, most = real(bounds[LEAST]), real(bounds[MOST])
    for channel in range(lo, hi):
        count, mean, squares = planes_statistics(g, channel, i64(0), g[N])
        inverse = 1.0 / square_root(squares / count + array(f64, args)[EPS])
        array(real, g[MEAN])[channel], array(real, g[INVSTD])[channel] = real(mean), real(inverse)
        for image in range(g[N]):
            apply_plane(g, image * g[C] + channel, channel, least, most)


@function(reassociate=True)
def gradient_sums(grad, x, n, mean):
    """Sums of grad and of grad * (x - mean)."""
    total, product = f64(0), f64(0)
    for start in range(0, n, 4096):
        a, b = real(0), real(0)
        for i in independent(start, min(n, start + 4096)):
            a += grad[i]
            b += grad[i] * (x[i] - mean)
        total += f64(a)
        product += f64(b)
    return total, product


@function(reassociate=True)
def passed_sums(grad, x, n, mean, scale, shift):
    """The same of the gradients that ReLU lets through."""
    total, product = f64(0), f64(0)
    for start in range(0, n, 4096):
        a, b = real(0), real(0)
        for i in independent(start, min(n, start + 4096)):
            d = x[i] - mean
            own = passed(grad[i], d * scale + shift)
            a += own
            b += own * d
        total += f64(a)
        product += f64(b)
    return total, product


@function
def planes_gradient_sums(g, channel, first, last):
    """Sums of grad and of grad * (x - mean) over images first..last of a channel."""
    size, s = stored.bits // 8, g[S]
    mean, scale, shift = affine(g, channel)
    total, product = f64(0), f64(0)
    for image in range(first, last):
        grad = plane(g, g[GRAD], size, image, channel)
        x = plane(g, g[X], size, image, channel)
        if rectified != 0:
            a, b = passed_sums(grad, x, s, mean, scale, shift)
        else:
            a, b = gradient_sums(grad, x, s, mean)
        total += a
        product += b
    return total, product


@range_kernel
def batch_gradient_sums(args, lo, hi, tid):
    """Items: channel * PARTS + part. PARTIAL: [item][sum of grad, sum of grad * (x - mean)]."""
    g = array(i64, args)
    parts = g[PARTS]
    for item in range(lo, hi):
        channel, part = item // parts, item % parts
        first, last = g[N] * part // parts, g[N] * (part + 1) // parts
        out = array(f64, g[PARTIAL] + 16 * item)
        out[0], out[1] = planes_gradient_sums(g, channel, first, last)


@range_kernel
def combine_gradient_sums(args, lo, hi, tid):
    """Items are channels: gradients of weight and bias."""
    g = array(i64, args)
    parts, inverse = g[PARTS], array(real, g[INVSTD])
    for channel in range(lo, hi):
        p = array(f64, g[PARTIAL] + 16 * channel * parts)
        total, product = f64(0), f64(0)
        for i in range(parts):
            total += p[2 * i]
            product += p[2 * i + 1]
        array(real, g[GRAD_BIAS])[channel] = real(total)
        array(real, g[GRAD_WEIGHT])[channel] = real(product * f64(inverse[channel]))


@function
def gradient_plane(g, item, channel):
    """Y = w * invstd * (grad - mean(grad) - xhat * mean(grad * xhat)) of plane ``item``.

    BIAS and PARTIAL hold the sums of grad and of grad * xhat per channel.
    """
    size, s = stored.bits // 8, g[S]
    count = real(g[N] * s)
    centre, scale, shift = affine(g, channel)
    slope = array(real, g[INVSTD])[channel] * array(real, g[PARTIAL])[channel] / count
    level = array(real, g[BIAS])[channel] / count
    x, y = array(stored, g[X] + size * item * s), array(stored, g[Y] + size * item * s)
    grad = array(stored, g[GRAD] + size * item * s)
    for i in independent(s):
        d = x[i] - centre
        y[i] = (passed(grad[i], d * scale + shift) - level - d * slope) * scale


@range_kernel
def batch_gradient(args, lo, hi, tid):
    """Items: image * C + channel."""
    g = array(i64, args)
    for item in range(lo, hi):
        gradient_plane(g, item, item % g[C])


@range_kernel
def batch_channel_gradients(args, lo, hi, tid):
    """Items are channels: the sums, then the gradient while the second cache has the planes."""
    g = array(i64, args)
    for channel in range(lo, hi):
        total, product = planes_gradient_sums(g, channel, i64(0), g[N])
        array(real, g[BIAS])[channel] = real(total)
        inverse = f64(array(real, g[INVSTD])[channel])
        array(real, g[PARTIAL])[channel] = real(product * inverse)
        if g[Y] != 0:
            for image in range(g[N]):
                gradient_plane(g, image * g[C] + channel, channel)


@range_kernel
def batch_gradients_of_words(args, lo, hi, tid):
    """One of the kernels over whole channels, by the words of a prepared call: a number; the
    gradients of the input (unless only the others are wanted), weight and bias; GRAD, X, WEIGHT,
    MEAN, INVSTD, SHIFT (X for what is not there); whether there is a weight, and a bias (2), N, C,
    S, BLOCK, and the kernel's address."""
    g, words, at = array(i64, args), stack(16), 3 if wanted == ROWS else 4
    p = array(i64, words)
    p[Y] = i64(0) if wanted == ROWS else g[1]
    p[PARTIAL], p[BIAS] = g[at - 2], g[at - 1]
    p[GRAD], p[X], p[MEAN], p[INVSTD] = g[at], g[at + 1], g[at + 3], g[at + 4]
    p[WEIGHT] = g[at + 2] if g[at + 6] % 2 == 1 else i64(0)
    p[SHIFT] = g[at + 5] if g[at + 6] >= 2 else i64(0)
    for i in range(4):
        p[N + i] = g[at + 7 + i]
    call_address(g[at + 11], words, lo, hi, tid)


# ---- small planes: the elements of some channels are columns -------------------------------------


@function
def rows_at_once(g):
    """How many images the columns have room for: more than one if all channels are in one block."""
    return max(i64(1), COLUMNS // (g[C] * g[S])) if g[BLOCK] >= g[C] else i64(1)


@function
def fold(columns, channels, count, s, period, rows):
    """Sums over the columns of each channel, in ``rows`` times ``period`` columns."""
    if rows * s == 1:
        for k in independent(count):
            channels[k] = columns[k]
        return
    for k in range(count):
        total = f64(0)
        for start in range(k * s, rows * period, period):
            for j in range(start, start + s):
                total += columns[j]
        channels[k] = total


@function
def spread(channels, columns, count, s, period, rows):
    """The value of each channel for all of its columns."""
    if rows * s == 1:
        for k in independent(count):
            columns[k] = channels[k]
        return
    for k in range(count):
        value = channels[k]
        for start in range(k * s, rows * period, period):
            for j in range(start, start + s):
                columns[j] = value


@function(reassociate=True)
def column_sums(start, pitch, n, rows, period, total):
    """Sums of the images, ``rows`` at once and four of these between additions in float64."""
    step, width = pitch * rows, rows * period
    for i in independent(width):
        total[i] = f64(0)
    whole = n // (4 * rows) * 4 * rows
    for row in range(0, whole, 4 * rows):
        at = start + pitch * row
        a, b = array(stored, at), array(stored, at + step)
        c, d = array(stored, at + 2 * step), array(stored, at + 3 * step)
        for i in independent(width):
            total[i] += f64((a[i] + b[i]) + (c[i] + d[i]))
    for row in range(whole, n, rows):
        a, some = array(stored, start + pitch * row), min(rows, n - row) * period
        for i in independent(some):
            total[i] += f64(a[i])


@function
def square(x):
    """x * x."""
    return x * x


@function(reassociate=True)
def column_squares(start, pitch, n, rows, period, mean, total):
    """The same of squared distances from the mean."""
    step, width = pitch * rows, rows * period
    for i in independent(width):
        total[i] = f64(0)
    whole = n // (4 * rows) * 4 * rows
    for row in range(0, whole, 4 * rows):
        at = start + pitch * row
        a, b = array(stored, at), array(stored, at + step)
        c, d = array(stored, at + 2 * step), array(stored, at + 3 * step)
        for i in independent(width):
            pairs = square(a[i] - mean[i]) + square(b[i] - mean[i])
            total[i] += f64(pairs + (square(c[i] - mean[i]) + square(d[i] - mean[i])))
    for row in range(whole, n, rows):
        a, some = array(stored, start + pitch * row), min(rows, n - row) * period
        for i in independent(some):
            total[i] += f64(square(a[i] - mean[i]))


@function(reassociate=True)
def column_products(start, grads, pitch, n, rows, period, mean, scale, shift, total, product):
    """The same of gradients, and of gradients times distances from the mean."""
    step, width = pitch * rows, rows * period
    for i in independent(width):
        total[i], product[i] = f64(0), f64(0)
    whole = n // (2 * rows) * 2 * rows
    for row in range(0, whole, 2 * rows):
        a, b = array(stored, start + pitch * row), array(stored, start + pitch * row + step)
        u, v = array(stored, grads + pitch * row), array(stored, grads + pitch * row + step)
        for i in independent(width):
            d, e = a[i] - mean[i], b[i] - mean[i]
            first = passed(u[i], d * scale[i] + shift[i])
            second = passed(v[i], e * scale[i] + shift[i])
            total[i] += f64(first + second)
            product[i] += f64(first * d + second * e)
    for row in range(whole, n, rows):
        a, u = array(stored, start + pitch * row), array(stored, grads + pitch * row)
        some = min(rows, n - row) * period
        for i in independent(some):
            d = a[i] - mean[i]
            only = passed(u[i], d * scale[i] + shift[i])
            total[i] += f64(only)
            product[i] += f64(only * d)


@range_kernel
def batch_columns(args, lo, hi, tid):
    """Like :func:`batch_channels`; items: blocks of BLOCK channels."""
    g = array(i64, args)
    size, n, s = stored.bits // 8, g[N], g[S]
    least, most = real(array(f64, args)[LEAST]), real(array(f64, args)[MOST])
    total, squares = array(f64, stack(COLUMNS)), array(f64, stack(COLUMNS))
    sums, mean = array(f64, stack(COLUMNS)), array(real, stack(COLUMNS))
    scale, shift = array(real, stack(COLUMNS)), array(real, stack(COLUMNS))
    own = array(real, stack(COLUMNS))
    eps, count, pitch = array(f64, args)[EPS], f64(n * s), size * g[C] * s
    rows = rows_at_once(g)
    for block in range(lo, hi):
        first = block * g[BLOCK]
        channels, at = min(g[C] - first, g[BLOCK]), real.bits // 8 * first
        period, place = channels * s, size * first * s
        width, start = rows * period, g[X] + place
        means, inverses = array(real, g[MEAN] + at), array(real, g[INVSTD] + at)
        column_sums(start, pitch, n, rows, period, total)
        fold(total, sums, channels, s, period, rows)
        for k in independent(channels):
            means[k] = real(sums[k] / count)
        spread(means, mean, channels, s, period, rows)
        column_squares(start, pitch, n, rows, period, mean, squares)
        fold(squares, total, channels, s, period, rows)
        for k in independent(channels):
            gap = sums[k] / count - f64(means[k])
            inverses[k] = real(1.0 / square_root(total[k] / count - gap * gap + eps))
        spread(inverses, scale, channels, s, period, rows)
        if g[WEIGHT] != 0:
            weight = array(scales, g[WEIGHT] + scales.bits // 8 * first)
            for k in independent(channels):
                own[k] = inverses[k] * weight[k]
            spread(own, scale, channels, s, period, rows)
        for i in independent(width):
            shift[i] = real(0)
        if g[BIAS] != 0:
            spread(
                array(scales, g[BIAS] + scales.bits // 8 * first), shift, channels, s, period, rows
            )
        for row in range(0, n, rows):
            x, y = array(stored, start + pitch * row), array(stored, g[Y] + place + pitch * row)
            some = min(rows, n - row) * period
            for i in independent(some):
                y[i] = within((x[i] - mean[i]) * scale[i] + shift[i], least, most)


@range_kernel
def batch_column_gradients(args, lo, hi, tid):
    """Like :func:`batch_channel_gradients`; items: blocks of BLOCK channels."""
    g = array(i64, args)
    size, n, s, most = stored.bits // 8, g[N], g[S], g[BLOCK]
    total, product = array(f64, stack(COLUMNS)), array(f64, stack(COLUMNS))
    sums, mean = array(f64, stack(COLUMNS)), array(real, stack(COLUMNS))
    slope, level = array(real, stack(COLUMNS)), array(real, stack(COLUMNS))
    scale, shift = array(real, stack(COLUMNS)), array(real, stack(COLUMNS))
    own = array(real, stack(COLUMNS))
    count, pitch, rows = real(n * s), size * g[C] * s, rows_at_once(g)
    for block in range(lo, hi):
        first = block * most
        channels, at = min(g[C] - first, most), real.bits // 8 * first
        period, place = channels * s, size * first * s
        means, inverses = array(real, g[MEAN] + at), array(real, g[INVSTD] + at)
        grads, products = array(real, g[BIAS] + at), array(real, g[PARTIAL] + at)
        spread(means, mean, channels, s, period, rows)
        spread(inverses, scale, channels, s, period, rows)
        if g[WEIGHT] != 0:
            weight = array(scales, g[WEIGHT] + scales.bits // 8 * first)
            for k in independent(channels):
                own[k] = inverses[k] * weight[k]
            spread(own, scale, channels, s, period, rows)
        for i in independent(rows * period):
            shift[i] = real(0)
        if g[SHIFT] != 0:
            spread(
                array(scales, g[SHIFT] + scales.bits // 8 * first), shift, channels, s, period, rows
            )
        column_products(g[X] + place, g[GRAD] + place, pitch, n, rows, period, mean, scale,
                        shift, total, product)  # fmt: skip
        fold(total, sums, channels, s, period, rows)
        for k in independent(channels):
            grads[k] = real(sums[k])
            own[k] = grads[k] / count
        spread(own, level, channels, s, period, rows)
        fold(product, sums, channels, s, period, rows)
        for k in independent(channels):
            products[k] = real(sums[k] * f64(inverses[k]))
            own[k] = inverses[k] * products[k] / count
        spread(own, slope, channels, s, period, rows)
        for row in range(0, n if g[Y] != 0 else i64(0), rows):
            offset, some = place + pitch * row, min(rows, n - row) * period
            x, grad = array(stored, g[X] + offset), array(stored, g[GRAD] + offset)
            y = array(stored, g[Y] + offset)
            for i in independent(some):
                d = x[i] - mean[i]
                own_grad = passed(grad[i], d * scale[i] + shift[i])
                y[i] = (own_grad - level[i] - d * slope[i]) * scale[i]

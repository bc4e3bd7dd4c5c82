"""Kernels of batch normalisation: by parts of a channel's planes, by channels, by columns.

Means and variances use two passes over the data (no cancellation). Where channels are few, every
(channel, image chunk) has its own partial result, in float64, combined in order (Chan, Golub and
LeVeque's rule for variances); otherwise a thread takes a channel as a whole and finds its planes in
the second cache when it goes over them again. So results do not depend on threads.
"""

from __future__ import annotations

from rushlight.backends.kernel_language import (
    array,
    f32,
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
X, Y, WEIGHT, BIAS, MEAN, INVSTD, GRAD, PARTIAL, N, C, S, PARTS, EPS, COUNT = range(14)
GRAD_WEIGHT, GRAD_BIAS = Y, BIAS  # of the backward sums
COLUMNS = 256  # elements of an image that an item takes where planes are small
SMALL_PLANE = 25  # elements


# ---- batch normalisation -------------------------------------------------------------------------


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
    return array(real, base + size * (image * g[C] + channel) * g[S])


@function
def planes_statistics(g, channel, first, last):
    """(count, mean, squared distances from it) of images first..last of a channel."""
    size, s = 4 if real is f32 else 8, g[S]
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
def apply_plane(g, item, channel):
    """Y = (X - mean) * (invstd * weight) + bias of plane ``item``."""
    size, s = 4 if real is f32 else 8, g[S]
    centre, scale = array(real, g[MEAN])[channel], array(real, g[INVSTD])[channel]
    shift = real(0)
    if g[WEIGHT] != 0:
        scale = scale * array(real, g[WEIGHT])[channel]
    if g[BIAS] != 0:
        shift = array(real, g[BIAS])[channel]
    x, y = array(real, g[X] + size * item * s), array(real, g[Y] + size * item * s)
    for i in independent(s):
        y[i] = (x[i] - centre) * scale + shift


@range_kernel
def batch_apply(args, lo, hi, tid):
    """Items: image * C + channel."""
    g = array(i64, args)
    for item in range(lo, hi):
        apply_plane(g, item, item % g[C])


@range_kernel
def batch_channels(args, lo, hi, tid):
    """Items are channels: statistics, then the result while the second cache has the planes."""
    g = array(i64, args)
    for channel in range(lo, hi):
        count, mean, squares = planes_statistics(g, channel, i64(0), g[N])
        inverse = 1.0 / square_root(squares / count + array(f64, args)[EPS])
        array(real, g[MEAN])[channel], array(real, g[INVSTD])[channel] = real(mean), real(inverse)
        for image in range(g[N]):
            apply_plane(g, image * g[C] + channel, channel)


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


@function
def planes_gradient_sums(g, channel, first, last):
    """Sums of grad and of grad * (x - mean) over images first..last of a channel."""
    size, s, mean = 4 if real is f32 else 8, g[S], array(real, g[MEAN])[channel]
    total, product = f64(0), f64(0)
    for image in range(first, last):
        grad = plane(g, g[GRAD], size, image, channel)
        a, b = gradient_sums(grad, plane(g, g[X], size, image, channel), s, mean)
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
    size, s = 4 if real is f32 else 8, g[S]
    count = real(g[N] * s)
    scale, centre = array(real, g[INVSTD])[channel], array(real, g[MEAN])[channel]
    slope = scale * array(real, g[PARTIAL])[channel] / count
    level = array(real, g[BIAS])[channel] / count
    if g[WEIGHT] != 0:
        scale = scale * array(real, g[WEIGHT])[channel]
    x, y = array(real, g[X] + size * item * s), array(real, g[Y] + size * item * s)
    grad = array(real, g[GRAD] + size * item * s)
    for i in independent(s):
        y[i] = (grad[i] - level - (x[i] - centre) * slope) * scale


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
        for image in range(g[N]):
            gradient_plane(g, image * g[C] + channel, channel)


# ---- small planes: the elements of some channels are columns -------------------------------------


@function
def fold(columns, channels, count, s):
    """Sums over the columns of each channel."""
    for k in range(count):
        total = f64(0)
        for j in range(k * s, k * s + s):
            total += columns[j]
        channels[k] = total


@function
def spread(channels, columns, count, s):
    """The value of each channel for all of its columns."""
    for k in range(count):
        value = channels[k]
        for j in range(k * s, k * s + s):
            columns[j] = value


@range_kernel
def batch_columns(args, lo, hi, tid):
    """Like :func:`batch_channels`; items: blocks of COLUMNS // S channels."""
    g = array(i64, args)
    size, n, s, most = 4 if real is f32 else 8, g[N], g[S], COLUMNS // g[S]
    total, squares = array(f64, stack(COLUMNS)), array(f64, stack(COLUMNS))
    sums, mean = array(f64, stack(COLUMNS)), array(real, stack(COLUMNS))
    scale, shift = array(real, stack(COLUMNS)), array(real, stack(COLUMNS))
    own = array(real, stack(COLUMNS))
    eps, count, pitch = array(f64, args)[EPS], f64(n * s), size * g[C] * s
    for block in range(lo, hi):
        first = block * most
        channels, at = min(g[C] - first, most), size * first
        width, start = channels * s, g[X] + at * s
        means, inverses = array(real, g[MEAN] + at), array(real, g[INVSTD] + at)
        for i in independent(width):
            total[i], squares[i] = f64(0), f64(0)
        for row in range(n):
            x = array(real, start + pitch * row)
            for i in independent(width):
                total[i] += f64(x[i])
        fold(total, sums, channels, s)
        for k in independent(channels):
            means[k] = real(sums[k] / count)
        spread(means, mean, channels, s)
        for row in range(n):
            x = array(real, start + pitch * row)
            for i in independent(width):
                d = x[i] - mean[i]
                squares[i] += f64(d * d)
        fold(squares, total, channels, s)
        for k in independent(channels):
            gap = sums[k] / count - f64(means[k])
            inverses[k] = real(1.0 / square_root(total[k] / count - gap * gap + eps))
        spread(inverses, scale, channels, s)
        if g[WEIGHT] != 0:
            weight = array(real, g[WEIGHT] + at)
            for k in independent(channels):
                own[k] = inverses[k] * weight[k]
            spread(own, scale, channels, s)
        for i in independent(width):
            shift[i] = real(0)
        if g[BIAS] != 0:
            spread(array(real, g[BIAS] + at), shift, channels, s)
        for row in range(n):
            x, y = array(real, start + pitch * row), array(real, g[Y] + at * s + pitch * row)
            for i in independent(width):
                y[i] = (x[i] - mean[i]) * scale[i] + shift[i]


@range_kernel
def batch_column_gradients(args, lo, hi, tid):
    """Like :func:`batch_channel_gradients`; items: blocks of COLUMNS // S channels."""
    g = array(i64, args)
    size, n, s, most = 4 if real is f32 else 8, g[N], g[S], COLUMNS // g[S]
    total, product = array(f64, stack(COLUMNS)), array(f64, stack(COLUMNS))
    sums, mean = array(f64, stack(COLUMNS)), array(real, stack(COLUMNS))
    slope, level = array(real, stack(COLUMNS)), array(real, stack(COLUMNS))
    scale, own = array(real, stack(COLUMNS)), array(real, stack(COLUMNS))
    count, pitch = real(n * s), size * g[C] * s
    for block in range(lo, hi):
        first = block * most
        channels, at = min(g[C] - first, most), size * first
        width = channels * s
        means, inverses = array(real, g[MEAN] + at), array(real, g[INVSTD] + at)
        grads, products = array(real, g[BIAS] + at), array(real, g[PARTIAL] + at)
        spread(means, mean, channels, s)
        for i in independent(width):
            total[i], product[i] = f64(0), f64(0)
        for row in range(n):
            offset = at * s + pitch * row
            x, grad = array(real, g[X] + offset), array(real, g[GRAD] + offset)
            for i in independent(width):
                total[i] += f64(grad[i])
                product[i] += f64(grad[i] * (x[i] - mean[i]))
        fold(total, sums, channels, s)
        for k in independent(channels):
            grads[k] = real(sums[k])
            own[k] = grads[k] / count
        spread(own, level, channels, s)
        fold(product, sums, channels, s)
        for k in independent(channels):
            products[k] = real(sums[k] * f64(inverses[k]))
            own[k] = inverses[k] * products[k] / count
        spread(own, slope, channels, s)
        spread(inverses, scale, channels, s)
        if g[WEIGHT] != 0:
            weight = array(real, g[WEIGHT] + at)
            for k in independent(channels):
                own[k] = inverses[k] * weight[k]
            spread(own, scale, channels, s)
        for row in range(n):
            offset = at * s + pitch * row
            x, grad = array(real, g[X] + offset), array(real, g[GRAD] + offset)
            y = array(real, g[Y] + offset)
            for i in independent(width):
                y[i] = (grad[i] - level[i] - (x[i] - mean[i]) * slope[i]) * scale[i]

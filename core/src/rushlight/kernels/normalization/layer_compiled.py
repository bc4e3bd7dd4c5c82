"""Compiled kernels behind layer normalisation in
:mod:`rushlight.kernels.normalization.batch_and_layer`. Import at first need."""

from __future__ import annotations

from rushlight.kernels.normalization.batch_compiled import run_squares, run_sum
from rushlight.kernels.normalization.types import ALL, INPUT, ROWS, scales, stored, wanted
from rushlight.kernels.reduction.row_sums import SINGLES, means_of_rows32, squares_of_rows32
from rushlight.machine.language.functions import (
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

# Argument words of the forward pass: arrays, then the size of a row and eps.
LX, LY, LWEIGHT, LBIAS, LMEAN, LRSTD, LN, LEPS = *range(6), 8, 9


@function
def layer_row(g, row, n, mean, scale):
    """A row, normalised and scaled."""
    size, weight, bias = stored.bits // 8, array(scales, g[LWEIGHT]), array(scales, g[LBIAS])
    x, y = array(stored, g[LX] + size * row * n), array(stored, g[LY] + size * row * n)
    if g[LWEIGHT] != 0 and g[LBIAS] != 0:
        for i in independent(n):
            y[i] = (x[i] - mean) * scale * weight[i] + bias[i]
    elif g[LWEIGHT] != 0:
        for i in independent(n):
            y[i] = (x[i] - mean) * scale * weight[i]
    elif g[LBIAS] != 0:
        for i in independent(n):
            y[i] = (x[i] - mean) * scale + bias[i]
    else:
        for i in independent(n):
            y[i] = (x[i] - mean) * scale


@range_kernel(wide=True)
def layer_rows(args, lo, hi, tid):
    """Items are rows."""
    g = array(i64, args)
    n, size, eps = g[LN], stored.bits // 8, array(f64, args)[LEPS]
    means, scale = array(real, g[LMEAN]), array(real, g[LRSTD])
    for row in range(lo, hi):
        x = array(stored, g[LX] + size * row * n)
        mean = real(run_sum(x, n) / f64(n))
        means[row] = mean
        scale[row] = real(1.0 / square_root(run_squares(x, n, mean) / f64(n) + eps))
        layer_row(g, row, n, mean, scale[row])


@range_kernel(wide=True)
def layer_few_rows(args, lo, hi, tid):
    """The same for short rows of float32, as many side by side as a vector has lanes."""
    g = array(i64, args)
    n, eps, squares_at = g[LN], array(f64, args)[LEPS], stack(SINGLES // 2)
    squares = array(f32, squares_at)
    for first in range(lo, hi, SINGLES):
        count, x = min(i64(SINGLES), hi - first), g[LX] + 4 * n * first
        means_at = g[LMEAN] + 4 * first
        means, scale = array(f32, means_at), array(f32, g[LRSTD] + 4 * first)
        means_of_rows32(x, 4 * n, n, count, means_at, f32(n))
        squares_of_rows32(x, 4 * n, n, count, squares_at, means_at)
        for i in independent(count):
            scale[i] = f32(1.0 / square_root(f64(squares[i]) / f64(n) + eps))
        for i in range(count):
            layer_row(g, first + i, n, means[i], scale[i])


@function(reassociate=True)
def layer_products(g, at, start, last, n, products, sums):
    """Adds grad * xhat and grad of rows up, four at once; returns the first row that is left."""
    size, means, scale = stored.bits // 8, array(real, g[at + 3]), array(real, g[at + 4])
    whole = start + (last - start) // 4 * 4
    for row in range(start, whole, 4):
        place, step = size * row * n, size * n
        x, grad = array(stored, g[at + 1] + place), array(stored, g[at] + place)
        y, after = array(stored, g[at + 1] + place + step), array(stored, g[at] + place + step)
        place = place + 2 * step
        z, third = array(stored, g[at + 1] + place), array(stored, g[at] + place)
        w, fourth = array(stored, g[at + 1] + place + step), array(stored, g[at] + place + step)
        a, b, c, d = means[row], means[row + 1], means[row + 2], means[row + 3]
        p, q, r, s = scale[row], scale[row + 1], scale[row + 2], scale[row + 3]
        for i in independent(n):
            first = grad[i] * ((x[i] - a) * p) + after[i] * ((y[i] - b) * q)
            products[i] += first + (third[i] * ((z[i] - c) * r) + fourth[i] * ((w[i] - d) * s))
            sums[i] += (grad[i] + after[i]) + (third[i] + fourth[i])
    return whole


@range_kernel(reassociate=True, wide=True)
def layer_rows_backward(args, lo, hi, tid):
    """Items: parts of the rows. Words: a number; the gradient of the input if that is wanted; if
    those of weight and bias are, PARTIAL: [part][2][n], sums of grad * xhat and of grad; GRAD, X,
    WEIGHT (or X), MEAN, RSTD; whether there is a weight, n, rows, rows of a part."""
    g, size, at = array(i64, args), stored.bits // 8, 3 if wanted == ALL else 2
    given, n, rows, per_part = g[at + 5], g[at + 6], g[at + 7], g[at + 8]
    weight, count = array(scales, g[at + 2]), real(n)
    for part in range(lo, hi):
        products = array(real, g[at - 1] + real.bits // 8 * 2 * part * n)
        sums = array(real, g[at - 1] + real.bits // 8 * (2 * part + 1) * n)
        if wanted != INPUT:
            for i in independent(2 * n):
                products[i] = 0
        start, last = part * per_part, min(rows, (part + 1) * per_part)
        if wanted == ROWS:
            start = layer_products(g, at, start, last, n, products, sums)
        for row in range(start, last):
            x, grad = (
                array(stored, g[at + 1] + size * row * n),
                array(stored, g[at] + size * row * n),
            )
            y = array(stored, g[1] + size * row * n)
            mean, scale = array(real, g[at + 3])[row], array(real, g[at + 4])[row]
            total, product = real(0), real(0)
            if wanted != ROWS and given != 0:
                for i in independent(n):
                    normal = (x[i] - mean) * scale
                    if wanted != INPUT:
                        products[i] += grad[i] * normal
                        sums[i] += grad[i]
                    total += grad[i] * weight[i]
                    product += grad[i] * weight[i] * normal
            else:
                for i in independent(n):
                    normal = (x[i] - mean) * scale
                    if wanted != INPUT:
                        products[i] += grad[i] * normal
                        sums[i] += grad[i]
                    if wanted != ROWS:
                        total += grad[i]
                        product += grad[i] * normal
            level, slope = total / count, product * scale / count
            if wanted != ROWS:
                if given != 0:
                    for i in independent(n):
                        y[i] = (grad[i] * weight[i] - level - (x[i] - mean) * slope) * scale
                else:
                    for i in independent(n):
                        y[i] = (grad[i] - level - (x[i] - mean) * slope) * scale

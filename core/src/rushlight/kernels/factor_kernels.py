"""Compiled factorizations of batches of small real matrices: items are matrices.

Argument words follow :mod:`rushlight.kernels.prepared`. Factors lie by columns. Import at first
need.
"""

from __future__ import annotations

from rushlight.backends.kernel_language import (
    absolute,
    array,
    f32,
    function,
    i32,
    i64,
    maximum,
    range_kernel,
    real,
    square_root,
)

Q, R, TAU, INPUT, M, N = 1, 2, 3, 4, 5, 6  # words of a QR factorization
FACTOR, INFO, MATRIX, SIZE = 1, 2, 3, 4  # and of Cholesky's


@function(reassociate=True)
def inner(x, y, first, last):
    """The inner product of elements `first` to `last`."""
    total = real(0)
    for i in range(first, last):
        total += x[i] * y[i]
    return total


@function
def length(x, first, last):
    """The Euclidean norm of elements whose squares are out of the range of numbers."""
    largest = real(0)
    for i in range(first, last):
        largest = maximum(largest, absolute(x[i]))
    if largest == real(0):
        return largest
    total = real(0)
    for i in range(first, last):
        total += (x[i] / largest) * (x[i] / largest)
    return largest * square_root(total)


@function
def reflector(x, j, m):
    """``(beta, tau)`` of the reflection that leaves beta alone of elements `j` to `m`; what is
    below `j` becomes its vector (whose first element is one)."""
    alpha, below = x[j], inner(x, x, j + 1, m)
    whole = alpha * alpha + below
    norm = square_root(whole)
    if real is f32:
        far = below < real(1e-30) or whole > real(1e36)
    else:
        far = below < real(1e-280) or whole > real(1e300)
    if far:
        below = length(x, j + 1, m)
        norm = length(x, j, m)
    if below == real(0):
        return alpha, real(0)
    beta = norm if alpha < real(0) else -norm
    divisor = alpha - beta
    for i in range(j + 1, m):
        x[i] = x[i] / divisor
    return beta, (beta - alpha) / beta


@range_kernel
def qr(args, lo, hi, tid):
    """Householder's factorization of matrices with no more columns than rows."""
    g = array(i64, args)
    m, n, size = g[M], g[N], 4 if real is f32 else 8
    for item in range(lo, hi):
        x = array(real, g[INPUT] + item * m * n * size)
        work, upper = g[Q] + item * m * n * size, array(real, g[R] + item * n * n * size)
        tau = array(real, g[TAU] + item * n * size)
        for j in range(n):
            column = array(real, work + j * m * size)
            for i in range(m):
                column[i] = x[i * n + j]
        for j in range(n):
            column = array(real, work + j * m * size)
            beta, scale = reflector(column, j, m)
            tau[j] = scale
            for i in range(j):
                upper[j * n + i] = column[i]
            upper[j * n + j] = beta
            for i in range(j + 1, n):
                upper[j * n + i] = real(0)
            for k in range(j + 1, n):
                other = array(real, work + k * m * size)
                share = scale * (other[j] + inner(column, other, j + 1, m))
                other[j] -= share
                for i in range(j + 1, m):
                    other[i] -= share * column[i]
        for back in range(n):
            j = n - 1 - back
            column, scale = array(real, work + j * m * size), tau[j]
            for k in range(j + 1, n):
                other = array(real, work + k * m * size)
                share = scale * inner(column, other, j + 1, m)
                other[j] = -share
                for i in range(j + 1, m):
                    other[i] -= share * column[i]
            for i in range(j):
                column[i] = real(0)
            column[j] = real(1) - scale
            for i in range(j + 1, m):
                column[i] = -scale * column[i]


@range_kernel
def cholesky(args, lo, hi, tid):
    """The lower factors of matrices of which the lower triangles are read; where one is not
    positive-definite, the order of the leading minor that is not."""
    g = array(i64, args)
    n, size, info = g[SIZE], 4 if real is f32 else 8, array(i32, g[INFO])
    for item in range(lo, hi):
        x = array(real, g[MATRIX] + item * n * n * size)
        work = g[FACTOR] + item * n * n * size
        failed = i64(0)
        for j in range(n):
            column = array(real, work + j * n * size)
            for i in range(j):
                column[i] = real(0)
            for i in range(j, n):
                column[i] = x[i * n + j]
            if failed == 0:
                for k in range(j):
                    before = array(real, work + k * n * size)
                    factor = before[j]
                    for i in range(j, n):
                        column[i] -= factor * before[i]
                if column[j] > real(0):
                    root = square_root(column[j])
                    for i in range(j, n):
                        column[i] = column[i] / root
                else:
                    failed = j + 1
        info[item] = i32(failed)

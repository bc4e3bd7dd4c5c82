"""Compiled factorizations of batches of small real matrices: items are matrices.

Argument words follow :mod:`rushlight.kernels.launch.prepared`. Factors are column-major. Import at
first need.
"""

from __future__ import annotations

from rushlight.machine.language.functions import (
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
FACTOR, INFO, MATRIX, SIZE = 1, 2, 3, 4  # of Cholesky's
FACTORS, PIVOTS, FAILED, SIGN, GIVEN, ROWS, COLUMNS = 1, 2, 3, 4, 5, 6, 7  # of an LU factorization


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


@range_kernel
def lu(args, lo, hi, tid):
    """Gauss's elimination with exchanges of rows: factors, which rows were exchanged (from 1), the
    first zero on the diagonal (from 1, or 0), and the sign of the exchanges."""
    g = array(i64, args)
    m, n, size = g[ROWS], g[COLUMNS], 4 if real is f32 else 8
    k, info, signs = min(m, n), array(i32, g[FAILED]), array(real, g[SIGN])
    for item in range(lo, hi):
        x = array(real, g[GIVEN] + item * m * n * size)
        work, pivots = g[FACTORS] + item * m * n * size, array(i32, g[PIVOTS] + item * k * 4)
        for j in range(n):
            column = array(real, work + j * m * size)
            for i in range(m):
                column[i] = x[i * n + j]
        failed, sign = i64(0), real(1)
        for j in range(k):
            column = array(real, work + j * m * size)
            best, place = absolute(column[j]), j
            for i in range(j + 1, m):
                if absolute(column[i]) > best:
                    best = absolute(column[i])
                    place = i
            pivots[j] = i32(place + 1)
            if column[place] == real(0):
                if failed == 0:
                    failed = j + 1
            else:
                if place != j:
                    sign = -sign
                    for q in range(n):
                        other = array(real, work + q * m * size)
                        held = other[j]
                        other[j] = other[place]
                        other[place] = held
                pivot = column[j]
                for i in range(j + 1, m):
                    column[i] = column[i] / pivot
            for q in range(j + 1, n):
                other = array(real, work + q * m * size)
                factor = other[j]
                for i in range(j + 1, m):
                    other[i] -= factor * column[i]
        info[item] = i32(failed)
        signs[item] = sign

"""Fourier transforms of long rows: of their columns as matrices, whatever fits a cache.

A row of n = a b values is a matrix (a, b). Its columns are transformed, multiplied by roots of
unity of order n and transposed; the columns of what results give the transform in its order (D. H.
Bailey, "FFTs in external or hierarchical memory", 1990). Real rows are complex ones of half their
size. Rows of moderate length, and several longer ones, are left to one thread each.
"""

from __future__ import annotations

import functools
import math

from rushlight.kernels.fft.whole_rows import roots, table_of_row, words_of_rows
from rushlight.kernels.launch.execution import chunk
from rushlight.machine import np, threads
from rushlight.machine.memory import empty

__all__ = ["complex_long", "divided", "real_long", "real_long_back"]

LEAST, MOST = 16, 1024  # sizes of the columns
COMPLEX, REAL = np.dtype(np.complex64), np.dtype(np.float32)
NEAR, FAR, MANY = 1 << 14, 1 << 17, 4  # sizes and a number of rows, see `_is_alone`
WORK = 3  # of a value between two transforms, in units of a sum


@functools.lru_cache(maxsize=1024)
def divided(n):
    """The factors (a, b) of a size that are nearest to each other; None if one does not fit."""
    first = next((a for a in range(math.isqrt(n), LEAST - 1, -1) if n % a == 0), None)
    return (first, n // first) if first is not None and n // first <= MOST else None


@functools.lru_cache(maxsize=16)
def _twists(first, second):
    """Roots of unity (second, first): what the transposed matrix is multiplied by."""
    turns = np.outer(np.arange(second), np.arange(first)) / (first * second)
    return np.exp(-2j * np.pi * turns).astype(COMPLEX)


@functools.lru_cache(maxsize=64)
def _roots(n):
    return roots(n)


@functools.lru_cache(maxsize=256)
def _plan(kind, rows, first, second, last):
    """The job, and what it points to."""
    from rushlight.kernels.fft import long_compiled as native

    if kind == "twist":
        kept, words = (_twists(first, second),), [first, second, last]
        items, size = rows * -(-second // native.TILE), native.TILE * first
    else:
        ends = np.array([last], REAL)
        kept, words = (_roots(2 * first), ends), [first, 0, ends.ctypes.data]
        items, size = rows * ((first // 2 + native.BLOCK) // native.BLOCK), 2 * native.BLOCK
    words = [0, 0, kept[0].ctypes.data, *words]
    grain = chunk(items, WORK * size)
    return threads.plan(getattr(native, kind).address(), items, grain, words), kept


def _run(kind, x, shape, rows, first, second, last):
    out = empty(shape, COMPLEX)
    plan, _ = _plan(kind, rows, first, second, last)
    threads.run(plan, x, out)
    return out


def _is_alone(rows, n, real):
    """Whether one thread goes through all of a row: as long as its memory is near, and longer ones
    if there are some, or values of real numbers would have to be paired by one more launch."""
    return n <= NEAR or n <= 2 * NEAR and (real or rows > 1) or n <= FAR and rows >= MANY


@functools.lru_cache(maxsize=16)
def _plan_alone(kind, rows, n, forward, factor, ends):
    """The job, and what it points to."""
    inside, turns = (n, None) if kind == "complex_rows" else (n // 2, _roots(n))
    table, address = _table(inside), 0 if turns is None else turns.ctypes.data
    code, words = words_of_rows(kind, n, forward, factor, False, ends, table, address)
    return threads.plan(code, rows, 1, [0, 0, 0, *words]), table, turns


_table = functools.lru_cache(maxsize=16)(table_of_row)


def _alone(kind, x, shape, dtype, n, forward, factor, ends=1.0):
    out = empty(shape, dtype)
    plan, *_ = _plan_alone(kind, x.size // x.shape[-1], n, forward, float(factor), float(ends))
    threads.run(plan, 0, out, x)
    return out


def complex_long(x, forward, factor):
    """The transform of dense complex64 (..., n) along the last dimension, or the one back, times
    `factor`, for an n that :func:`divided` divides."""
    from rushlight.kernels.fft.rows_and_columns import complex_columns

    n = x.shape[-1]
    if _is_alone(x.size // n, n, False):
        return _alone("complex_rows", x, x.shape, COMPLEX, n, forward, factor)
    first, second = divided(n)
    matrices = x.reshape(-1, first, second)
    rows = len(matrices)
    found = complex_columns(matrices, 1, forward, factor)
    found = _run("twist", found, (rows, second, first), rows, first, second, int(not forward))
    return complex_columns(found, 1, forward, 1.0).reshape(x.shape)


def real_long(x, factor, ends):
    """The first half (..., n // 2 + 1) of the transform of dense float32 (..., n), times `factor`,
    its first and last elements times `ends`."""
    half = x.shape[-1] // 2
    rows, shape = x.size // (2 * half), (*x.shape[:-1], half + 1)
    if _is_alone(rows, half, True):
        return _alone("real_rows", x, shape, COMPLEX, 2 * half, True, factor, ends)
    found = complex_long(x.view(COMPLEX), True, factor)
    return _run("halves", found, shape, rows, half, 0, ends)


def real_long_back(x, factor, ends):
    """The float32 (..., n) of which dense complex64 (..., n // 2 + 1), its first and last elements
    times `ends`, is the first half of the transform, times `factor`."""
    half = x.shape[-1] - 1
    rows, shape = x.size // (half + 1), (*x.shape[:-1], half)
    if _is_alone(rows, half, True):
        shape = (*x.shape[:-1], 2 * half)
        return _alone("rows_back", x, shape, REAL, 2 * half, False, factor, ends)
    found = _run("halves_back", x, shape, rows, half, 0, ends)
    return complex_long(found, False, factor).view(REAL)

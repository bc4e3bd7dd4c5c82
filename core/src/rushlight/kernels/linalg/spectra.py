"""Eigenvalues of Hermitian matrices and singular values, by the private OpenBLAS's LAPACK.

Arrays are ``(..., m, n)`` in float32, float64, complex64 or complex128, not empty, of finite
numbers. Both give None where LAPACK did not converge.
"""

from __future__ import annotations

import functools

from rushlight.kernels.linalg.lapack import _call, _columns, _info, _letter, _rows
from rushlight.machine import np

_REAL = {"s": np.dtype(np.float32), "d": np.dtype(np.float64)}
_REAL |= {"c": _REAL["s"], "z": _REAL["d"]}
_OWN = {"s": "f4", "d": "f8", "c": "c8", "z": "c16"}


def eigh(input, upper=False, vectors=True):
    """``(values, vectors)`` of Hermitian matrices of which one triangle is read: ascending, and by
    columns (None without `vectors`)."""
    batch, n, letter = input.shape[:-2], input.shape[-1], _letter(input)
    work = _columns(input)
    count = len(work)
    values, info = np.empty((count, n), _REAL[letter]), _info(count)
    spaces = _spaces_of_eigh(letter, n, vectors)
    given = [x for size, dtype in spaces for x in (np.empty((1, size), dtype), size)]
    _call(letter + ("heevd" if letter in "cz" else "syevd"), count, "V" if vectors else "N",
          "U" if upper else "L", n, work, n, values, *given, info)  # fmt: skip
    if np.count_nonzero(info):
        return None
    return values.reshape(*batch, n), _rows(work, batch) if vectors else None


@functools.lru_cache(256)
def _spaces_of_eigh(letter, n, vectors):
    """Elements and dtypes of work arrays, with room for LAPACK's blocks."""
    whole, integers = np.dtype(np.int64), 3 + 5 * n
    own = np.dtype(_OWN[letter])
    if letter in "cz":
        real = 1 + 5 * n + 2 * n * n if vectors else max(n, 1)
        sizes = [(64 * n + n * n + 2, own), (real, _REAL[letter])]
    else:
        sizes = [(1 + 64 * n + (2 * n * n if vectors else 0), own)]
    return [*sizes, (integers, whole)]


def svd(input, full=False, vectors=True):
    """``(U, values, Vh)``, both by columns (None without `vectors`); values descend."""
    batch, (m, n), letter = input.shape[:-2], input.shape[-2:], _letter(input)
    work, k = _columns(input), min(m, n)
    count, real = len(work), _REAL[letter]
    rows, columns = (m, n) if full else (k, k)
    job = ("A" if full else "S") if vectors else "N"
    values, info = np.empty((count, k), real), _info(count)
    left = np.empty((count, rows, m) if vectors else (1, 1, 1), input.dtype)
    right = np.empty((count, n, columns) if vectors else (1, 1, 1), input.dtype)
    reals = max(5 * k * k + 5 * k, 2 * max(m, n) * k + 2 * k * k + k) if vectors else 7 * k
    extra = [np.empty((1, reals), real)] if letter in "cz" else []
    head = (job, m, n, work, m, values, left, m, right, columns)
    tail = (*extra, np.empty((1, 8 * k), np.int64), info)
    size = _size_of_svd(letter, job, m, n, columns)
    space = np.empty((1, size), input.dtype)
    _call(letter + "gesdd", count, *head, space, size, *tail)
    if np.count_nonzero(info):
        return None
    values = values.reshape(*batch, k)
    return (_rows(left, batch), values, _rows(right, batch)) if vectors else (None, values, None)


@functools.lru_cache(1024)
def _size_of_svd(letter, job, m, n, columns):
    """What LAPACK asks for."""
    own = np.dtype(_OWN[letter])
    one, real, answer = (
        np.zeros((1, 1), own),
        np.zeros((1, 1), _REAL[letter]),
        np.zeros((1, 1), own),
    )
    extra = [real] if letter in "cz" else []
    _call(letter + "gesdd", 1, job, m, n, one, m, real, one, m, one, columns, answer, -1, *extra,
          np.zeros((1, 1), np.int64), _info(1))  # fmt: skip
    return max(int(answer[0, 0].real), 1)

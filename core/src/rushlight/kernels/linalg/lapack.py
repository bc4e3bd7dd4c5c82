"""Factorizations and solvers of batches of matrices, by the private OpenBLAS's LAPACK.

Arrays are ``(..., m, n)`` in float32, float64, complex64 or complex128. A routine is called once
per matrix, with the addresses moved along. Where a routine reports failures, the last result is its
``info`` per matrix (0: success), as int32.
"""

from __future__ import annotations

import ctypes
import functools
import math

from rushlight.kernels.launch.execution import REFERENCE, chunk, language_type
from rushlight.kernels.launch.prepared import by_layout, prepared
from rushlight.machine import fortran, np, openblas

_LETTERS = {
    np.dtype(name): letter for name, letter in (("f4", "s"), ("f8", "d"), ("c8", "c"), ("c16", "z"))
}
# Up to this size NumPy's loop over a batch costs less than our calls; beyond it the private library
# is the faster one.
_SMALL = 16
_INT32 = np.dtype(np.int32)
_COMPILED = 1 << 12  # elements of a matrix
_CONJUGATED = {
    "or": {"s": "or", "d": "or", "c": "un", "z": "un"},
    "sy": {"s": "sy", "d": "sy", "c": "he", "z": "he"},
}


@functools.cache
def _routine(name):
    function = getattr(openblas.library(), f"scipy_{name}_64_")
    function.restype = None
    return function


def _call_each(name, count, *arguments):
    """:func:`rushlight.machine.fortran.call` without a compiler."""
    values, moving, letters = [], [], 0
    for argument in arguments:
        if isinstance(argument, str):
            letters += 1
            values.append(ctypes.c_char_p(argument.encode()))
        elif isinstance(argument, np.ndarray):
            step = argument.strides[0] if len(argument) == count else 0
            moving.append((len(values), argument.ctypes.data, step))
            values.append(None)
        else:
            values.append(ctypes.byref(ctypes.c_int64(argument)))
    values += [ctypes.c_size_t(1)] * letters  # the lengths that Fortran passes behind the scenes
    function = _routine(name)
    for i in range(count):
        for position, address, step in moving:
            values[position] = ctypes.c_void_p(address + i * step)
        function(*values)


_call = _call_each if REFERENCE else fortran.call


def _letter(array):
    return _LETTERS[array.dtype]


def _columns(array):
    """A column-major copy of every matrix, as ``(batch, n, m)`` in row-major memory."""
    m, n = array.shape[-2:]
    if not array.size:
        return np.zeros((math.prod(array.shape[:-2]), n, m), array.dtype)
    if array.ndim == 2:
        return array.T.copy()[None]
    return array.swapaxes(-1, -2).copy().reshape(-1, n, m)


def _rows(columns, batch):
    """The inverse of `_columns`: a view ``(..., m, n)`` of column-major matrices."""
    if not batch:
        return columns[0].T
    return columns.reshape(*batch, *columns.shape[1:]).swapaxes(-1, -2)


def _plain(array):
    """A row-major copy ``(batch, m, n)``."""
    count = math.prod(array.shape[:-2])
    return np.array(array, order="C").reshape(count, *array.shape[-2:])


def _info(count):
    return np.zeros((count, 1), np.int64)


def _as_info(info, batch):
    return info.reshape(batch).astype(np.int32)


_sizes: dict[tuple, int] = {}  # of work arrays, by routine and what it is told of the problem


def _workspace(name, array, *arguments):
    """The work array that a routine asks for when called with ``lwork = -1``: the arguments end
    with it, followed by `info`."""
    key = name, *[a for a in arguments if type(a) in (int, str)]
    size = _sizes.get(key)
    if size is None:
        answer, info = np.zeros((1, 1), array.dtype), _info(1)
        first = [a[:1] if isinstance(a, np.ndarray) else a for a in arguments]
        _call(name, 1, *first, answer, -1, info)
        size = _keep_size(key, answer)
    return np.empty((1, size), array.dtype), size


def _keep_size(key, answer):
    if len(_sizes) > 4096:
        _sizes.clear()
    size = _sizes[key] = max(int(answer[0, 0].real), 1)
    return size


@functools.lru_cache(256)
def _outside(rows, columns, above):
    """The positions strictly above, or strictly below, the diagonal."""
    i, j = np.ogrid[:rows, :columns]
    return np.flatnonzero(j > i if above else j < i)


def _clear(matrices, above):
    """Zeros strictly above, or strictly below, the diagonal of every matrix."""
    count, rows, columns = matrices.shape
    outside = _outside if rows * columns <= 1 << 14 else _outside.__wrapped__
    places = outside(rows, columns, above)
    if count == 1:
        matrices.reshape(-1)[places] = 0
    else:
        matrices.reshape(count, -1)[:, places] = 0


def _compiled(input):
    """Whether matrices are small, real and by rows: what compiled kernels factor. Larger ones are
    LAPACK's, which works in blocks."""
    small = 0 < input.size and input.shape[-1] * input.shape[-2] <= _COMPILED
    return small and not REFERENCE and input.dtype.kind == "f" and input.flags.c_contiguous


def _planned(kernel, input, outputs, words):
    """A prepared call of a kernel whose items are matrices."""
    from rushlight.kernels.linalg import factor_kernels

    code = getattr(factor_kernels, kernel).address(real=language_type(input.dtype))
    items, (m, n) = math.prod(input.shape[:-2]), input.shape[-2:]
    return prepared(code, items, chunk(items, m * n * n), [input], outputs, words)


def _plan_cholesky(input):
    if not _compiled(input):
        return None
    outputs = [(input.shape, input.dtype), (input.shape[:-2], _INT32)]
    return _planned("cholesky", input, outputs, [input.shape[-1]])


def _plan_qr(input):
    *batch, m, n = input.shape
    if not _compiled(input) or m < n:
        return None
    outputs = [(*batch, n, m), (*batch, n, n), (*batch, n)]
    return _planned("qr", input, [(shape, input.dtype) for shape in outputs], [m, n])


def _plan_lu(input):
    if not _compiled(input):
        return None
    *batch, m, n = input.shape
    pivots, info = ((*batch, min(m, n)), _INT32), (tuple(batch), _INT32)
    outputs = [((*batch, n, m), input.dtype), pivots, info, (tuple(batch), input.dtype)]
    return _planned("lu", input, outputs, [m, n])


_small_lu = by_layout(_plan_lu, lambda input: None)
_small_cholesky = by_layout(_plan_cholesky, lambda input: None)
_small_qr = by_layout(_plan_qr, lambda input: None)


def cholesky(input, upper=False):
    """``(factor, info)`` of Hermitian matrices, of which one triangle is read."""
    found = None if upper else _small_cholesky(input)
    if found is not None:
        return found[0].swapaxes(-1, -2), found[1]
    batch, n = input.shape[:-2], input.shape[-1]
    work = _columns(input)
    info = _info(len(work))
    if work.size:
        _call(_letter(input) + "potrf", len(work), "U" if upper else "L", n, work, n, info)
        _clear(work, upper)  # the other triangle, in memory the same
    return _rows(work, batch), _as_info(info, batch)


def lu(input):
    """``(LU, pivots, info)``: L below the diagonal, U on and above it; pivots count from 1."""
    found = _small_lu(input)
    if found is not None:
        return found[0].swapaxes(-1, -2), found[1], found[2]
    batch, (m, n) = input.shape[:-2], input.shape[-2:]
    work = _columns(input)
    pivots, info = np.zeros((len(work), min(m, n)), np.int64), _info(len(work))
    if min(m, n):
        _call(_letter(input) + "getrf", len(work), m, n, work, max(m, 1), pivots, info)
    pivots = pivots.reshape(*batch, min(m, n)).astype(np.int32)
    return _rows(work, batch), pivots, _as_info(info, batch)


def lu_parts(input):
    """``(L, U, pivots)`` with ones on L's diagonal, by columns."""
    batch, (m, n) = input.shape[:-2], input.shape[-2:]
    factors, pivots, _ = lu(input)
    work, k = factors.swapaxes(-1, -2).reshape(math.prod(batch), n, m), min(m, n)
    lower, upper = work[:, :k].copy(), work[:, :, :k].copy()
    if lower.size:
        _clear(lower, False)  # above L's diagonal, in memory below
        lower.reshape(len(lower), k * m)[:, :: m + 1] = 1
        _clear(upper, True)
    return _rows(lower, batch), _rows(upper, batch), pivots


def _exchanges(pivots, shape, size):
    """Exchanges of rows for LAPACK, which would write anywhere with others than its own."""
    found = np.ascontiguousarray(pivots, np.int64).reshape(shape)
    if found.size and (found.min() < 1 or found.max() > size):
        raise RuntimeError(
            f"pivots must be between 1 and the number of rows, {size}, as "
            f"linalg.lu_factor gives them; got {found.min()} to {found.max()}"
        )
    return found


def _blocks(pivots, shape, size):
    """Pivots of LDL: negative ones belong to blocks of two."""
    found = np.ascontiguousarray(pivots, np.int64).reshape(shape)
    wrong = (abs(found) < 1) | (abs(found) > size)
    begun = np.zeros(len(found), bool)
    for column, odd in zip(found.T, wrong.T, strict=True):
        odd |= begun & (column > 0)
        begun = ~begun & (column < 0)
    if wrong.any() or begun.any():
        raise RuntimeError(
            f"linalg.ldl_solve: pivots must be 1 to {size}, or negative in pairs, as "
            f"linalg.ldl_factor gives them; got {found.tolist()}"
        )
    return found


def lu_solve(factors, pivots, other, adjoint=False):
    """``A^-1 @ other`` (or with the adjoint of A) from the factors of :func:`lu`; equal batches."""
    batch, (n, count) = other.shape[:-2], other.shape[-2:]
    work, turned = _columns(other), _columns(factors)
    if not work.size:
        return _rows(work, batch)
    pivots = _exchanges(pivots, (len(work), n), n)
    mode = "N" if not adjoint else "C" if factors.dtype.kind == "c" else "T"
    letter, info = _letter(other), _info(len(work))
    _call(letter + "getrs", len(work), mode, n, count, turned, n, pivots, work, n, info)
    return _rows(work, batch)


def inverse(input):
    """``(inverse, info)`` of square matrices."""
    if input.shape[-1] <= _SMALL:
        try:
            return np.linalg.inv(input), np.zeros(input.shape[:-2], np.int32)
        except np.linalg.LinAlgError:  # LAPACK's own call says where
            pass
    factors, pivots, info = lu(input)
    batch, n = input.shape[:-2], input.shape[-1]
    turned = _columns(factors)
    if turned.size:
        wide = np.ascontiguousarray(pivots, np.int64).reshape(len(turned), n)
        name, state = _letter(input) + "getri", _info(len(turned))
        work, size = _workspace(name, turned, n, turned, n, wide)
        _call(name, len(turned), n, turned, n, wide, work, size, state)
    return _rows(turned, batch), info


def solve(input, other):
    """``(X, info)`` of ``input @ X = other``; the batch of `other` may be the larger one."""
    batch, (n, count) = other.shape[:-2], other.shape[-2:]
    if input.shape[:-2] == batch and other.size:
        work, found, info = _columns(input), _columns(other), _info(math.prod(batch))
        pivots = np.empty((len(work), n), np.int64)
        _call(_letter(input) + "gesv", len(work), n, count, work, n, pivots, found, n, info)
        if not np.count_nonzero(info):
            return _rows(found, batch), _as_info(info, batch)
    factors, pivots, info = lu(input)
    if factors.shape[:-2] != batch:
        factors = np.broadcast_to(factors, (*batch, *factors.shape[-2:]))
        pivots = np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    return lu_solve(factors, pivots, other), info


def determinant(input):
    """The determinants of square matrices."""
    with np.errstate(all="ignore"):
        if input.shape[-1] <= _SMALL:
            return np.asarray(np.linalg.det(input), input.dtype)
        diagonal, sign = triangle_of(input)
        return np.asarray(np.prod(diagonal, -1) * sign, input.dtype)


def triangle_of(input):
    """The diagonal of U and the sign of the row exchanges of an LU factorization."""
    found = _small_lu(input)
    if found is not None:
        return np.diagonal(found[0], 0, -2, -1), found[3]
    factors, pivots, _ = lu(input)
    odd = (pivots != np.arange(1, input.shape[-1] + 1)).sum(-1) % 2
    return np.diagonal(factors, 0, -2, -1), np.asarray(1 - 2 * odd, input.dtype)


def solve_triangular(input, other, upper, left=True, unitriangular=False):
    """X of ``input @ X = other``, or of ``X @ input = other``; equal batches. Zeros on the
    diagonal give infinities."""
    work, batch, (m, n) = _columns(other), other.shape[:-2], other.shape[-2:]
    if work.size:
        factors, by_rows = _stored(input)
        # What is row-major is the transpose to Fortran, triangles swapped.
        _call(_letter(other) + "trsm", len(work), "L" if left else "R",
              "U" if upper != by_rows else "L", "T" if by_rows else "N",
              "U" if unitriangular else "N", m, n, _one(other.dtype), factors,
              m if left else n, work, m)  # fmt: skip
    return _rows(work, batch)


@functools.cache
def _one(dtype):
    return np.ones((1, 1), dtype)


def _stored(matrices):
    """``(batch, n, m)`` of memory that holds the matrices, and whether it does by rows."""
    turned = matrices.swapaxes(-1, -2)
    by_rows = not turned.flags.c_contiguous
    held = np.ascontiguousarray(matrices) if by_rows else turned
    return held.reshape(-1, *held.shape[-2:]), by_rows


def cholesky_solve(factor, other, upper):
    """X of ``A @ X = other`` with A's Cholesky factor; equal batches."""
    work, batch, (n, count) = _columns(other), other.shape[:-2], other.shape[-2:]
    if work.size:
        factors, by_rows = _stored(factor)
        if by_rows and factor.dtype.kind == "c":
            factors, by_rows = _columns(factor), False
        triangle, info = "U" if upper != by_rows else "L", _info(len(work))
        _call(_letter(other) + "potrs", len(work), triangle, n, count, factors, n, work, n, info)
    return _rows(work, batch)


def check_pivots(count, size):
    """No more exchanges than rows."""
    if count > size:
        raise RuntimeError(f"{count} pivots for matrices of {size} rows")


def permutations(pivots, size, dtype):
    """P of ``A = P @ L @ U``, as matrices ``(..., size, size)``, from the exchanges of rows."""
    batch, count = pivots.shape[:-1], pivots.shape[-1]
    found = np.zeros((math.prod(batch), size, size), dtype)
    found.reshape(len(found), size * size)[:, :: size + 1] = 1
    if found.size and count:
        check_pivots(count, size)
        exchanges = _exchanges(pivots, (-1, count), size)
        _call(_letter(found) + "laswp", len(found), size, found, size, 1, count, exchanges, 1)
    return found.reshape(*batch, size, size)  # P's adjoint by columns


def geqrf(input):
    """``(a, tau)``: R on and above the diagonal, reflectors below it."""
    batch, (m, n) = input.shape[:-2], input.shape[-2:]
    work = _columns(input)
    tau = np.zeros((len(work), min(m, n)), input.dtype)
    if work.size:
        name, info = _letter(input) + "geqrf", _info(len(work))
        space, size = _workspace(name, work, m, n, work, m, tau)
        _call(name, len(work), m, n, work, m, tau, space, size, info)
    return _rows(work, batch), tau.reshape(*batch, min(m, n))


def householder_product(input, tau):
    """The first n columns of the product of k reflectors; `input` (..., m, n), `tau` (..., k)."""
    batch, (m, n) = input.shape[:-2], input.shape[-2:]
    work, k = _columns(input), tau.shape[-1]
    if work.size:
        scales = np.ascontiguousarray(tau).reshape(len(work), k)
        scales = scales if k else np.zeros((len(work), 1), tau.dtype)
        letter = _letter(input)
        name, info = letter + _CONJUGATED["or"][letter] + "gqr", _info(len(work))
        space, size = _workspace(name, work, m, n, k, work, m, scales)
        _call(name, len(work), m, n, k, work, m, scales, space, size, info)
    return _rows(work, batch)


def qr(input, complete=False, vectors=True):
    """``(Q, R)`` with min(m, n) columns in Q, or m if `complete`; Q is None without `vectors`."""
    batch, (m, n) = input.shape[:-2], input.shape[-2:]
    k = min(m, n)
    if vectors and input.size and (m == k or not complete):
        return _reduced_qr(input)
    packed, tau = geqrf(input)
    rows = m if complete and vectors else k
    upper = np.zeros((*batch, rows, n), input.dtype)
    upper[..., :k, :] = np.triu(packed[..., :k, :])
    if not vectors:
        return None, upper
    reflectors = np.zeros((*batch, m, rows), input.dtype)
    reflectors[...] = np.eye(m, rows, dtype=input.dtype)
    reflectors[..., :k] = packed[..., :k]
    return householder_product(reflectors, tau), upper


def _reduced_qr(input):
    """The same with min(m, n) columns in Q, by columns both."""
    found = _small_qr(input)
    if found is not None:
        return found[0].swapaxes(-1, -2), found[1].swapaxes(-1, -2)
    batch, (m, n) = input.shape[:-2], input.shape[-2:]
    work, k, letter = _columns(input), min(m, n), _letter(input)
    count = len(work)
    tau, info = np.empty((count, k), input.dtype), _info(count)
    space, size = _workspace(letter + "geqrf", work, m, n, work, m, tau)
    _call(letter + "geqrf", count, m, n, work, m, tau, space, size, info)
    upper = np.array(work[:, :, :k], order="C")
    _clear(upper, True)  # below R's diagonal, in memory above
    if n > k:
        work = np.array(work[:, :k], order="C")
    name = letter + _CONJUGATED["or"][letter] + "gqr"
    space, size = _workspace(name, work, m, k, k, work, m, tau)
    _call(name, count, m, k, k, work, m, tau, space, size, info)
    return _rows(work, batch), _rows(upper, batch)


def multiply_reflectors(input, tau, other, left=True, transpose=False):
    """``Q @ other`` (or ``other @ Q``) with Q, or its adjoint, given by reflectors."""
    batch, (m, n) = other.shape[:-2], other.shape[-2:]
    work, k = _columns(other), tau.shape[-1]
    if work.size and k:
        reflectors = _columns(input)
        scales = np.ascontiguousarray(tau).reshape(len(work), k)
        letter, info = _letter(other), _info(len(work))
        name = letter + _CONJUGATED["or"][letter] + "mqr"
        mode = "N" if not transpose else "C" if other.dtype.kind == "c" else "T"
        head = ("L" if left else "R", mode, m, n, k, reflectors, m if left else n, scales, work, m)
        space, size = _workspace(name, work, *head)
        _call(name, len(work), *head, space, size, info)
    return _rows(work, batch)


def ldl(input, hermitian=False):
    """``(LD, pivots, info)`` of symmetric (or Hermitian) indefinite matrices, lower triangles."""
    batch, n = input.shape[:-2], input.shape[-1]
    work, letter = _columns(input), _letter(input)
    pivots, info = np.zeros((len(work), n), np.int64), _info(len(work))
    if work.size:
        name = letter + (_CONJUGATED["sy"][letter] if hermitian else "sy") + "trf"
        space, size = _workspace(name, work, "L", n, work, n, pivots)
        _call(name, len(work), "L", n, work, n, pivots, space, size, info)
    return _rows(work, batch), pivots.reshape(*batch, n).astype(np.int32), _as_info(info, batch)


def ldl_solve(factors, pivots, other, hermitian=False):
    """``A^-1 @ other`` from the factors of :func:`ldl`; equal batches."""
    batch, (n, count) = other.shape[:-2], other.shape[-2:]
    work, letter = _columns(other), _letter(other)
    if work.size:
        name = letter + (_CONJUGATED["sy"][letter] if hermitian else "sy") + "trs"
        turned, info = _columns(factors), _info(len(work))
        pivots = _blocks(pivots, (len(work), n), n)
        _call(name, len(work), "L", n, count, turned, n, pivots, work, n, info)
    return _rows(work, batch)


def least_squares(input, other, rcond, driver):
    """``(X, rank, singular values, info)`` of ``min |input @ X - other|``; X has max(m, n) rows,
    of which those beyond n hold the residuals of :data:`gels`. Equal batches."""
    batch, (m, n), count = input.shape[:-2], input.shape[-2:], other.shape[-1]
    rows = max(m, n, 1)
    if rows != m:
        padded = np.zeros((*batch, rows, count), other.dtype)
        padded[..., :m, :] = other
        other = padded
    work, target, letter = _columns(input), _columns(other), _letter(input)
    batches = len(work)
    real = np.dtype(np.float32 if letter in "sc" else np.float64)
    values = np.zeros((batches, min(m, n)), real)
    rank, info = np.zeros((batches, 1), np.int64), _info(batches)
    if work.size and target.size:
        head = (m, n, count, work, m, target, rows)
        limit = np.full((1, 1), rcond, real)
        _drive(driver, letter, batches, head, values, limit, rank, info, real)
    solution = _rows(target, batch)
    return solution, rank.reshape(batch), values.reshape(*batch, min(m, n)), _as_info(info, batch)


def _drive(driver, letter, batches, head, values, limit, rank, info, real):
    """Call one of LAPACK's least-squares drivers."""
    m, n, target = head[0], head[1], head[5]
    name = letter + driver
    complex_ = letter in "cz"
    if driver == "gels":
        space, size = _workspace(name, target, "N", *head)
        _call(name, batches, "N", *head, space, size, info)
        return
    if driver == "gelsy":
        pivots = np.zeros((batches, n), np.int64)
        middle, extra = (pivots, limit, rank), (np.zeros((1, 2 * n), real),)
    else:
        middle = (values, limit, rank)
        extra = (np.zeros((1, 5 * max(min(m, n), 1)), real),)
    extra = extra if complex_ else ()
    if driver == "gelsd":
        size_real = 64 * (min(m, n) + 1) * (min(m, n) + 32) + 64 * max(m, n, head[2]) * 4
        integers = np.zeros((1, 64 * (min(m, n) + 32)), np.int64)
        extra = ((np.zeros((1, size_real), real),) if complex_ else ()) + (integers,)
    key = name, *[a for a in head if type(a) is int]
    size = _sizes.get(key)
    if size is None:
        answer = np.zeros((1, 1), target.dtype)
        probe = [a[:1] if isinstance(a, np.ndarray) else a for a in (*head, *middle)]
        _call(name, 1, *probe, answer, -1, *extra, _info(1))
        size = _keep_size(key, answer)
    space = np.empty((1, size), target.dtype)
    _call(name, batches, *head, *middle, space, size, *extra, info)

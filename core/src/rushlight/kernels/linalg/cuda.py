"""Linear algebra on a device: :mod:`rushlight.kernels.linalg.lapack` by cuSOLVER and cuBLAS.

Batches of small matrices go to batched routines, others to a routine per matrix; nothing waits:
what failed is told by ``info``, on the device. What cuSOLVER has no routine for in CuPy (symmetric
indefinite solves, least squares other than by QR) is computed on the host, with copies both ways.
The emulator has no such library: there every function returns NotImplemented, and the CPU's
compute on the same memory.
"""

from __future__ import annotations

import math

from rushlight.compiler.cuda import array_code
from rushlight.compiler.cuda.device_array import from_host
from rushlight.kernels.launch.cuda import DeviceArray
from rushlight.kernels.linalg import lapack as host
from rushlight.machine import np
from rushlight.machine.cuda import runtime

__all__ = [
    "cholesky",
    "cholesky_solve",
    "determinant",
    "geqrf",
    "householder_product",
    "inverse",
    "ldl",
    "ldl_solve",
    "least_squares",
    "lu",
    "lu_parts",
    "lu_solve",
    "multiply_reflectors",
    "permutations",
    "qr",
    "solve",
    "solve_triangular",
    "triangle_of",
]

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_INT32 = np.dtype(np.int32)
_at = array_code._address


def _library():
    return getattr(runtime.current(), "solver", lambda: None)()


def _run(function, *arguments, **options):
    """Call a function of views with the library; NotImplemented where there is none."""
    solver = _library()
    if solver is None:
        return NotImplemented

    def call(*views):
        return function(_Routines(solver, views[0].dtype), *views, **options)

    call.__name__ = function.__name__.strip("_")
    return array_code.run(call, arguments, {})


class _Routines:
    """The routines of both libraries for a dtype."""

    def __init__(self, solver, dtype):
        self.xp, self.solver, self.dtype = solver.xp, solver, dtype
        self.letter = _LETTERS[dtype.name]

    def blas(self, name, *arguments):
        """Call one of cuBLAS's."""
        function = getattr(self.solver.cublas, self.letter + name)
        function(self.solver.cublas_handle(), *arguments)

    def lapack(self, name, head, matrix, rest):
        """Call one of cuSOLVER's: with `head`, by which it tells the size of its workspace,
        `matrix`, the workspace, and ``rest(size)``."""
        function = getattr(self.solver.cusolver, self.letter + name)
        size = getattr(self.solver.cusolver, f"{self.letter}{name}_bufferSize")
        handle = self.solver.cusolver_handle()
        count = size(handle, *head)
        space = self.xp.empty(max(int(count), 1), self.dtype)
        function(handle, *head, *matrix, _at(space), *rest(count))

    def constant(self, name):
        """One of cuBLAS's constants."""
        return getattr(self.solver.cublas, f"CUBLAS_{name}")

    def adjoint(self, wanted):
        """The constant of an operand as it is, or of its adjoint."""
        real = self.dtype.kind == "f"
        return self.constant("OP_N" if not wanted else "OP_T" if real else "OP_C")

    def unitary(self, name):
        """``or`` + name, or ``un`` + name of complex numbers."""
        return ("or" if self.dtype.kind == "f" else "un") + name

    def info(self, count):
        """Zeros: one int32 a matrix."""
        return self.xp.zeros(count, _INT32)

    def places(self, matrices):
        """Addresses of a batch of matrices, in device memory."""
        step = matrices[0].nbytes
        start = _at(matrices)
        return self.xp.arange(start, start + step * len(matrices), step, dtype=np.uintp)


def _count(array):
    return math.prod(array.shape[:-2])


def _is_batched(count, n):
    """Whether a batched routine serves better than one call a matrix (CuPy's rule for LU)."""
    return count > 1 and count * 65536 >= n * n


def _columns(r, array):
    """A column-major copy of every matrix, as ``(batch, n, m)`` in row-major memory."""
    m, n = array.shape[-2:]
    turned = r.xp.array(array.swapaxes(-1, -2), order="C", copy=True)
    return turned.reshape(_count(array), n, m)


def _rows(columns, batch):
    return columns.reshape(*batch, *columns.shape[1:]).swapaxes(-1, -2)


def _plain(r, array):
    return r.xp.array(array, order="C", copy=True).reshape(_count(array), *array.shape[-2:])


# ----------------------------------------------------------------------------------- factorizations
def _cholesky(r, a, upper=False):
    n, work = a.shape[-1], _plain(r, a)
    info = r.info(len(work))
    # Row-major memory is the transpose to Fortran: its upper triangle is our lower one.
    side = r.constant("FILL_MODE_LOWER" if upper else "FILL_MODE_UPPER")
    if work.size and _is_batched(len(work), n):
        places, handle = r.places(work), r.solver.cusolver_handle()
        batched = getattr(r.solver.cusolver, r.letter + "potrfBatched")
        batched(handle, side, n, _at(places), n, _at(info), len(work))
    elif work.size:
        for i, matrix in enumerate(work):
            head = (side, n, _at(matrix), n)
            r.lapack("potrf", head, (), lambda size, i=i: (size, _at(info[i:])))
    work = r.xp.triu(work) if upper else r.xp.tril(work)
    return work.reshape(a.shape), info.reshape(a.shape[:-2])


def cholesky(input, upper=False):
    """``(factor, info)`` of Hermitian matrices, of which one triangle is read."""
    return _run(_cholesky, input, upper=upper)


def _lu(r, a):
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    work, k = _columns(r, a), min(m, n)
    pivots, info = r.xp.zeros((len(work), k), _INT32), r.info(len(work))
    if work.size and m == n and _is_batched(len(work), n):
        places = r.places(work)
        r.blas("getrfBatched", n, _at(places), n, _at(pivots), _at(info), len(work))
    elif work.size:
        for i, matrix in enumerate(work):
            head = (m, n, _at(matrix), m)
            r.lapack("getrf", head, (), lambda _, i=i: (_at(pivots[i]), _at(info[i:])))
    return _rows(work, batch), pivots.reshape(*batch, k), info.reshape(batch)


def lu(input):
    """``(LU, pivots, info)``: L below the diagonal, U on and above it; pivots count from 1."""
    return _run(_lu, input)


def _lu_parts(r, a):
    (factors, pivots, _), (m, n) = _lu(r, a), a.shape[-2:]
    k = min(m, n)
    lower = r.xp.tril(factors, -1)[..., :k] + r.xp.eye(m, k, dtype=a.dtype)
    return lower, r.xp.triu(factors)[..., :k, :], pivots


def lu_parts(input):
    """``(L, U, pivots)`` with ones on L's diagonal."""
    return _run(_lu_parts, input)


def _lu_solve(r, factors, pivots, other, adjoint=False):
    batch, (n, count) = other.shape[:-2], other.shape[-2:]
    work, turned = _columns(r, other), _columns(r, factors)
    if not work.size:
        return _rows(work, batch)
    pivots = r.xp.ascontiguousarray(pivots.astype(_INT32)).reshape(len(work), n)
    mode = r.adjoint(adjoint)
    if _is_batched(len(work), n):
        state, a, b = np.zeros(1, _INT32), r.places(turned), r.places(work)
        r.blas("getrsBatched", mode, n, count, _at(a), n, _at(pivots), _at(b), n,
               state.ctypes.data, len(work))  # fmt: skip
        return _rows(work, batch)
    function, info = getattr(r.solver.cusolver, r.letter + "getrs"), r.info(1)
    for a, p, b in zip(turned, pivots, work, strict=True):
        function(r.solver.cusolver_handle(), mode, n, count, _at(a), n, _at(p), _at(b), n,
                 _at(info))  # fmt: skip
    return _rows(work, batch)


def lu_solve(factors, pivots, other, adjoint=False):
    """``A^-1 @ other`` (or with the adjoint of A) from the factors of :func:`lu`; equal batches."""
    return _run(_lu_solve, factors, pivots, other, adjoint=adjoint)


def _inverse(r, a):
    factors, pivots, info = _lu(r, a)
    unit = r.xp.zeros(a.shape, a.dtype)
    unit[...] = r.xp.eye(a.shape[-1], dtype=a.dtype)
    return r.xp.ascontiguousarray(_lu_solve(r, factors, pivots, unit)), info


def inverse(input):
    """``(inverse, info)`` of square matrices."""
    return _run(_inverse, input)


def _solve(r, a, other):
    factors, pivots, info = _lu(r, a)
    batch = other.shape[:-2]
    if factors.shape[:-2] != batch:
        factors = r.xp.broadcast_to(factors, (*batch, *factors.shape[-2:]))
        pivots = r.xp.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    return _lu_solve(r, factors, pivots, other), info


def solve(input, other):
    """``(X, info)`` of ``input @ X = other``; the batch of `other` may be the larger one."""
    return _run(_solve, input, other)


def _triangle_of(r, a):
    factors, pivots, _ = _lu(r, a)
    exchanged = pivots != r.xp.arange(1, a.shape[-1] + 1, dtype=_INT32)
    sign = 1 - 2 * (exchanged.sum(-1) % 2)
    return r.xp.diagonal(factors, 0, -2, -1), r.xp.asarray(sign).astype(a.dtype)


def triangle_of(input):
    """The diagonal of U and the sign of the row exchanges of an LU factorization."""
    return _run(_triangle_of, input)


def _determinant(r, a):
    diagonal, sign = _triangle_of(r, a)
    return r.xp.asarray(r.xp.prod(diagonal, -1) * sign).astype(a.dtype)


def determinant(input):
    """The determinants of square matrices."""
    return _run(_determinant, input)


def _solve_triangular(r, a, other, upper=True, left=True, unitriangular=False):
    work = _plain(r, other)
    if not work.size:
        return work.reshape(other.shape)
    factors = r.xp.ascontiguousarray(a).reshape(len(work), *a.shape[-2:])
    m, n = other.shape[-2:]
    one, size = np.ones(1, a.dtype), m if left else n
    head = [  # transposed: sides and triangles swap
        r.constant("SIDE_RIGHT" if left else "SIDE_LEFT"),
        r.constant("FILL_MODE_LOWER" if upper else "FILL_MODE_UPPER"),
        r.constant("OP_N"),
        r.constant("DIAG_UNIT" if unitriangular else "DIAG_NON_UNIT"),
        n, m, one.ctypes.data,
    ]  # fmt: skip
    if len(work) > 1:
        a_places, b_places = r.places(factors), r.places(work)
        r.blas("trsmBatched", *head, _at(a_places), size, _at(b_places), n, len(work))
    else:
        r.blas("trsm", *head, _at(factors), size, _at(work), n)
    return work.reshape(other.shape)


def solve_triangular(input, other, upper, left=True, unitriangular=False):
    """X of ``input @ X = other``, or of ``X @ input = other``; equal batches. Zeros on the
    diagonal give infinities."""
    options = {"upper": upper, "left": left, "unitriangular": unitriangular}
    return _run(_solve_triangular, input, other, **options)


def _cholesky_solve(r, factor, other, upper=False):
    adjoint = r.xp.conj(factor.swapaxes(-1, -2))
    first, second = (adjoint, factor) if upper else (factor, adjoint)
    return _solve_triangular(r, second, _solve_triangular(r, first, other, False), True)


def cholesky_solve(factor, other, upper):
    """X of ``A @ X = other`` with A's Cholesky factor; equal batches."""
    return _run(_cholesky_solve, factor, other, upper=upper)


# ------------------------------------------------------------------------------- orthogonal factors
def _geqrf(r, a):
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    work, info = _columns(r, a), r.info(1)
    tau = r.xp.zeros((len(work), min(m, n)), a.dtype)
    if work.size:
        for matrix, scales in zip(work, tau, strict=True):
            head = (m, n, _at(matrix), m)
            r.lapack("geqrf", head, (_at(scales),), lambda size: (size, _at(info)))
    return _rows(work, batch), tau.reshape(*batch, min(m, n))


def geqrf(input):
    """``(a, tau)``: R on and above the diagonal, reflectors below it."""
    return _run(_geqrf, input)


def _householder_product(r, a, tau):
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    work, k, info = _columns(r, a), tau.shape[-1], r.info(1)
    if work.size and not k:
        work[...] = r.xp.eye(n, m, dtype=a.dtype)
    elif work.size:
        name, scales = r.unitary("gqr"), r.xp.ascontiguousarray(tau).reshape(len(work), k)
        for matrix, own in zip(work, scales, strict=True):
            head = (m, n, k, _at(matrix), m, _at(own))
            r.lapack(name, head, (), lambda size: (size, _at(info)))
    return _rows(work, batch)


def householder_product(input, tau):
    """The first n columns of the product of k reflectors; `input` (..., m, n), `tau` (..., k)."""
    return _run(_householder_product, input, tau)


def _qr(r, a, complete=False, vectors=True):
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    k = min(m, n)
    packed, tau = _geqrf(r, a)
    rows = m if complete and vectors else k
    upper = r.xp.zeros((*batch, rows, n), a.dtype)
    upper[..., :k, :] = r.xp.triu(packed[..., :k, :])
    if not vectors:
        return None, upper
    reflectors = r.xp.zeros((*batch, m, rows), a.dtype)
    reflectors[...] = r.xp.eye(m, rows, dtype=a.dtype)
    reflectors[..., :k] = packed[..., :k]
    return _householder_product(r, reflectors, tau), upper


def qr(input, complete=False, vectors=True):
    """``(Q, R)`` with min(m, n) columns in Q, or m if `complete`; Q is None without `vectors`."""
    return _run(_qr, input, complete=complete, vectors=vectors)


def _multiply_reflectors(r, a, tau, other, left=True, transpose=False):
    batch, (m, n) = other.shape[:-2], other.shape[-2:]
    work, k, info = _columns(r, other), tau.shape[-1], r.info(1)
    if work.size and k:
        reflectors = _columns(r, a)
        scales = r.xp.ascontiguousarray(tau).reshape(len(work), k)
        side, size = r.constant("SIDE_LEFT" if left else "SIDE_RIGHT"), m if left else n
        for matrix, own, target in zip(reflectors, scales, work, strict=True):
            head = (
                side,
                r.adjoint(transpose),
                m,
                n,
                k,
                _at(matrix),
                size,
                _at(own),
                _at(target),
                m,
            )
            r.lapack(r.unitary("mqr"), head, (), lambda count: (count, _at(info)))
    return _rows(work, batch)


def multiply_reflectors(input, tau, other, left=True, transpose=False):
    """``Q @ other`` (or ``other @ Q``) with Q, or its adjoint, given by reflectors."""
    return _run(_multiply_reflectors, input, tau, other, left=left, transpose=transpose)


# ------------------------------------------------------------------------------------ least squares
def _by_factors(r, a, other):
    (m, n), batch = a.shape[-2:], other.shape[:-2]
    k, xp = min(m, n), r.xp
    tall = m >= n
    packed, tau = _geqrf(r, a if tall else a.swapaxes(-1, -2).conj())
    square = packed[..., :k, :k]
    found = xp.zeros((*batch, max(m, n), other.shape[-1]), other.dtype)
    if tall:
        found[...] = _multiply_reflectors(r, packed, tau, other, transpose=True)
        found[..., :k, :] = _solve_triangular(r, square, found[..., :k, :], upper=True)
    else:
        lower = square.swapaxes(-1, -2).conj()
        found[..., :k, :] = _solve_triangular(r, lower, other, upper=False)
        found = _multiply_reflectors(r, packed, tau, found)
    zero = xp.diagonal(square, 0, -2, -1) == 0
    first = zero.argmax(-1) + 1 if k else xp.zeros(batch, _INT32)
    info = xp.asarray(first * zero.any(-1)).astype(_INT32)
    real = xp.zeros((*batch, k), np.dtype(a.dtype.type().real.dtype))
    return found, xp.zeros(batch, np.int64), real, info


def least_squares(input, other, rcond, driver):
    """``(X, rank, singular values, info)`` of ``min |input @ X - other|``; X has max(m, n) rows,
    of which those beyond n hold the residuals. Drivers other than ``gels`` compute on the host."""
    if driver == "gels":
        return _run(_by_factors, input, other)
    return _by_host("least_squares", input, other, rcond, driver)


# -------------------------------------------------------------------------------------- on the host
def _by_host(name, *arguments):
    """Copy to the host, compute there, copy back. Waits for the device."""
    if _library() is None:
        return NotImplemented
    device = arguments[0].device
    given = [a.get() if type(a) is DeviceArray else a for a in arguments]
    found = getattr(host, name)(*given)
    if type(found) is tuple:
        return tuple(from_host(np.array(part, order="C"), device) for part in found)
    return from_host(np.array(found, order="C"), device)


def ldl(input, hermitian=False):
    """``(LD, pivots, info)`` of symmetric (or Hermitian) indefinite matrices, lower triangles:
    on the host."""
    return _by_host("ldl", input, hermitian)


def ldl_solve(factors, pivots, other, hermitian=False):
    """``A^-1 @ other`` from the factors of :func:`ldl`; equal batches: on the host."""
    return _by_host("ldl_solve", factors, pivots, other, hermitian)


def permutations(pivots, size, dtype):
    """P of ``A = P @ L @ U`` from the exchanges of rows: on the host."""
    return _by_host("permutations", pivots, size, dtype)

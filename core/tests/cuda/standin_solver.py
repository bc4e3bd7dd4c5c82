"""Stand-ins for CuPy's bindings of cuBLAS and cuSOLVER, by the CPU's LAPACK at the addresses given.

Names, parameters and their order are those of `cupy_backends.cuda.libs` 14.2; a wrong number of
arguments is a TypeError, as there. Matrices are column-major, pivots and infos int32.
"""

from __future__ import annotations

import numpy as np

from rushlight.kernels.linalg import lapack
from rushlight.machine.cuda.runtime.emulated_memory import host_view
from rushlight.machine.cuda.runtime.solver import Solver

DTYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
BLAS_HANDLE, SOLVER_HANDLE, SPACE = 0xB1A5, 0x501E, 24
calls: list[str] = []


def vector(address, count, dtype=np.int32):
    """`count` elements at an address."""
    return host_view(int(address), (count,), None, dtype)


def fortran(name, *arguments):
    """A routine of the CPU's; arrays are passed by their addresses."""
    lapack._call(
        name, 1, *[a.reshape(1, -1) if isinstance(a, np.ndarray) else a for a in arguments]
    )


def store(info, state, place=0):
    """Write a routine's state where the device's goes."""
    vector(info, place + 1)[place] = state[0]


class Constants:
    """The libraries' numbers; letters of LAPACK come from them."""

    CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER = 0, 1
    CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C = 0, 1, 2
    CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT = 0, 1
    CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT = 0, 1


def _numbers(count):
    return np.zeros(count, np.int64)


def _routines(letter):
    dtype = DTYPES[letter]
    unitary = "or" if letter in "sd" else "un"

    def potrf(handle, uplo, n, a, lda, work, size, info):
        assert handle == SOLVER_HANDLE and size == SPACE and lda >= n
        vector(work, size, dtype)[:] = 7
        state = _numbers(1)
        fortran(letter + "potrf", "LU"[uplo], n, vector(a, n * lda, dtype), lda, state)
        store(info, state)

    def potrf_batched(handle, uplo, n, places, lda, infos, batch):
        assert handle == SOLVER_HANDLE
        for i, a in enumerate(vector(places, batch, np.uintp)):
            state = _numbers(1)
            fortran(letter + "potrf", "LU"[uplo], n, vector(a, n * lda, dtype), lda, state)
            store(infos, state, i)

    def factor(m, n, a, lda, pivots):
        state, wide = _numbers(1), _numbers(min(m, n))
        fortran(letter + "getrf", m, n, vector(a, n * lda, dtype), lda, wide, state)
        vector(pivots, min(m, n))[:] = wide
        return state

    def getrf(handle, m, n, a, lda, work, pivots, info):
        assert handle == SOLVER_HANDLE
        vector(work, SPACE, dtype)[:] = 7
        store(info, factor(m, n, a, lda, pivots))

    def getrf_batched(handle, n, places, lda, pivots, infos, batch):
        assert handle == BLAS_HANDLE
        for i, a in enumerate(vector(places, batch, np.uintp)):
            store(infos, factor(n, n, a, lda, pivots + 4 * n * i), i)

    def substitute(mode, n, count, a, lda, pivots, b, ldb):
        wide, state = vector(pivots, n).astype(np.int64), _numbers(1)
        matrices = vector(a, n * lda, dtype), vector(b, count * ldb, dtype)
        fortran(letter + "getrs", "NTC"[mode], n, count, matrices[0], lda, wide, matrices[1], ldb,
                state)  # fmt: skip
        return state

    def getrs(handle, mode, n, count, a, lda, pivots, b, ldb, info):
        assert handle == SOLVER_HANDLE
        store(info, substitute(mode, n, count, a, lda, pivots, b, ldb))

    def getrs_batched(handle, mode, n, count, a, lda, pivots, b, ldb, host_info, batch):
        assert handle == BLAS_HANDLE
        pairs = zip(vector(a, batch, np.uintp), vector(b, batch, np.uintp), strict=True)
        for i, (one, other) in enumerate(pairs):
            store(host_info, substitute(mode, n, count, one, lda, pivots + 4 * n * i, other, ldb))

    def trsm(handle, side, uplo, mode, diag, m, n, alpha, a, lda, b, ldb):
        assert handle == BLAS_HANDLE
        words = "LR"[side], "LU"[uplo], "NTC"[mode], "NU"[diag]
        size = n if side else m
        fortran(letter + "trsm", *words, m, n, vector(alpha, 1, dtype),
                vector(a, size * lda, dtype), lda, vector(b, n * ldb, dtype), ldb)  # fmt: skip

    def trsm_batched(handle, side, uplo, mode, diag, m, n, alpha, a, lda, b, ldb, batch):
        pairs = zip(vector(a, batch, np.uintp), vector(b, batch, np.uintp), strict=True)
        for one, other in pairs:
            trsm(handle, side, uplo, mode, diag, m, n, alpha, one, lda, other, ldb)

    def with_space(name, size, *head):
        state, space = _numbers(1), np.zeros(64 * size + 64, dtype)
        fortran(letter + name, *head, space, len(space), state)
        return state

    def geqrf(handle, m, n, a, lda, tau, work, size, info):
        assert handle == SOLVER_HANDLE and size == SPACE
        given = vector(a, n * lda, dtype), vector(tau, min(m, n), dtype)
        store(info, with_space("geqrf", n, m, n, given[0], lda, given[1]))

    def orgqr(handle, m, n, k, a, lda, tau, work, size, info):
        assert handle == SOLVER_HANDLE and size == SPACE and m >= n >= k
        given = vector(a, n * lda, dtype), vector(tau, k, dtype)
        store(info, with_space(unitary + "gqr", n, m, n, k, given[0], lda, given[1]))

    def ormqr(handle, side, mode, m, n, k, a, lda, tau, c, ldc, work, size, info):
        assert handle == SOLVER_HANDLE and size == SPACE
        given = vector(a, k * lda, dtype), vector(tau, k, dtype), vector(c, n * ldc, dtype)
        head = "LR"[side], "NTC"[mode], m, n, k, given[0], lda, given[1], given[2], ldc
        store(info, with_space(unitary + "mqr", max(m, n), *head))

    def sizes(parameters):
        def size(handle, *given):
            assert handle == SOLVER_HANDLE and len(given) == parameters
            return SPACE

        return size

    blas = {"getrfBatched": getrf_batched, "getrsBatched": getrs_batched, "trsm": trsm,
            "trsmBatched": trsm_batched}  # fmt: skip
    solver = {
        "potrf": potrf, "potrf_bufferSize": sizes(4), "potrfBatched": potrf_batched,
        "getrf": getrf, "getrf_bufferSize": sizes(4), "getrs": getrs,
        "geqrf": geqrf, "geqrf_bufferSize": sizes(4),
        unitary + "gqr": orgqr, unitary + "gqr_bufferSize": sizes(6),
        unitary + "mqr": ormqr, unitary + "mqr_bufferSize": sizes(10),
    }  # fmt: skip
    return blas, solver


def counted(name, function):
    """The function, with its calls noted."""

    def call(*arguments):
        calls.append(name)
        return function(*arguments)

    return call


def standin() -> Solver:
    """The stand-ins as the real runtime gives CuPy's."""
    blas, solver = type("cublas", (Constants,), {}), type("cusolver", (), {})
    for letter in DTYPES:
        for home, routines in zip((blas, solver), _routines(letter), strict=True):
            for name, function in routines.items():
                setattr(home, letter + name, staticmethod(counted(letter + name, function)))

    class Device:
        get_cublas_handle = staticmethod(lambda: BLAS_HANDLE)
        get_cusolver_handle = staticmethod(lambda: SOLVER_HANDLE)

    return Solver(np, blas, solver, Device)

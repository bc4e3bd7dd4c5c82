"""The ``linalg`` extension of the array API standard."""

from __future__ import annotations

from typing import Any, NamedTuple

import rushlight
from rushlight.array_api.data_types import promoted, result_type
from rushlight.array_api.statistics import sum as _sum

_linalg = rushlight.linalg


class EigResult(NamedTuple):
    """What :func:`eig` returns."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """What :func:`eigh` returns."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """What :func:`qr` returns."""

    Q: Any
    R: Any


class SlogdetResult(NamedTuple):
    """What :func:`slogdet` returns."""

    sign: Any
    logabsdet: Any


class SVDResult(NamedTuple):
    """What :func:`svd` returns."""

    U: Any
    S: Any
    Vh: Any


def cholesky(x, /, *, upper=False):
    """The triangular factor of symmetric positive definite matrices (..., N, N)."""
    return _linalg.cholesky(x, upper=upper)


def cross(x1, x2, /, *, axis=-1):
    """Cross products of vectors of three elements along `axis`."""
    x1, x2 = promoted(x1, x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            f"cross: expected 3 elements along axis {axis}, got {x1.shape[axis]} and "
            f"{x2.shape[axis]}"
        )
    x1, x2 = rushlight.broadcast_tensors(x1, x2)
    return _linalg.cross(x1, x2, dim=axis)


def det(x, /):
    """Determinants of square matrices (..., N, N)."""
    return _linalg.det(x)


def diagonal(x, /, *, offset=0):
    """The diagonals of the matrices (..., M, N)."""
    return rushlight.diagonal(x, offset, -2, -1)


def eig(x, /) -> EigResult:
    """Eigenvalues and eigenvectors of square matrices, both complex."""
    return EigResult(*_linalg.eig(x))


def eigvals(x, /):
    """Eigenvalues of square matrices, complex."""
    return _linalg.eigvals(x)


def eigh(x, /) -> EighResult:
    """Eigenvalues and eigenvectors of symmetric or Hermitian matrices."""
    return EighResult(*_linalg.eigh(x))


def eigvalsh(x, /):
    """Eigenvalues of symmetric or Hermitian matrices."""
    return _linalg.eigvalsh(x)


def inv(x, /):
    """Inverses of square matrices."""
    return _linalg.inv(x)


def matmul(x1, x2, /):
    """Matrix products, batches broadcast."""
    x1, x2 = promoted(x1, x2)
    return rushlight.matmul(x1, x2)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """Norms of the matrices (..., M, N)."""
    return _linalg.matrix_norm(x, ord, (-2, -1), keepdims)


def matrix_power(x, n, /):
    """Square matrices multiplied by themselves; inverted for a negative `n`."""
    return _linalg.matrix_power(x, n)


def matrix_rank(x, /, *, rtol=None):
    """How many singular values exceed `rtol` times the largest."""
    return _linalg.matrix_rank(x, rtol=rtol)


def matrix_transpose(x, /):
    """The matrices (..., M, N) with rows and columns exchanged."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: expected 2 dimensions or more, got {x.ndim}")
    return rushlight.transpose(x, -2, -1)


def outer(x1, x2, /):
    """All products of an element of `x1` (M,) and one of `x2` (N,)."""
    x1, x2 = promoted(x1, x2)
    return rushlight.outer(x1, x2)


def pinv(x, /, *, rtol=None):
    """Pseudo-inverses; singular values below `rtol` times the largest count as zero."""
    return _linalg.pinv(x, rtol=rtol)


def qr(x, /, *, mode="reduced") -> QRResult:
    """Orthonormal and upper triangular factors."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode must be 'reduced' or 'complete', got {mode!r}")
    return QRResult(*_linalg.qr(x, mode))


def slogdet(x, /) -> SlogdetResult:
    """Sign and logarithm of the absolute value of determinants."""
    return SlogdetResult(*_linalg.slogdet(x))


def solve(x1, x2, /):
    """The `x` of ``x1 @ x == x2``; `x2` is a vector only if it has one dimension."""
    x1, x2 = promoted(x1, x2)
    if x2.ndim == 1:
        return _linalg.solve(x1, x2.unsqueeze(-1)).squeeze(-1)
    batch = rushlight.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    x1 = x1.expand((*batch, *x1.shape[-2:]))
    return _linalg.solve(x1, x2.expand((*batch, *x2.shape[-2:])))


def svd(x, /, *, full_matrices=True) -> SVDResult:
    """Singular values between orthonormal factors."""
    return SVDResult(*_linalg.svd(x, full_matrices))


def svdvals(x, /):
    """Singular values, the largest first."""
    return _linalg.svdvals(x)


def tensordot(x1, x2, /, *, axes=2):
    """Products summed over several axes."""
    x1, x2 = promoted(x1, x2)
    return rushlight.tensordot(x1, x2, dims=axes)


def trace(x, /, *, offset=0, dtype=None):
    """Sums of the diagonals of matrices."""
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vecdot(x1, x2, /, *, axis=-1):
    """Sums of products along `axis`, the first argument conjugated."""
    if axis >= 0 or axis < -min(x1.ndim, x2.ndim):
        raise ValueError(f"vecdot: axis must lie in [-{min(x1.ndim, x2.ndim)}, -1], got {axis}")
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(
            f"vecdot: expected as many elements along axis {axis}, got {x1.shape[axis]} and "
            f"{x2.shape[axis]}"
        )
    dtype = result_type(x1, x2)
    x1, x2 = promoted(x1, x2)
    return rushlight.sum(rushlight.conj(x1) * x2, axis, dtype=dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """Norms of vectors along one or several axes, which count as one."""
    if isinstance(axis, tuple) and not axis:  # each element is a vector of its own
        return (x != 0).to(x.dtype) if ord == 0 else rushlight.abs(x)
    return _linalg.vector_norm(x, ord, axis, keepdims)

"""Decompositions of large matrices that only a few vectors describe."""

from __future__ import annotations

from rushlight.autograd.mode import mode
from rushlight.errors import shape_text
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.domains import symmetrized
from rushlight.ops._table.op import composite, op
from rushlight.ops.linalg.eigenvalues import linalg_svd
from rushlight.ops.linalg.factorization import linalg_qr
from rushlight.ops.linalg.matrix_checks import check_dtype, check_matrix, check_square
from rushlight.ops.random.sampling import randn
from rushlight.ops.shape.complex_views import view_as_complex
from rushlight.tensor.tensor import Tensor


# ------------------------------------------------------------------------ randomized SVD and PCA
def _random_matrix(rows, columns, like):
    if not like.is_complex():
        return randn(rows, columns, dtype=like._dtype, device=like._device)
    parts = randn(rows, columns, 2, dtype=like._dtype.to_real(), device=like._device)
    return view_as_complex(parts * 0.5**0.5)


def _basis(matrix, q, niter):
    """Orthonormal columns near the range of a matrix (Halko, Martinsson, Tropp 2011, 4.4)."""
    columns = linalg_qr(matrix @ _random_matrix(matrix.shape[-1], q, matrix))[0]
    for _ in range(niter):
        columns = linalg_qr(matrix.mH @ columns)[0]
        columns = linalg_qr(matrix @ columns)[0]
    return columns


def _product(function):
    """What is unique of a decomposition, for tests: the matrix, and its singular values."""

    def call(*args, **kwargs):
        u, s, v = function(*args, **kwargs)
        return (u * s.unsqueeze(-2)) @ v.mH, s

    return call


@composite(
    in_aten=False,
    method=False,
    samples=lambda make: [(make(5, 3), 3), (make(3, 4), 3, 1)],
    compared=_product,
    autocast="float32",
)
def svd_lowrank(A: Tensor, q=6, niter=2, M: Tensor | None = None):
    """``(U, S, V)`` with ``A - M`` close to ``U @ diag(S) @ V.mH``: `q` singular values by random
    projection and `niter` subspace iterations. Draws from the default generator."""
    check_matrix("svd_lowrank", A)
    q = 6 if q is None else q
    matrix = A if M is None else A - M
    wide = matrix.shape[-2] < matrix.shape[-1]
    matrix = matrix.mH if wide else matrix
    columns = _basis(matrix, q, niter)
    u, s, vh = linalg_svd(columns.mH @ matrix, False)
    u, v = columns @ u, vh.mH
    return (v, s, u) if wide else (u, s, v)


@composite(
    in_aten=False,
    method=False,
    samples=lambda make: [(make(5, 3),), (make(4, 3), 2, False)],
    compared=_product,
    autocast="float32",
)
def pca_lowrank(A: Tensor, q=None, center=True, niter=2):
    """``(U, S, V)`` of the (centred) data in A's rows: V's columns are `q` (default: up to 6)
    principal directions, ``S ** 2 / (m - 1)`` their variances."""
    check_matrix("pca_lowrank", A)
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)


# ---------------------------------------------------------------------------------------- LOBPCG
def _orthonormal(vectors, metric):
    """Columns of the same span, orthonormal in a metric; dependent ones are dropped."""
    for _ in range(2):
        gram = vectors.T @ (vectors if metric is None else metric @ vectors)
        values, turn = np.linalg.eigh((gram + gram.T) / 2)
        kept = values > values[-1] * np.finfo(vectors.dtype).eps * len(values)
        vectors = vectors @ (turn[:, kept] / np.sqrt(values[kept]))
    return vectors


def _lobpcg_arrays(A, B, X, iK, k, niter, tol, largest):
    """Knyazev's iteration (2001): Rayleigh-Ritz on the span of X, residuals and directions."""
    X, P = _orthonormal(X, B), X[:, :0]
    norm = np.linalg.norm(A) + (0.0 if B is None else np.linalg.norm(B))
    size = X.shape[1]
    values = None
    for step in range(niter + 1):
        basis = _orthonormal(X, B) if values is None else X
        product = basis.T @ (A @ basis)
        values, turn = np.linalg.eigh((product + product.T) / 2)
        order = np.argsort(-values if largest else values, kind="stable")
        values, X = values[order], basis @ turn[:, order]
        rest = A @ X - (X if B is None else B @ X) * values
        weak = np.linalg.norm(rest, axis=0)[:k] <= tol * norm * np.linalg.norm(X, axis=0)[:k]
        if weak.all() or step == niter:
            break
        towards = rest if iK is None else iK @ rest
        span = _orthonormal(np.concatenate([X, towards, P], 1), B)
        product = span.T @ (A @ span)
        ritz, turn = np.linalg.eigh((product + product.T) / 2)
        order = np.argsort(-ritz if largest else ritz, kind="stable")[:size]
        fresh = span @ turn[:, order]
        P = fresh - X @ (X.T @ (fresh if B is None else B @ fresh))
        P = P[:, np.linalg.norm(P, axis=0) > np.finfo(P.dtype).eps * norm]
        X = fresh
    return values[:k], X[:, :k]


@op(
    outputs=2,
    method=False,
    samples=lambda make: [],
    tested_by="tests/ops/linalg/test_low_rank.py",
    meta=lambda A, B, X, iK, k, niter, tol, largest: [
        ((*A.shape[:-2], k), dtype_of(A)),
        ((*A.shape[:-1], k), dtype_of(A)),
    ],
)
def _lobpcg(A: Tensor, B: Tensor | None, X: Tensor, iK: Tensor | None, k, niter, tol, largest):
    """The `k` largest or smallest eigenvalues of symmetric matrices, and their vectors."""

    def flat(array):
        return None if array is None else array.reshape(-1, *array.shape[-2:])

    batch, matrices = A.shape[:-2], flat(A)
    found = []
    for i, matrix in enumerate(matrices):
        rest = [None if a is None else flat(a)[i % len(flat(a))] for a in (B, X, iK)]
        found.append(_lobpcg_arrays(matrix, *rest, k, niter, tol, largest))
    values = np.stack([v for v, _ in found]) if found else np.zeros((0, k), A.dtype)
    vectors = np.stack([x for _, x in found]) if found else np.zeros((0, A.shape[-1], k), A.dtype)
    return [values.reshape(*batch, k), vectors.reshape(*batch, A.shape[-1], k)]


@_lobpcg.gradients("A", "B")
def _lobpcg_gradient(grad, out0, out1, needs):
    """Of the eigenvalues: ``x x^T`` for A, ``-value x x^T`` for B."""
    grad_values, grad_vectors = grad
    if grad_vectors is not None or mode.recording:
        raise NotImplementedError(
            "lobpcg: only eigenvalues have a derivative, of first order; use rushlight.linalg.eigh "
            "to differentiate eigenvectors"
        )
    scaled = out1 * grad_values.unsqueeze(-2)
    first = scaled @ out1.mT if needs[0] else None
    second = -(scaled * out0.unsqueeze(-2)) @ out1.mT if needs[1] else None
    return first, second


def _values_alone(function):
    """The eigenvalues of ``A + A.mH``, for tests."""

    def call(*args, **kwargs):
        return symmetrized(function)(*args, **kwargs)[0]

    return call


@composite(
    in_aten=False,
    method=False,
    samples=lambda make: [(make.definite(6, 6), 1)],
    compared=_values_alone,
    differentiable="once",
    sweep=(0, 1, "float32", "float64"),
    rtol=1e-5,
)
def lobpcg(
    A: Tensor,
    k=None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n=None,
    iK: Tensor | None = None,
    niter=None,
    tol=None,
    largest=None,
    method=None,
    tracker=None,
    ortho_iparams=None,
    ortho_fparams=None,
    ortho_bparams=None,
):
    """``(eigenvalues, eigenvectors)`` of ``A x = value B x`` for symmetric A ``(*, m, m)`` and
    positive-definite B: the `k` (default 1) largest, or smallest if not `largest`, by the locally
    optimal block preconditioned conjugate gradient method with `n` vectors (`X` starts, `iK`
    preconditions). `method` ``"ortho"`` and ``"basic"`` run the same, stable iteration."""
    check_square("lobpcg", A)
    check_dtype("lobpcg", A)
    if A.is_complex():
        raise NotImplementedError("lobpcg: complex matrices are not covered; use linalg.eigh")
    if tracker is not None or method not in (None, "ortho", "basic"):
        raise NotImplementedError(f"lobpcg: method={method!r} with tracker={tracker!r}")
    m = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if X is None else X.shape[-1]) if n is None else n
    if not 1 <= k <= n <= m or m < 3 * n:
        raise ValueError(
            f"LPBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than "
            f"3 x the number of requested eigenpairs (={n}); k={k}, A has shape "
            f"{shape_text(A.shape)}"
        )
    if X is None:
        X = randn(*A.shape[:-2], m, n, dtype=A._dtype, device="cpu").to(A._device)
    eps = float(np.finfo(A._array.dtype).eps)
    tol = eps**0.5 if tol is None else tol
    largest = True if largest is None else largest
    steps = 1000 if niter is None or niter < 0 else niter
    found = _lobpcg(A, B, X.detach(), None if iK is None else iK.detach(), k, steps, tol, largest)
    return tuple(found)

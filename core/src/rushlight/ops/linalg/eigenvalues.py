"""Singular values, eigenvalues and their vectors."""

from __future__ import annotations

import math

from rushlight.autograd.mode import mode
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.kernels.linalg import spectra
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.domains import symmetrized
from rushlight.ops._table.op import composite, op
from rushlight.ops.linalg.matrix_checks import (
    LinAlgError,
    check_dtype,
    check_input,
    check_matrix,
    eye_like,
    square,
)
from rushlight.ops.linalg.solver import linalg_solve_ex
from rushlight.ops.shape.complex_views import real
from rushlight.tensor.dispatch import stack
from rushlight.tensor.memory_format import by_columns
from rushlight.tensor.results import named
from rushlight.tensor.tensor import Tensor

SVD = named("linalg_svd", "U S Vh")
TorchSVD = named("svd", "U S V")
Eigen = named("linalg_eig", "eigenvalues eigenvectors")
HermitianEigen = named("linalg_eigh", "eigenvalues eigenvectors")
_TESTED = "tests/ops/linalg/test_eigenvalues.py"


def _decompose(name, function, array, **options):
    """NumPy's batched decomposition; a failure becomes a LinAlgError that names the matrix."""
    try:
        with np.errstate(all="ignore"):
            return function(array, **options)
    except np.linalg.LinAlgError:
        pass
    flat = array.reshape(-1, *array.shape[-2:])
    for i, matrix in enumerate(flat):
        try:
            function(matrix, **options)
        except np.linalg.LinAlgError:
            where_ = f"(Batch element {i}): " if array.ndim > 2 else ""
            finite = bool(np.isfinite(matrix).all())
            why = "it is ill-conditioned" if finite else "it contains non-finite values"
            raise LinAlgError(
                f"{name}: {where_}the algorithm failed to converge on the input matrix: {why}"
            ) from None
    raise LinAlgError(f"{name}: the algorithm failed to converge")


def _refuse_nonfinite(name, array):
    if not REFERENCE and math.isfinite(np.vdot(array, array).real):
        return  # which may be infinite for large numbers too
    if not np.isfinite(array).all():
        raise LinAlgError(
            f"{name}: the algorithm failed to converge because the input matrix contained "
            "non-finite values"
        )


# ------------------------------------------------------------------------------- singular values
def _svd_shapes(shape, full):
    *batch, m, n = shape
    k = min(m, n)
    return (*batch, m, m if full else k), (*batch, k), (*batch, n if full else k, n)


def _svd_meta(A, full_matrices=False, compute_uv=True, driver=None):
    u, s, vh = _svd_shapes(A.shape, full_matrices)
    dtype = dtype_of(A)
    if not compute_uv:
        u = vh = (0,)
    return [(u, dtype), (s, dtype.to_real()), (vh, dtype)]


@op(
    batching="trailing",
    result=SVD,
    outputs=3,
    method=False,
    samples=lambda make: [],
    tested_by=_TESTED,
    meta=_svd_meta,
    columns=(0, 2),
    node="LinalgSvd",
    barred="unsigned complex",
    saves="S:result1 S_sym_argsize_minus_1: U:result0 Vh:result2 full_matrices",
    saves_as={"S_sym_argsize_minus_1": lambda read: min(read("A_sym_sizes")[-2:])},
)
def _linalg_svd(A: Tensor, full_matrices=False, compute_uv=True, driver=None):
    """``(U, S, Vh)``; without `compute_uv` the vectors are empty."""
    check_matrix("linalg.svd", A)
    check_dtype("linalg.svd", A)
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
            "cuSOLVER backend."
        )
    _refuse_nonfinite("linalg.svd", A)
    if A.size and not REFERENCE:
        found = spectra.svd(A, full_matrices, compute_uv)
        if found is not None:
            return [np.empty((0,), A.dtype) if part is None else part for part in found]
    shapes = _svd_shapes(A.shape, full_matrices)
    values = np.zeros(shapes[1], np.abs(np.zeros((), A.dtype)).dtype)
    if not compute_uv:
        nothing = np.empty((0,), A.dtype)
        if A.size:
            values = _decompose("linalg.svd", np.linalg.svd, A, compute_uv=False)
        return [nothing, values, nothing.copy()]
    if not A.size:
        u, vh = np.zeros(shapes[0], A.dtype), np.zeros(shapes[2], A.dtype)
        u[...] = np.eye(*u.shape[-2:], dtype=A.dtype)
        vh[...] = np.eye(*vh.shape[-2:], dtype=A.dtype)
    else:
        u, values, vh = _decompose("linalg.svd", np.linalg.svd, A, full_matrices=full_matrices)
    return [by_columns(u), values, by_columns(vh)]


def _skew(matrix):
    return matrix - matrix.mH


def _svd_gradient(grad, out0, out1, out2, compute_uv, A_shape):
    """Townsend, "Differentiating the singular value decomposition" (2016), for complex matrices
    too; vectors beyond the first min(m, n) take no part."""
    if not compute_uv:
        raise RuntimeError("svd: compute_uv=False gives values that cannot be differentiated")
    grad_u, grad_s, grad_vh = grad
    m, n = A_shape[-2:]
    k = min(m, n)
    u, s, vh = out0[..., :k], out1, out2[..., :k, :]
    diagonal = None if grad_s is None else grad_s.to(u._dtype).diag_embed()
    if grad_u is None and grad_vh is None:
        return (u * grad_s.unsqueeze(-2)) @ vh
    turned_u = None if grad_u is None else u.mH @ grad_u[..., :k]
    turned_v = None if grad_vh is None else vh @ grad_vh[..., :k, :].mH
    if u.is_complex():
        _check_phase(turned_u, turned_v)
    inner = _between(turned_u, turned_v, s)
    inner = inner if diagonal is None else inner + diagonal
    if u.is_complex() and turned_u is not None:
        phase = _skew(turned_u).diagonal(0, -2, -1) / (2 * s)
        inner = inner + phase.diag_embed()
    total = u @ inner @ vh
    if m > k and grad_u is not None:
        beyond = grad_u[..., :k] / s.unsqueeze(-2)
        total = total + (beyond - u @ (u.mH @ beyond)) @ vh
    if n > k and grad_vh is not None:
        beyond = grad_vh[..., :k, :] / s.unsqueeze(-1)
        total = total + u @ (beyond - (beyond @ vh.mH) @ vh)
    return total


def _between(turned_u, turned_v, s):
    """The rotations of the vectors, off the diagonal."""
    square = s * s
    gaps = square.unsqueeze(-2) - square.unsqueeze(-1)
    gaps = gaps + eye_like(gaps, gaps.shape[-1])
    total = None
    if turned_u is not None:
        total = _skew(turned_u) * s.unsqueeze(-2)
    if turned_v is not None:
        piece = s.unsqueeze(-1) * _skew(turned_v)
        total = piece if total is None else total + piece
    outside = 1 - eye_like(gaps, gaps.shape[-1])
    return total / gaps * outside


def _check_phase(turned_u, turned_v):
    """A loss that depends on the phases of complex vectors has no gradient."""
    if stack.levels:  # transposing a backward pass asks for gradients of no loss
        return
    pieces = [t.detach()._array for t in (turned_u, turned_v) if t is not None]
    total = sum(np.diagonal(p, 0, -2, -1).imag for p in pieces)
    limit = 1e-2 * max([float(np.abs(p).max()) if p.size else 0.0 for p in pieces] + [1.0])
    if np.size(total) and float(np.abs(total).max()) > limit:
        raise RuntimeError(
            "svd_backward: The singular vectors in the complex case are specified up to "
            "multiplication by e^{i phi}. The specified loss function depends on this quantity, so "
            "it is ill-defined."
        )


_linalg_svd.gradient(A=_svd_gradient)


def _sizes_of(vectors):
    """What the phase of vectors, which is free, does not change."""
    return (vectors * vectors.conj()).real


def _svd_parts(function):
    """What is unique of a decomposition, for tests."""

    def call(*args, **kwargs):
        left, values, right = function(*args, **kwargs)
        return _sizes_of(left), values, _sizes_of(right)

    return call


@composite(
    schemas=(
        "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor, "
        "Tensor, Tensor)",
    ),
    method=False,
    oracle="_C._linalg",
    samples=lambda make: [(make(0, 3),), (make(2, 3, 2), False), (make(3, 4), False)],
    compared=_svd_parts,
    autocast="float32",
)
def linalg_svd(A: Tensor, full_matrices=True, *, driver=None):
    """``(U, S, Vh)`` with ``A = U @ diag(S) @ Vh``, S descending; A ``(*, m, n)``. U and Vh are
    square with `full_matrices`, else they have min(m, n) columns and rows."""
    return _linalg_svd(A, bool(full_matrices), True, driver)


def _is_recorded(tensor):
    return mode.recording and tensor.requires_grad


@composite(method=False, oracle="_C._linalg", samples="matrix", autocast="float32")
def linalg_svdvals(A: Tensor, *, driver=None):
    """The singular values of ``(*, m, n)`` matrices, descending; stable to differentiate."""
    return _linalg_svd(A, False, _is_recorded(A), driver)[1]


@composite(
    schemas=("svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor, Tensor, Tensor)",),
    samples=lambda make: [(make(3, 4),), (make(2, 3, 2),)],
    compared=_svd_parts,
    autocast="float32",
    aten="default U",
)
def svd(input: Tensor, some=True, compute_uv=True):
    """``(U, S, V)``, reduced if `some`; without `compute_uv` U and V are zeros. New programs use
    :func:`rushlight.linalg.svd`, whose last result is V's adjoint."""
    check_matrix("svd", input, "input")
    if not compute_uv:
        values = linalg_svdvals(input)
        *batch, m, n = input.shape
        return TorchSVD(input.new_zeros((*batch, m, m)), values, input.new_zeros((*batch, n, n)))
    u, s, vh = linalg_svd(input, not some)
    return TorchSVD(u, s, vh.mH)


# ----------------------------------------------------------------------------- Hermitian matrices
def _check_triangle(name, UPLO):
    if str(UPLO).upper() not in ("L", "U"):
        raise RuntimeError(f"{name}: Expected UPLO argument to be 'L' or 'U', but got {UPLO}")


@op(
    batching="trailing",
    result=HermitianEigen,
    outputs=2,
    method=False,
    samples=lambda make: [],
    tested_by=_TESTED,
    node="LinalgEigh",
    meta=square(
        "linalg.eigh",
        lambda A, UPLO="L", compute_v=True: [
            (A.shape[:-1], dtype_of(A).to_real()),
            (A.shape if compute_v else (0,), dtype_of(A)),
        ],
    ),
    columns=(1,),
    barred="complex",
    saves="eigenvalues:result0 eigenvectors:result1",
)
def _linalg_eigh(A: Tensor, UPLO="L", compute_v=True):
    """Eigenvalues (ascending) and eigenvectors of Hermitian matrices."""
    check_input("linalg.eigh", A)
    _check_triangle("linalg.eigh", UPLO)
    _refuse_nonfinite("linalg.eigh", A)
    if A.size and not REFERENCE:
        found = spectra.eigh(A, UPLO.upper() == "U", compute_v)
        if found is not None:
            return [found[0], found[1] if compute_v else np.empty((0,), A.dtype)]
    values = np.zeros(A.shape[:-1], np.abs(np.zeros((), A.dtype)).dtype)
    if not compute_v:
        if A.size:
            values = _decompose("linalg.eigh", np.linalg.eigvalsh, A, UPLO=UPLO)
        return [values, np.empty((0,), A.dtype)]
    if not A.size:
        return [values, np.zeros(A.shape, A.dtype)]
    values, vectors = _decompose("linalg.eigh", np.linalg.eigh, A, UPLO=UPLO)
    return [values, by_columns(vectors)]


def _eigh_gradient(grad, out0, out1):
    """Giles, "An extended collection of matrix derivative results" (2008)."""
    grad_values, grad_vectors = grad
    vectors = out1
    if grad_vectors is None:
        return (vectors * grad_values.unsqueeze(-2)) @ vectors.mH
    turned = vectors.mH @ grad_vectors
    if vectors.is_complex():
        _check_phase(turned, None)
    identity = eye_like(out0, out0.shape[-1])
    gaps = out0.unsqueeze(-2) - out0.unsqueeze(-1) + identity
    inner = turned / gaps * (1 - identity)
    if grad_values is not None:
        inner = inner + grad_values.to(vectors._dtype).diag_embed()
    whole = vectors @ inner @ vectors.mH
    return 0.5 * (whole + whole.mH)


_linalg_eigh.gradient(A=_eigh_gradient)


def _eigh_parts(function):
    """What is unique of a symmetric matrix's decomposition, for tests."""

    def call(*args, **kwargs):
        values, vectors = symmetrized(function)(*args, **kwargs)
        return values, _sizes_of(vectors)

    return call


@composite(
    schemas=("linalg_eigh(Tensor self, str UPLO='L') -> (Tensor, Tensor)",),
    method=False,
    oracle="_C._linalg",
    samples="square",
    compared=_eigh_parts,
    sweep=(2, 3),
    autocast="float32",
)
def linalg_eigh(input: Tensor, UPLO="L"):
    """``(eigenvalues, eigenvectors)`` of Hermitian matrices ``(*, n, n)``, values ascending; only
    the lower triangle is read, or the upper with ``UPLO="U"``."""
    return _linalg_eigh(input, UPLO, True)


@composite(
    method=False,
    oracle="_C._linalg",
    samples="square",
    compared=symmetrized,
    sweep=(2, 3),
    autocast="float32",
)
def linalg_eigvalsh(input: Tensor, UPLO="L"):
    """The eigenvalues of Hermitian matrices, ascending."""
    return _linalg_eigh(input, UPLO, _is_recorded(input))[0]


# ------------------------------------------------------------------------------- general matrices
def _eig_parts(function):
    """What the order of eigenvalues and the scale of vectors do not change, for tests."""

    def call(*args, **kwargs):
        values, vectors = function(*args, **kwargs)
        product = (vectors * values.unsqueeze(-2)) @ vectors.inverse()
        return values.sum(-1), (values * values).sum(-1), product

    return call


@op(
    batching="trailing",
    result=Eigen,
    outputs=2,
    method=False,
    samples="invertible",
    compared=_eig_parts,
    sweep=(2, 3),
    oracle="_C._linalg",
    meta=square(
        "linalg.eig",
        lambda A: [(A.shape[:-1], dtype_of(A).to_complex()), (A.shape, dtype_of(A).to_complex())],
    ),
    columns=(1,),
    autocast="float32",
)
def linalg_eig(input: Tensor):
    """``(eigenvalues, eigenvectors)`` of square matrices ``(*, n, n)``, complex, in no order."""
    check_input("linalg.eig", input)
    kind = np.result_type(input.dtype, np.complex64)
    if not input.size:
        return [np.zeros(input.shape[:-1], kind), np.zeros(input.shape, kind)]
    _need_finite(input)
    values, vectors = _decompose("linalg.eig", np.linalg.eig, input)
    return [values.astype(kind, copy=False), by_columns(vectors.astype(kind, copy=False))]


def _need_finite(A):
    if not np.isfinite(A).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")


def _eig_gradient(grad, out0, out1):
    """Boeddeker et al., "On the computation of complex-valued gradients" (2017), with vectors of
    length one."""
    grad_values, grad_vectors = grad
    adjoint = out1.mH
    if grad_vectors is None:
        return linalg_solve_ex(adjoint, grad_values.unsqueeze(-1) * adjoint)[0]
    turned = adjoint @ grad_vectors
    _check_phase(turned, None)
    lengths = real(turned.diagonal(0, -2, -1)).unsqueeze(-2)
    turned = turned - adjoint @ (out1 * lengths)
    identity = eye_like(out0, out0.shape[-1])
    gaps = (out0.unsqueeze(-2) - out0.unsqueeze(-1)).conj() + identity
    inner = turned / gaps * (1 - identity)
    if grad_values is not None:
        inner = inner + grad_values.diag_embed()
    return linalg_solve_ex(adjoint, inner @ adjoint)[0]


linalg_eig.gradient(input=_eig_gradient)


@op(
    batching="trailing",
    method=False,
    samples=lambda make: [],
    tested_by=_TESTED,
    differentiable=False,
    meta=square("linalg.eigvals", lambda A: (A.shape[:-1], dtype_of(A).to_complex())),
)
def _linalg_eigvals(A: Tensor):
    """The eigenvalues of square matrices, complex."""
    check_input("linalg.eigvals", A)
    kind = np.result_type(A.dtype, np.complex64)
    if not A.size:
        return np.zeros(A.shape[:-1], kind)
    _need_finite(A)
    return _decompose("linalg.eigvals", np.linalg.eigvals, A).astype(kind, copy=False)


def _power_sums(function):
    """What the order of eigenvalues does not change, for tests."""

    def call(*args, **kwargs):
        values = function(*args, **kwargs)
        return values.sum(-1), (values * values).sum(-1)

    return call


@composite(
    method=False,
    oracle="_C._linalg",
    samples="invertible",
    compared=_power_sums,
    autocast="float32",
)
def linalg_eigvals(input: Tensor):
    """The eigenvalues of square matrices ``(*, n, n)``, complex, in no order."""
    if _is_recorded(input):
        return linalg_eig(input)[0]
    return _linalg_eigvals(input)

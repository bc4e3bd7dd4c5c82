"""Cholesky, LU, LDL and QR factorizations of (batches of) matrices."""

from __future__ import annotations

from rushlight.dtypes import complex64, complex128, float32, float64, int32
from rushlight.kernels.linalg import lapack
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE, dtype_of
from rushlight.ops._table.domains import symmetrized
from rushlight.ops._table.op import composite, op, results_of
from rushlight.ops._table.shape_rules import checked
from rushlight.ops.linalg.matrix_checks import (
    check_cholesky_solve,
    check_dtype,
    check_input,
    check_lu,
    check_matrix,
    eye_like,
    raise_failures,
    square,
)
from rushlight.ops.linalg.triangular_systems import linalg_solve_triangular
from rushlight.tensor.memory_format import by_columns
from rushlight.tensor.results import named
from rushlight.tensor.tensor import Tensor

_INT32 = np.dtype(np.int32)
CholeskyEx = named("linalg_cholesky_ex", "L info")
Factors = named("linalg_lu_factor", "LU pivots")
FactorsEx = named("linalg_lu_factor_ex", "LU pivots info")
PLU = named("linalg_lu", "P L U")
Unpacked = named("lu_unpack", "P L U")
LDL = named("linalg_ldl_factor", "LD pivots")
LDLEx = named("linalg_ldl_factor_ex", "LD pivots info")
QR = named("linalg_qr", "Q R")
Reflectors = named("geqrf", "a tau")
NOT_DEFINITE = (
    "the input is not positive-definite, so it has no Cholesky factor (the leading minor of order "
    "{} is not positive-definite)"
)


# ------------------------------------------------------------------------------------- Cholesky
@op(
    schemas=(
        "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> "
        "(Tensor, Tensor)",
    ),
    batching="trailing",
    result=CholeskyEx,
    method=False,
    oracle="_C._linalg",
    samples="definite",
    compared=symmetrized,
    differentiable=True,
    tested_by="tests/ops/linalg/test_factorization.py",
    sweep=(2, 3),
    meta=square(
        "linalg.cholesky", lambda A, *_, **__: [(A.shape, dtype_of(A)), (A.shape[:-2], int32)]
    ),
    columns=(0,),
    autocast="float32",
    saves="L:result upper",
)
def linalg_cholesky_ex(input: Tensor, *, upper=False, check_errors=False):
    """``(L, info)`` with ``A = L @ L.mH`` (``U.mH @ U`` if `upper`); `info` is 0 or, where A is not
    positive-definite, the order of the leading minor that is not."""
    check_input("linalg.cholesky", input)
    factor, info = lapack.cholesky(input, upper)
    if check_errors:
        raise_failures("linalg.cholesky_ex", info, NOT_DEFINITE)
    return [by_columns(factor), info]


def _cholesky_gradient(grad, out, upper):
    """Murray, "Differentiation of the Cholesky decomposition" (2016), for complex matrices too."""
    factor = out.mH if upper else out
    grad = grad.mH if upper else grad
    inner = (factor.mH @ grad).tril()
    inner = inner + inner.tril(-1).mH
    left = linalg_solve_triangular(factor.mH, 0.5 * inner, upper=True)
    return linalg_solve_triangular(factor, left, upper=False, left=False)


linalg_cholesky_ex.gradient(input=_cholesky_gradient)


@composite(
    method=False,
    oracle="_C._linalg",
    samples="definite",
    compared=symmetrized,
    sweep=(2, 3),
    autocast="float32",
)
def linalg_cholesky(input: Tensor, *, upper=False):
    """The Cholesky factor of Hermitian positive-definite matrices ``(*, n, n)``: lower, or upper.

    Raises :class:`rushlight.linalg.LinAlgError` where a matrix is not positive-definite.
    """
    return _checked_cholesky("linalg.cholesky", input, upper)


def _checked_cholesky(name, input, upper):
    factor, info = linalg_cholesky_ex(input, upper=upper)
    if input._device.type != "meta":
        raise_failures(name, info, NOT_DEFINITE)
    return factor


@composite(samples="definite", compared=symmetrized, sweep=(2, 3), autocast="float32")
def cholesky(input: Tensor, upper=False):
    """The Cholesky factor; see :func:`rushlight.linalg.cholesky`."""
    return _checked_cholesky("cholesky", input, upper)


@op(
    batching="trailing of several",
    samples=lambda make: [
        ((make(3, 2), make.definite(3, 3).detach()), {}),
        ((make(2, 3, 2), make.definite(3, 3).detach()), {"upper": True}),
        ((make(0, 3, 2), make(0, 3, 3).detach()), {}),
    ],
    sweep=(2, 3),
    meta=lambda B, L, upper=False: (check_cholesky_solve(B, L)[0].shape, dtype_of(B)),
    columns=(0,),
    autocast="float32",
)
def cholesky_solve(input: Tensor, input2: Tensor, upper=False):
    """X of ``A @ X = B`` with ``A = L @ L.mH`` (``L.mH @ L`` if `upper`)."""
    input, input2 = check_cholesky_solve(input, input2)
    return by_columns(lapack.cholesky_solve(input2, input, upper))


@cholesky_solve.gradients("input", "input2")
def _cholesky_solve_gradient(grad, input2, out, upper, needs):
    """The factor's other triangle takes part in the gradient, as in PyTorch."""
    turned, grad_factor = cholesky_solve(grad, input2, upper), None
    if needs[1]:
        inner = turned @ out.mH
        inner = inner + inner.mH
        grad_factor = -(input2 @ inner) if upper else -(inner @ input2)
    return turned, grad_factor


def _of_triangle(function):
    """The function of one triangle, which is what it reads, for tests."""

    def call(input, upper=False):
        return function(input.triu() if upper else input.tril(), upper)

    return call


@composite(
    compared=_of_triangle,
    samples=lambda make: [(make.invertible(3, 3),), (make.invertible(2, 2, 2), True)],
    autocast="float32",
)
def cholesky_inverse(input: Tensor, upper=False):
    """The inverse of ``L @ L.mH`` (of ``L.mH @ L`` if `upper`)."""
    check_input("cholesky_inverse", input, "L")
    return cholesky_solve(eye_like(input, input.shape[-1]).expand(tuple(input.shape)), input, upper)


# ------------------------------------------------------------------------------------------- LU
def _matrices(make):
    return [
        ((make(4, 4),), {}),
        ((make(2, 3, 3),), {}),
        ((make(5, 3),), {}),
        ((make(2, 3, 5),), {}),
        ((make(0, 3, 3),), {}),
        ((make(2, 0, 3),), {}),
    ]


def _lu_meta(A, pivot=True, check_errors=False):
    check_lu(A, pivot)
    shape = (*A.shape[:-2], min(A.shape[-2:]))
    return [(A.shape, dtype_of(A)), (shape, int32), (A.shape[:-2], int32)]


@op(
    schemas=(
        "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> "
        "(Tensor, Tensor, Tensor)",
    ),
    batching="trailing",
    result=FactorsEx,
    method=False,
    oracle="_C._linalg",
    samples=_matrices,
    meta=_lu_meta,
    columns=(0,),
    sweep=(2, 3),
    saves="LU:result0 pivot pivots:result1",
)
def linalg_lu_factor_ex(A: Tensor, *, pivot=True, check_errors=False):
    """``(LU, pivots, info)``: L below the diagonal (ones on it left out), U above; row i was
    exchanged with row ``pivots[i]`` (from 1); `info` names a zero on U's diagonal."""
    check_lu(A, pivot)
    factors, pivots, info = lapack.lu(A)
    if check_errors:
        raise_failures("linalg.lu_factor_ex", info, ZERO_IN_U)
    return [factors, pivots, info]


ZERO_IN_U = (
    "U[{0},{0}] is zero, so solving with these factors divides by zero; linalg.lu and "
    "linalg.lu_factor_ex factor such a matrix without this error"
)


def _lu_gradient(grad, out, out1):
    """Of ``A = P L U``; tall and wide matrices reduce to their leading square block."""
    factors, (m, n) = out, tuple(out.shape[-2:])
    k = min(m, n)
    lower = factors.tril(-1)[..., :k] + _unit(factors, m, k)
    upper = factors.triu()[..., :k, :]
    grad_lower, grad_upper = grad.tril(-1)[..., :k], grad.triu()[..., :k, :]
    turned = _lu_parts_turned(grad_lower, grad_upper, lower, upper, m, n)
    return permutation(out1, m, turned) @ turned


def _lu_parts_turned(grad_lower, grad_upper, lower, upper, m, n):
    """The gradient of ``P.mH @ A`` from those of the triangles."""
    if m == n:
        return _square_lu_gradient(grad_lower, grad_upper, lower, upper)
    if m < n:
        return _wide_lu_gradient(grad_lower, grad_upper, lower, upper)
    return _tall_lu_gradient(grad_lower, grad_upper, lower, upper)


def _unit(tensor, rows, columns):
    from rushlight.ops.creation.tensors import eye

    return eye(rows, columns, dtype=tensor._dtype, device=tensor._device)


def _square_lu_gradient(grad_lower, grad_upper, lower, upper):
    inner = (lower.mH @ grad_lower).tril(-1) + (grad_upper @ upper.mH).triu()
    left = linalg_solve_triangular(lower.mH, inner, upper=True, unitriangular=True)
    return linalg_solve_triangular(upper.mH, left, upper=False, left=False)


def _wide_lu_gradient(grad_lower, grad_upper, lower, upper):
    from rushlight.ops.shape.joining import cat

    k = lower.shape[-1]
    rest = linalg_solve_triangular(lower.mH, grad_upper[..., k:], upper=True, unitriangular=True)
    grad_lower = (grad_lower - rest @ upper[..., k:].mH).tril(-1)
    first = _square_lu_gradient(grad_lower, grad_upper[..., :k], lower, upper[..., :k])
    return cat((first, rest), -1)


def _tall_lu_gradient(grad_lower, grad_upper, lower, upper):
    from rushlight.ops.shape.joining import cat

    k = upper.shape[-1]
    rest = linalg_solve_triangular(upper.mH, grad_lower[..., k:, :], upper=False, left=False)
    grad_upper = (grad_upper - lower[..., k:, :].mH @ rest).triu()
    first = _square_lu_gradient(grad_lower[..., :k, :], grad_upper, lower[..., :k, :], upper)
    return cat((first, rest), -2)


linalg_lu_factor_ex.gradient(A=_lu_gradient)


@op(
    batching="trailing",
    method=False,
    differentiable=False,
    tested_by="linalg_lu",
    samples=lambda make: [],
)
def _permutation(pivots: Tensor, size, code):
    """P of ``A = P @ L @ U``, matrices of numbers of the dtype of that code, from the exchanges."""
    return lapack.permutations(pivots, size, BY_CODE[code])


def _permutation_meta(pivots, size, code):
    if pivots.size and size:
        lapack.check_pivots(pivots.shape[-1], size)
    return (*pivots.shape[:-1], size, size), dtype_of(np.zeros((), BY_CODE[code]))


_permutation.op.options["meta"] = _permutation_meta


_LAPACK = (float32, float64, complex64, complex128)


def permutation(pivots, size, like):
    """P of ``A = P @ L @ U`` from the pivots, in the dtype of another tensor."""
    if like._dtype in _LAPACK:
        return _permutation(pivots, size, like._dtype.code)
    return _permutation(pivots, size, float32.code).to(like._dtype)


@composite(
    schemas=("linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor, Tensor)",),
    method=False,
    oracle="_C._linalg",
    samples=lambda make: [(make.invertible(3, 3),), (make.invertible(2, 2, 2),)],
)
def linalg_lu_factor(A: Tensor, *, pivot=True):
    """``(LU, pivots)``, the compact LU factorization; see :func:`lu_factor_ex`."""
    factors, pivots, info = linalg_lu_factor_ex(A, pivot=pivot)
    if A._device.type != "meta":
        raise_failures("linalg.lu_factor", info, ZERO_IN_U)
    return Factors(factors, pivots)


def _lu_parts_meta(A):
    *batch, m, n = A.shape
    k = min(m, n)
    return [((*batch, m, k), dtype_of(A)), ((*batch, k, n), dtype_of(A)), ((*batch, k), int32)]


@op(
    batching="trailing",
    outputs=3,
    method=False,
    tested_by="tests/ops/linalg/test_factorization.py",
    samples=lambda make: [],
    meta=_lu_parts_meta,
    columns=(0, 1),
    node="LinalgLu",
    saves="L:result0 U:result1 pivot:",
    saves_as={"pivot": True},
)
def _lu_parts(A: Tensor):
    """``(L, U, pivots)``: the triangles of an LU factorization apart."""
    check_matrix("linalg.lu", A)
    check_dtype("linalg.lu", A)
    return [*lapack.lu_parts(A)]


def _lu_parts_gradient(grad, A_shape, out0, out1, out2):
    grad_lower, grad_upper = grad[:2]
    if grad_lower is None:
        grad_lower = out0 * 0
    if grad_upper is None:
        grad_upper = out1 * 0
    turned = _lu_parts_turned(grad_lower.tril(-1), grad_upper.triu(), out0, out1, *A_shape[-2:])
    return permutation(out2, A_shape[-2], turned) @ turned


_lu_parts.gradient(A=_lu_parts_gradient)


@composite(
    schemas=("linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor, Tensor, Tensor)",),
    method=False,
    oracle="_C._linalg",
    samples=lambda make: [(make.invertible(3, 3),), (make(2, 3, 2),)],
)
def linalg_lu(A: Tensor, *, pivot=True):
    """``(P, L, U)`` with ``A = P @ L @ U``: a permutation, lower and upper triangles."""
    if not pivot:
        raise RuntimeError("linalg.lu: LU without pivoting is not implemented on the CPU")
    lower, upper, pivots = _lu_parts(A)
    return PLU(permutation(pivots, A.shape[-2], A), lower, upper)


@composite(
    schemas=(
        "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool "
        "unpack_pivots=True) -> (Tensor, Tensor, Tensor)",
    ),
    method=False,
    samples=lambda make: [(make(3, 3), make.pivots(3)), (make(3, 3), make.pivots(3), True, False)],
)
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data=True, unpack_pivots=True):
    """``(P, L, U)`` from the compact factors of :func:`rushlight.linalg.lu_factor`; what is not
    asked for comes back empty."""
    from rushlight.ops.creation.tensors import empty

    if unpack_pivots and LU_pivots._dtype is not int32:
        raise RuntimeError(
            f"lu_unpack: LU_pivots is expected to be of dtype int32, as linalg.lu_factor gives it; "
            f"got {LU_pivots._dtype}"
        )
    check_matrix("lu_unpack", LU_data, "LU_data")
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    absent = empty((0,), dtype=LU_data._dtype, device=LU_data._device)
    order = lower = upper = absent
    if unpack_pivots:
        order = permutation(LU_pivots, m, LU_data)
    if unpack_data:
        lower = LU_data[..., :k].tril(-1) + _unit(LU_data, m, k)
        upper = LU_data[..., :k, :].triu()
    return Unpacked(order, lower, upper)


@composite(
    in_aten=False,
    samples=lambda make: [(make.invertible(3, 3),), (make.invertible(2, 2, 2), True, True)],
)
def lu(A: Tensor, pivot=True, get_infos=False):
    """``(LU, pivots)``, or ``(LU, pivots, infos)`` with `get_infos`; see
    :func:`rushlight.linalg.lu_factor_ex`."""
    found = tuple(linalg_lu_factor_ex(A, pivot=pivot))
    return found if get_infos else found[:2]


# ------------------------------------------------------------------------------------------ LDL
def _symmetric(make):
    matrix = make(2, 4, 4)
    matrix = matrix + matrix.mT
    return [
        ((matrix,), {}),
        ((matrix,), {"hermitian": True}),
        ((matrix[0],), {}),
        ((make(0, 0),), {"hermitian": True}),
    ]


@op(
    schemas=(
        "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool "
        "check_errors=False) -> (Tensor, Tensor, Tensor)",
    ),
    batching="trailing",
    result=LDLEx,
    method=False,
    oracle="_C._linalg",
    samples=_symmetric,
    differentiable=False,
    sweep=(2, 3),
    meta=square(
        "torch.linalg.ldl_factor_ex",
        lambda A, *_, **__: [(A.shape, dtype_of(A)), (A.shape[:-1], int32), (A.shape[:-2], int32)],
    ),
    columns=(0,),
)
def linalg_ldl_factor_ex(input: Tensor, *, hermitian=False, check_errors=False):
    """``(LD, pivots, info)`` of symmetric (Hermitian if `hermitian`) matrices, possibly indefinite,
    by Bunch-Kaufman pivoting; `info` names a zero on D's diagonal."""
    check_input("torch.linalg.ldl_factor_ex", input)
    factors, pivots, info = lapack.ldl(input, hermitian)
    factors = by_columns(np.tril(factors))
    if check_errors:
        raise_failures("linalg.ldl_factor_ex", info, "D[{0},{0}] is zero: the matrix is singular")
    return [factors, pivots, info]


@composite(
    schemas=("linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor, Tensor)",),
    method=False,
    oracle="_C._linalg",
    samples="definite",
    compared=symmetrized,
    sweep=(2, 3),
    differentiable=False,
)
def linalg_ldl_factor(input: Tensor, *, hermitian=False):
    """``(LD, pivots)``; see :func:`ldl_factor_ex`."""
    factors, pivots, info = linalg_ldl_factor_ex(input, hermitian=hermitian)
    if input._device.type != "meta":
        raise_failures("linalg.ldl_factor", info, "D[{0},{0}] is zero: the matrix is singular")
    return LDL(factors, pivots)


# ------------------------------------------------------------------------------------------- QR
def _qr_shapes(shape, mode):
    *batch, m, n = shape
    k = m if mode == "complete" else min(m, n)
    return ((0,) if mode == "r" else (*batch, m, k)), (*batch, min(m, n) if mode == "r" else k, n)


def _qr_meta(A, mode="reduced"):
    return [(shape, dtype_of(A)) for shape in _qr_shapes(A.shape, mode)]


def _qr_samples(make):
    shapes = [(4, 4), (2, 5, 3), (0, 3, 3), (0, 3)]
    found = [((make(*s),), {}) for s in shapes] + [((make(2, 3, 5),), {"mode": "reduced"})]
    if not make.requires_grad:
        found += [((make(5, 3),), {"mode": "complete"}), ((make(5, 3),), {"mode": "r"})]
    return found


@op(
    batching="trailing",
    result=QR,
    outputs=2,
    method=False,
    oracle="_C._linalg",
    samples=_qr_samples,
    meta=_qr_meta,
    columns=(0, 1),
    sweep=(2, 3),
    autocast="float32",
    saves="Q:result0 R:result1 mode",
)
def linalg_qr(A: Tensor, mode="reduced"):
    """``(Q, R)`` with ``A = Q @ R``, Q unitary and R upper triangular. `mode`: ``"reduced"``,
    ``"complete"`` (Q square) or ``"r"`` (R only, Q empty)."""
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    check_matrix("linalg.qr", A)
    check_dtype("linalg.qr", A)
    if mode == "r":
        return [np.empty((0,), A.dtype), by_columns(lapack.qr(A, False, False)[1])]
    return [by_columns(x) for x in lapack.qr(A, mode == "complete")]


def _qr_gradient(grad, out0, out1, mode, A_shape):
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which mode='r' does not compute; use "
            "linalg.qr(A, mode='reduced') to differentiate"
        )
    m, n = A_shape[-2:]
    if mode == "complete" and m > n:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols"
        )
    grad_q, grad_r = grad
    if m >= n:
        return _tall_qr_gradient(grad_q, grad_r, out0, out1)
    return _wide_qr_gradient(grad_q, grad_r, out0, out1)


def _tall_qr_gradient(grad_q, grad_r, q, r):
    """Walter and Lehmann, "Algorithmic differentiation of linear algebra functions" (2010)."""
    inner = None
    if grad_r is not None:
        inner = grad_r @ r.mH
    if grad_q is not None:
        inner = -(q.mH @ grad_q) if inner is None else inner - q.mH @ grad_q
    inner = inner.triu()
    mixed = inner + inner.mH
    halved = 0.5 * mixed.diagonal(0, -2, -1)
    mixed = q @ (mixed - halved.diag_embed())
    mixed = mixed if grad_q is None else mixed + grad_q
    return linalg_solve_triangular(r.mH, mixed, upper=False, left=False)


def _wide_qr_gradient(grad_q, grad_r, q, r):
    """``A = [X Y]``, ``X = Q U``, ``Y = Q V``: V's gradient goes to Y and through Q."""
    from rushlight.ops.shape.joining import cat

    k = q.shape[-1]
    if grad_r is None:
        first = _tall_qr_gradient(grad_q, None, q, r[..., :k])
        return cat((first, first.new_zeros((*r.shape[:-1], r.shape[-1] - k))), -1)
    rest = r[..., k:]
    through = q @ rest @ grad_r[..., k:].mH
    through = through if grad_q is None else through + grad_q
    first = _tall_qr_gradient(through, grad_r[..., :k], q, r[..., :k])
    return cat((first, q @ grad_r[..., k:]), -1)


linalg_qr.gradient(A=_qr_gradient)


@composite(
    schemas=("qr(Tensor self, bool some=True) -> (Tensor, Tensor)",),
    samples=lambda make: [(make(4, 3),), (make(2, 3, 2),)], autocast="float32", aten="default Q",
    result="Q R",
)  # fmt: skip
def qr(input: Tensor, some=True):
    """``(Q, R)``; reduced, or complete if not `some`. See :func:`rushlight.linalg.qr`."""
    return results_of(qr, *linalg_qr(input, "reduced" if some else "complete"))


def _check_geqrf(input):
    check_matrix("torch.geqrf", input, "input")
    check_dtype("torch.geqrf", input, letters=("input",))


@op(
    schemas=("geqrf(Tensor self) -> (Tensor, Tensor)",),
    batching="trailing",
    result=Reflectors,
    samples=_matrices,
    sweep=(2, 3),
    differentiable=True,
    meta=checked(
        _check_geqrf,
        lambda input: [
            (input.shape, dtype_of(input)),
            ((*input.shape[:-2], min(input.shape[-2:])), dtype_of(input)),
        ],
    ),
    columns=(0,),
    autocast="float32",
    aten="default a",
)
def geqrf(input: Tensor):
    """``(a, tau)``, the QR factorization as LAPACK leaves it: R above, reflectors below."""
    _check_geqrf(input)
    return list(lapack.geqrf(input))

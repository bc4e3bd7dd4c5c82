"""Inverses, linear systems and least squares."""

from __future__ import annotations

from rushlight.dtypes import int32, int64
from rushlight.errors import shape_text
from rushlight.kernels.linalg import lapack
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.machine.meta_array import meta_array
from rushlight.ops._table.op import composite, op
from rushlight.ops._table.shape_rules import checked
from rushlight.ops.linalg.factorization import permutation
from rushlight.ops.linalg.matrix_checks import (
    broadcast_batches,
    check_dtype,
    check_input,
    check_matrix,
    check_square,
    is_vector,
    raise_failures,
    square,
)
from rushlight.ops.linalg.triangular_systems import check_system, linalg_solve_triangular
from rushlight.tensor.memory_format import by_columns
from rushlight.tensor.results import named
from rushlight.tensor.tensor import Tensor

InverseEx = named("linalg_inv_ex", "inverse info")
SolveEx = named("linalg_solve_ex", "result info")
LeastSquares = named("linalg_lstsq", "solution residuals rank singular_values")
SINGULAR = "the matrix is singular (the diagonal element {} of its LU factorization is zero)"


# -------------------------------------------------------------------------------------- inverses
def _invertible(make, *shape):
    from rushlight.ops.creation.tensors import eye

    return make(*shape) + 4 * eye(shape[-1], dtype=make.dtype)


def _inverse_samples(make):
    return [
        ((_invertible(make, 3, 3),), {}),
        ((_invertible(make, 2, 4, 4),), {}),
        ((_invertible(make, 3, 3).mT,), {}),
        ((make(0, 3, 3),), {}),
        ((make(2, 0, 0),), {}),
    ]


@op(
    schemas=("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor, Tensor)",),
    batching="trailing",
    result=InverseEx,
    method=False,
    oracle="_C._linalg",
    samples=_inverse_samples,
    sweep=(2, 3),
    meta=square(
        "linalg.inv", lambda A, check_errors=False: [(A.shape, dtype_of(A)), (A.shape[:-2], int32)]
    ),
    columns=(0,),
    autocast="float32",
    barred="complex",
    saves="inverse:result",
)
def linalg_inv_ex(A: Tensor, *, check_errors=False):
    """``(inverse, info)`` of square matrices ``(*, n, n)``; `info` is 0 where A has an inverse."""
    check_input("linalg.inv", A)
    inverse, info = lapack.inverse(A)
    if check_errors:
        raise_failures("linalg.inv_ex", info, SINGULAR)
    return [by_columns(inverse), info]


linalg_inv_ex.gradient(A=lambda grad, out: -(out.mH @ (grad @ out.mH)))


@composite(method=False, oracle="_C._linalg", samples="invertible", autocast="float32")
def linalg_inv(A: Tensor):
    """The inverse of square matrices ``(*, n, n)``.

    Raises :class:`rushlight.linalg.LinAlgError` where a matrix is singular.
    """
    inverse, info = linalg_inv_ex(A)
    if A._device.type != "meta":
        raise_failures("linalg.inv", info, SINGULAR)
    return inverse


@composite(samples="invertible", autocast="float32")
def inverse(input: Tensor):
    """The inverse of square matrices; see :func:`rushlight.linalg.inv`."""
    return linalg_inv(input)


# --------------------------------------------------------------------------------------- systems
def _check_solve(A, B, left):
    check_square("linalg.solve", A)
    check_dtype("linalg.solve", A, B)
    vector = is_vector(A, B)
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for "
            f"left=False; A has shape {shape_text(A.shape)}, B has shape {shape_text(B.shape)}"
        )
    columns = B[..., None] if vector else B
    check_system("linalg.solve", A, columns, left)
    return vector, *broadcast_batches("linalg.solve", A, columns)


def _solve_samples(make):
    return [
        ((_invertible(make, 3, 3), make(3, 2)), {}),
        ((_invertible(make, 2, 3, 3), make(2, 3, 2)), {}),
        ((_invertible(make, 2, 3, 3), make(2, 3)), {}),
        ((_invertible(make, 3, 3), make(2, 3, 2)), {}),
        ((_invertible(make, 2, 3, 3), make(2, 2, 3)), {"left": False}),
        ((make(0, 3, 3), make(0, 3, 1)), {}),
        ((make(0, 0), make(0, 3)), {}),
    ]


def _solve_meta(A, B, left=True, check_errors=False):
    vector, _, columns = _check_solve(A, B, left)
    found = meta_array(columns.shape[:-1] if vector else columns.shape, B.dtype)
    return [by_columns(found) if left else found, (A.shape[:-2], int32)]


@op(
    schemas=(
        "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) "
        "-> (Tensor, Tensor)",
    ),
    result=SolveEx,
    method=False,
    oracle="_C._linalg",
    samples=_solve_samples,
    meta=_solve_meta,
    sweep=(2, 3),
    autocast="float32",
    barred="unsigned",
    batching="solve",
    saves="A left result",
)
def linalg_solve_ex(A: Tensor, B: Tensor, *, left=True, check_errors=False):
    """``(result, info)`` with ``A @ result = B`` (``result @ A = B`` if not `left`). B is a matrix
    ``(*, n, k)``, or a vector: ``(n,)`` or of the shape of A without its last dimension."""
    vector, _, columns = _check_solve(A, B, left)
    if not left:
        A, columns = A.swapaxes(-1, -2), columns.swapaxes(-1, -2)
    found, info = lapack.solve(A, columns)
    if check_errors:
        raise_failures("linalg.solve_ex", info, SINGULAR)
    if vector:
        return [by_columns(np.ascontiguousarray(found[..., 0])), info]
    found = by_columns(found)
    return [found if left else found.swapaxes(-1, -2), info]


@linalg_solve_ex.gradients("A", "B")
def _solve_gradient(grad, A, out, B_shape, needs, left):
    turned = linalg_solve_ex(A.mH, grad, left=left)[0]
    outer = None
    if needs[0]:
        vector = is_vector(A, _Shaped(B_shape))
        a, b = (turned.unsqueeze(-1), out.unsqueeze(-1)) if vector else (turned, out)
        outer = -(a @ b.mH) if left else -(b.mH @ a)
    return outer, turned


class _Shaped:
    """What `is_vector` reads of a tensor."""

    def __init__(self, shape):
        self.shape = shape


@composite(
    method=False,
    oracle="_C._linalg",
    samples=lambda make: [
        (make.invertible(3, 3), make(3)),
        (make.invertible(2, 2, 2), make(2, 2, 1)),
        (make.invertible(3, 3), make(2, 3), {"left": False}),
    ],
    autocast="float32",
)
def linalg_solve(A: Tensor, B: Tensor, *, left=True):
    """X of ``A @ X = B`` (``X @ A = B`` if not `left`); A ``(*, n, n)``, B ``(*, n, k)`` or a
    vector ``(*, n)``.

    Raises :class:`rushlight.linalg.LinAlgError` where a matrix is singular.
    """
    found, info = linalg_solve_ex(A, B, left=left)
    if A._device.type != "meta":
        raise_failures("linalg.solve", info, SINGULAR)
    return found


@composite(
    method=False,
    autocast="as_given",
    oracle="_C._linalg",
    samples=lambda make: [
        (make.invertible(3, 3), make.pivots(3), make(3, 2)),
        (make.invertible(3, 3), make.pivots(3), make(3, 2), {"adjoint": True}),
    ],
)
def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left=True, adjoint=False):
    """X of ``A @ X = B`` from the factors of :func:`lu_factor`; of ``X @ A = B`` if not `left`;
    with A's adjoint if `adjoint`."""
    if pivots._dtype is not int32:
        raise RuntimeError(
            "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32; got "
            f"{pivots._dtype}"
        )
    if tuple(pivots.shape) != tuple(LU.shape[:-1]):
        raise RuntimeError(
            f"linalg.lu_solve: Number of pivots per batch should be same as the dimension of the "
            f"matrix: pivots has shape {shape_text(pivots.shape)}, LU {shape_text(LU.shape)}"
        )
    check_system("linalg.lu_solve", LU, B, left)
    order = permutation(pivots, LU.shape[-1], LU)
    if adjoint == left:  # A^H X = B, or X A = B whose transpose is a system with A^T
        factors, mixed = (LU, B) if left else (LU, B)
        if left:
            middle = linalg_solve_triangular(factors.mH, mixed, upper=False)
            middle = linalg_solve_triangular(factors.mH, middle, upper=True, unitriangular=True)
            return (middle.mT @ order.mT).mT  # by columns
        middle = linalg_solve_triangular(LU, mixed, upper=True, left=False)
        middle = linalg_solve_triangular(LU, middle, upper=False, left=False, unitriangular=True)
        return middle @ order.mT
    if left:
        middle = linalg_solve_triangular(LU, order.mT @ B, upper=False, unitriangular=True)
        return linalg_solve_triangular(LU, middle, upper=True)
    middle = linalg_solve_triangular(LU.mH, B @ order, upper=True, left=False, unitriangular=True)
    return linalg_solve_triangular(LU.mH, middle, upper=False, left=False).contiguous()


@composite(
    samples=lambda make: [(make(3, 2), make.invertible(3, 3), make.pivots(3))], autocast="float32"
)
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor):
    """X of ``A @ X = b`` from A's compact LU factors."""
    return linalg_lu_solve(LU_data, LU_pivots, input)


def _check_ldl(LD, pivots, B):
    """Factors, as many pivots as rows, right sides of as many rows."""
    check_system("torch.linalg.ldl_solve", LD, B)
    if pivots.dtype.kind != "i":
        raise RuntimeError(
            f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {pivots.dtype.name}"
        )
    if pivots.shape != LD.shape[:-1]:
        raise RuntimeError(
            f"torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but "
            f"got pivots with shape {shape_text(pivots.shape)}"
        )


@op(
    method=False,
    oracle="_C._linalg",
    samples=lambda make: [(make.definite(3, 3), make.pivots(3), make(3, 2))],
    differentiable=False,
    meta=checked(
        lambda LD, pivots, B, hermitian=False: _check_ldl(LD, pivots, B),
        lambda LD, pivots, B, hermitian=False: (
            (*np.broadcast_shapes(LD.shape[:-2], B.shape[:-2]), *B.shape[-2:]),
            dtype_of(B),
        ),
    ),
    columns=(0,),
    batching="ldl_solve",
)
def linalg_ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian=False):
    """X of ``A @ X = B`` from the factors of :func:`rushlight.linalg.ldl_factor`."""
    _check_ldl(LD, pivots, B)
    factors, other = broadcast_batches("torch.linalg.ldl_solve", LD, B)
    pivots = np.broadcast_to(pivots, factors.shape[:-1])
    return lapack.ldl_solve(factors, pivots, other, hermitian)


# --------------------------------------------------------------------------------- least squares
_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _check_lstsq(input, b, driver):
    check_matrix("torch.linalg.lstsq", input, "input")
    if b.ndim < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension")
    check_dtype("torch.linalg.lstsq", input, b, letters=("input", "other"))
    if driver not in _DRIVERS:
        raise RuntimeError(
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), "
            f"got '{driver}'"
        )
    vector = is_vector(input, b)
    other = b[..., None] if vector else b
    if other.ndim < 2 or input.shape[-2] != other.shape[-2]:
        raise RuntimeError(
            f"torch.linalg.lstsq: input.size(-2) should match other.size(-2): input has shape "
            f"{shape_text(input.shape)}, other has shape {shape_text(b.shape)}"
        )
    return vector, *broadcast_batches("torch.linalg.lstsq", input, other)


def _lstsq_shapes(input, other, vector, driver):
    batch, (m, n) = input.shape[:-2], input.shape[-2:]
    solution = (*batch, n) if vector else (*batch, n, other.shape[-1])
    values = (*batch, min(m, n)) if driver in ("gelsd", "gelss") else (0,)
    return solution, batch if driver != "gels" else (0,), values


def _lstsq_meta(input, b, rcond, driver):
    vector, input, other = _check_lstsq(input, b, driver)
    solution, rank, values = _lstsq_shapes(input, other, vector, driver)
    dtype = dtype_of(b)
    found = (solution, dtype)
    if not vector:  # the first rows of what the driver leaves, column-major
        *batch, rows, columns = solution
        whole = meta_array((*batch, columns, max(input.shape[-2:])), b.dtype)
        found = whole.swapaxes(-1, -2)[..., :rows, :]
    return [found, ((0,), dtype.to_real()), (rank, int64), (values, dtype.to_real())]


@op(
    outputs=4,
    method=False,
    samples=lambda make: [],
    tested_by="tests/ops/linalg/test_solver.py",
    meta=_lstsq_meta,
    barred="complex",
    batching="lstsq",
)
def _lstsq(input: Tensor, b: Tensor, rcond, driver):
    """Solution, residuals, rank and singular values of least squares problems."""
    vector, matrices, other = _check_lstsq(input, b, driver)
    solution, rank_shape, values_shape = _lstsq_shapes(matrices, other, vector, driver)
    m, n = matrices.shape[-2:]
    if rcond is None:
        rcond = float(np.finfo(input.dtype).eps) * max(m, n)
    found, rank, values, info = lapack.least_squares(matrices, other, rcond, driver)
    raise_failures("torch.linalg.lstsq", info, "the matrix has no full rank (element {})")
    residuals = np.empty((0,), values.dtype)
    if m > n and driver != "gelsy" and bool((rank == n).all() if driver != "gels" else True):
        squares = np.abs(found[..., n:, :]) ** 2
        residuals = np.asarray(squares.sum(-2, dtype=values.dtype))
    kept = found[..., :n, :]  # by columns, as the driver leaves it
    return [
        kept if kept.shape == solution else np.ascontiguousarray(kept).reshape(solution),
        residuals,
        rank if driver != "gels" else np.empty((0,), np.int64),
        values if values_shape != (0,) else np.empty((0,), values.dtype),
    ]


@_lstsq.gradients("input", "b")
def _lstsq_gradient(grad, input, b, needs, out0):
    """Through ``pinv(input) @ b`` for the solution; residuals are sums of squares of what is
    left of b."""
    grad_solution, grad_residuals = grad[0], grad[1]
    vector = is_vector(input, b)
    columns = b.unsqueeze(-1) if vector else b
    solution = out0.unsqueeze(-1) if vector else out0
    grad_input = grad_b = None
    if grad_solution is not None:
        turned = grad_solution.unsqueeze(-1) if vector else grad_solution
        inverse = linalg_pinv_of(input)
        if needs[0]:
            grad_input = pinv_gradient(turned @ columns.mH, input, inverse)
        if needs[1]:
            grad_b = inverse.mH @ turned
    if grad_residuals is not None and grad_residuals.numel():
        rest = (columns - input @ solution) * (2 * grad_residuals.unsqueeze(-2))
        grad_input = _added(grad_input, -(rest @ solution.mH)) if needs[0] else None
        grad_b = _added(grad_b, rest) if needs[1] else None
    return grad_input, grad_b.squeeze(-1) if vector and grad_b is not None else grad_b


def _added(total, piece):
    return piece if total is None else total + piece


def linalg_pinv_of(input):
    """The pseudo-inverse with the default tolerance."""
    from rushlight.ops.linalg.matrix_functions import linalg_pinv

    return linalg_pinv(input)


def pinv_gradient(grad, input, inverse):
    """Golub and Pereyra's differential of the pseudo-inverse (1973), its adjoint."""
    adjoint, turned = inverse.mH, grad.mH
    first = adjoint @ (grad @ adjoint)
    right = turned @ inverse @ adjoint
    left = adjoint @ inverse @ turned
    return right - input @ (inverse @ right) + left - (left @ inverse) @ input - first


@composite(
    schemas=(
        "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> "
        "(Tensor, Tensor, Tensor, Tensor)",
    ),
    method=False,
    oracle="_C._linalg",
    samples=lambda make: [(make(4, 3), make(4, 2)), (make(2, 4, 2), make(2, 4))],
    autocast="float32",
)
def linalg_lstsq(input: Tensor, b: Tensor, rcond=None, *, driver=None):
    """``(solution, residuals, rank, singular_values)`` of ``min |input @ X - b|``; `input`
    ``(*, m, n)``, `b` ``(*, m, k)`` or ``(*, m)``. `driver`: ``"gelsy"`` (default), ``"gels"``
    (full rank), ``"gelsd"`` or ``"gelss"``; what a driver does not compute is empty."""
    found = _lstsq(input, b, rcond, "gelsy" if driver is None else driver)
    solution, residuals, rank, values = found
    return LeastSquares(solution, residuals, rank, values.detach())

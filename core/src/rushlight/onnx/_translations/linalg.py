"""Linear algebra that ONNX has."""

from __future__ import annotations

import rushlight
from rushlight.machine import np
from rushlight.onnx._assembling import folded
from rushlight.onnx._registry import aten
from rushlight.onnx._translations.shaping import diagonal


@aten("linalg_det", "det")
def det(g, self=None, A=None):  # noqa: N803 - ATen's name
    return g.op("Det", self if A is None else A)


@aten("trace")
def trace(g, self):
    found = diagonal(g, self)
    return g.cast(g.reduce("ReduceSum", found, None, False), g.dtype or rushlight.float32)


@aten("linalg_cross")
def cross(g, self, other, dim=-1):
    a, b = g.to(g.dtype, self, other)
    shape = rushlight.broadcast_shapes(a.shape, b.shape)
    a, b = (g.op("Expand", v, g.integers(shape)) for v in (a, b))
    axis = dim % len(shape)

    def turned(v, order):
        return g.op("Gather", v, g.integers(order), axis=axis)

    first = g.op("Mul", turned(a, [1, 2, 0]), turned(b, [2, 0, 1]))
    return g.op("Sub", first, g.op("Mul", turned(a, [2, 0, 1]), turned(b, [1, 2, 0])))


@aten("_lstsq", "linalg_lstsq")
def lstsq(g, input, b, rcond=None, driver=None):
    """A product with the pseudoinverse of a matrix that is a constant: the solution alone. By the
    normal equations it would not be as precise, and ONNX has no factorization."""
    matrix = folded(g, input)
    if matrix is None:
        raise NotImplementedError("a matrix that is computed from inputs: ONNX has no QR")
    if any(result in g.taken for result in (1, 2, 3)):
        raise NotImplementedError("residuals, rank and singular_values: only the solution")
    vector = b.rank == input.rank - 1
    columns = g.unsqueeze(b, -1) if vector else b
    wide = matrix.astype(np.float64)
    flat = wide.reshape(-1, *wide.shape[-2:])
    if (flat == flat[:1]).all():  # one matrix for all of a batch, whose size may differ
        wide = flat[0]
    eps = float(np.finfo(matrix.dtype).eps) if rcond is None else rcond
    cut = eps * (max(wide.shape[-2:]) if rcond is None else 1) if driver != "gels" else 1e-15
    inverse = g.constant(np.linalg.pinv(wide, cut))
    found = g.cast(g.op("MatMul", inverse, g.cast(columns, rushlight.float64)), b.dtype)
    return (g.squeeze(found, -1) if vector else found), None, None, None


@aten(
    "_lu_parts", "linalg_lu", "linalg_lu_factor", "linalg_lu_factor_ex", "linalg_lu_solve",
    "_linalg_svd", "linalg_svd", "_linalg_eigh", "linalg_eigh", "linalg_eig", "linalg_eigvals",
    "linalg_qr", "linalg_cholesky_ex", "linalg_cholesky", "cholesky", "linalg_ldl_factor_ex",
    "linalg_inv_ex", "linalg_solve_ex", "_linalg_solve_ex", "linalg_solve_triangular", "geqrf",
    "linalg_householder_product", "_linalg_eigvals", "_linalg_eig", "_pinv", "cholesky_solve",
    "cholesky_inverse", "linalg_slogdet", "_linalg_slogdet",
)  # fmt: skip
def factored(g, *args, **kwargs):
    """Refused: of linear algebra ONNX has products and determinants alone."""
    raise NotImplementedError(
        "ONNX has no factorization of matrices, and no solver: factor before the model is called "
        "and give it the factors, or keep a matrix that is always the same as a buffer that holds "
        "its factors"
    )

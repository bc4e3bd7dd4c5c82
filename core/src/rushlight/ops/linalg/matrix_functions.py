"""Functions of whole matrices: pseudo-inverse, powers, exponential, chains, reflectors."""

from __future__ import annotations

import functools
import math

from rushlight.dtypes import FLOAT, bfloat16, bool_, float16
from rushlight.errors import shape_text
from rushlight.kernels.launch.prepared import by_layouts, of_copies
from rushlight.kernels.linalg import cross as cross_kernels
from rushlight.kernels.linalg import lapack
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.domains import unit
from rushlight.ops._table.op import Several, TensorList, composite, op
from rushlight.ops._table.second_order import with_history
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.linalg.eigenvalues import linalg_eigh, linalg_svd
from rushlight.ops.linalg.matrix_checks import (
    check_dtype,
    check_matrix,
    check_square,
    eye_like,
    square,
)
from rushlight.ops.linalg.matrix_norm import cut
from rushlight.ops.linalg.products import matmul
from rushlight.ops.linalg.solver import linalg_inv, linalg_solve, pinv_gradient
from rushlight.ops.shape.joining import cat, check_tensors
from rushlight.tensor.shape import wrap_dim
from rushlight.tensor.tensor import Tensor


# ---------------------------------------------------------------------------------- pseudo-inverse
@op(
    batching="trailing",
    method=False,
    samples=lambda make: [
        ((make(3, 3), None, None, False), {}),
        ((make(2, 4, 3), 0, 0, False), {}),
    ],
    meta=lambda A, atol, rtol, hermitian: ((*A.shape[:-2], A.shape[-1], A.shape[-2]), dtype_of(A)),
)
def _pinv(A: Tensor, atol, rtol, hermitian):
    """The pseudo-inverse; its rank is taken as constant by the derivative."""
    from rushlight.autograd.mode import mode
    from rushlight.tensor.tensor import make_tensor

    previous, mode.recording = mode.recording, False
    try:
        return _pinv_of(make_tensor(A, dtype_of(A)), atol, rtol, hermitian)._array
    finally:
        mode.recording = previous


def _pinv_of(A, atol, rtol, hermitian):
    name = "linalg.pinv"
    if hermitian:
        values, vectors = linalg_eigh(A)
        sizes = values.abs()
        kept = sizes > cut(name, A, sizes, atol, rtol)
        inverse = where(kept, values.reciprocal(), 0.0)
        return (vectors * inverse.unsqueeze(-2)) @ vectors.mH
    u, s, vh = linalg_svd(A, False)
    inverse = where(s > cut(name, A, s, atol, rtol), s.reciprocal(), 0.0)
    return (vh.mH * inverse.unsqueeze(-2)) @ u.mH


_pinv.gradient(A=lambda grad, A, out: pinv_gradient(grad, A, out))


# PyTorch rounds the result under autocast, since its last step is a product.
@composite(
    schemas=(
        "linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? "
        "rtol=None, bool hermitian=False) -> Tensor",
        "linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, "
        "bool hermitian=False) -> Tensor",
        "linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
        "linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor",
    ),
    method=False,
    oracle="_C._linalg",
    samples="matrix",
    differs=("autocast",),
)
def linalg_pinv(input: Tensor, rcond=None, hermitian=False, *, atol=None, rtol=None):
    """The Moore-Penrose inverse of ``(*, m, n)`` matrices, without singular values at or below
    ``max(atol, rtol * largest)``; `rcond` is an older name of `rtol`."""
    check_matrix("linalg.pinv", input)
    check_dtype("linalg.pinv", input)
    if hermitian:
        check_square("linalg.pinv", input)
    if rcond is not None:
        atol, rtol = 0.0, rcond
    if not input.numel():
        return with_history(input).mT.clone()
    return _pinv(input, atol, rtol, hermitian)


@composite(samples="matrix", autocast="float32")
def pinverse(input: Tensor, rcond=1e-15):
    """The Moore-Penrose inverse; see :func:`rushlight.linalg.pinv`."""
    return linalg_pinv(input, rcond)


# ----------------------------------------------------------------------------------------- powers
@composite(
    method=False,
    oracle="_C._linalg",
    samples=lambda make: [
        (make(3, 3), 0),
        (make.invertible(3, 3), -2),
        (make.invertible(2, 2, 2), 3),
    ],
)
def linalg_matrix_power(input: Tensor, n):
    """A times itself `n` times, by repeated squaring; negative powers are those of the inverse."""
    check_square("linalg.matrix_power", input)
    if n < 0:
        check_dtype("linalg.matrix_power", input)
        input, n = linalg_inv(input), -n
    if n == 0:
        identity = eye_like(input, input.shape[-1]).expand(tuple(input.shape))
        return where(identity == identity, identity, input)  # takes part, its gradient is zero
    if n == 1:
        return input.clone()
    result, square = None, input
    while n:
        if n & 1:
            result = square if result is None else matmul(result, square)
        n >>= 1
        square = matmul(square, square) if n else square
    return result


@composite(
    samples=lambda make: [
        (make(3, 3), 0),
        (make.invertible(3, 3), -1),
        (make.invertible(2, 2, 2), 5),
    ]
)
def matrix_power(input: Tensor, n):
    """See :func:`rushlight.linalg.matrix_power`."""
    return linalg_matrix_power(input, n)


_PADE = [
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
    129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0,
    960960.0, 16380.0, 182.0, 1.0,
]  # fmt: skip


_SWEEP = ("float32", "float64")  # PyTorch's half-precision series overflows


@op(
    domain=unit,
    batching="trailing",
    method=False,
    oracle="_C._linalg",
    samples=lambda make: [((make(3, 3),), {}), ((make(2, 4, 4),), {}), ((make(0, 2, 2),), {})],
    meta=square("linalg.matrix_exp", lambda A: (A.shape, dtype_of(A))),
    sweep=_SWEEP,
    rtol=1e-5,
    barred="unsigned",
)
def linalg_matrix_exp(input: Tensor):
    """The exponential of square matrices, by scaling and squaring of a Pade approximant (Higham,
    2005)."""
    check_square("linalg.matrix_exp", input)
    if dtype_of(input).category < FLOAT:
        raise RuntimeError(
            f"linalg.matrix_exp: Expected a floating point or complex tensor as input. Got "
            f"{dtype_of(input)}"
        )
    wide = np.complex128 if input.dtype.kind == "c" else np.float64
    matrix = input.astype(wide)
    if not matrix.size:
        return input.copy()
    norm = np.abs(matrix).sum(-2).max(-1)
    with np.errstate(all="ignore"):
        steps = np.maximum(np.ceil(np.log2(norm / 5.37)), 0)
        steps = np.where(np.isfinite(steps), steps, 0).astype(int)
        result = _pade(matrix / np.exp2(steps)[..., None, None])
        for i in range(int(steps.max())):
            result = np.where((steps > i)[..., None, None], result @ result, result)
        return result.astype(input.dtype)


def _pade(matrix):
    identity = np.eye(matrix.shape[-1])
    second = matrix @ matrix
    fourth = second @ second
    sixth = fourth @ second
    b = _PADE
    odd = sixth @ (b[13] * sixth + b[11] * fourth + b[9] * second)
    odd = matrix @ (odd + b[7] * sixth + b[5] * fourth + b[3] * second + b[1] * identity)
    even = sixth @ (b[12] * sixth + b[10] * fourth + b[8] * second)
    even = even + b[6] * sixth + b[4] * fourth + b[2] * second + b[0] * identity
    finite = np.isfinite(matrix).all((-2, -1))[..., None, None]
    below = np.where(finite, even - odd, identity)
    return np.where(finite, np.linalg.solve(below, even + odd), np.nan)


def _matrix_exp_gradient(grad, input):
    """The upper right block of ``exp([[A^H, grad], [0, A^H]])`` (Mathias, 1996)."""
    n = input.shape[-1]
    top = cat((input.mH, grad), -1)
    bottom = cat((input.mH * 0, input.mH), -1)
    return linalg_matrix_exp(cat((top, bottom), -2))[..., :n, n:]


linalg_matrix_exp.gradient(input=_matrix_exp_gradient)


@composite(domain=unit, samples="square", sweep=_SWEEP, rtol=1e-5)
def matrix_exp(input: Tensor):
    """The exponential of square matrices; see :func:`rushlight.linalg.matrix_exp`."""
    return linalg_matrix_exp(input)


# ----------------------------------------------------------------------------------------- chains
@functools.lru_cache(maxsize=1024)
def _chain_order(sizes):
    """Where to split each chain of products so that they cost least (dynamic programming)."""
    count = len(sizes) - 1
    cost = [[0.0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            prices = [
                cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                for k in range(i, j)
            ]
            cost[i][j] = min(prices)
            split[i][j] = i + prices.index(cost[i][j])
    return split


@composite(
    method=False,
    oracle="_C._linalg",
    samples=lambda make: [
        ([make(2), make(2, 3), make(3)],),
        ([make(2, 3), make(3, 4), make(4, 2), make(2, 3)],),
    ],
    autocast="lower",
)
def linalg_multi_dot(tensors: TensorList):
    """The product of two or more matrices in the order that costs least; the first and the last may
    be vectors."""
    name, tensors = "multi_dot", list(tensors)
    if len(tensors) < 2:
        raise RuntimeError(f"{name}(): expected at least 2 tensors but got {len(tensors)}")
    if tensors[0].dim() not in (1, 2) or tensors[-1].dim() not in (1, 2):
        raise RuntimeError(f"{name}(): the first and last tensors must be 1D or 2D")
    shapes = [tuple(tensor.shape) for tensor in tensors]
    shapes[0] = (1, *shapes[0]) if len(shapes[0]) == 1 else shapes[0]
    shapes[-1] = (*shapes[-1], 1) if len(shapes[-1]) == 1 else shapes[-1]
    for i, shape in enumerate(shapes):
        if len(shape) != 2:
            raise RuntimeError(f"{name}(): tensor {i} must be 2D but got {len(shape)}D")
        if i and shapes[i - 1][1] != shape[0]:
            raise RuntimeError(
                f"{name}(): tensors {i - 1} and {i} with shapes "
                f"{shape_text(shapes[i - 1])} and {shape_text(shape)} cannot be multiplied"
            )
    if len(tensors) == 3:
        a, b, c = tensors  # vectors stay what they are: matmul knows what they stand for
        (first, inner), (_, last) = shapes[0], shapes[2]
        outer = shapes[2][0]
        if first * outer * (inner + last) <= inner * last * (first + outer):
            return matmul(matmul(a, b), c)
        return matmul(a, matmul(b, c))
    split = _chain_order((*[shape[0] for shape in shapes], shapes[-1][1]))

    def product(i, j):
        if i == j:
            return tensors[i]
        return matmul(product(i, split[i][j]), product(split[i][j] + 1, j))

    return product(0, len(tensors) - 1)


@composite(
    method=False,
    samples=lambda make: [(make(2, 3),), (make(2, 3), make(3, 4), make(4, 2))],
    autocast="lower",
)
def chain_matmul(matrices: Several):
    """The product of matrices ``(a, b, c, ...)``; see :func:`rushlight.linalg.multi_dot`."""
    check_tensors("chain_matmul", matrices)
    found = [matrix.dim() for matrix in tuple(matrices) if matrix.dim() != 2]
    if found:
        raise RuntimeError(f"chain_matmul: Tensor dimension is {found[0]}, expected 2 instead.")
    return matrices[0] if len(matrices) == 1 else linalg_multi_dot(matrices)


# ------------------------------------------------------------------------------------- reflectors
def _check_reflectors(name, input, tau, letters=("input", "tau")):
    check_matrix(name, input, letters[0])
    check_dtype(name, input, tau, letters=letters)
    m, n = input.shape[-2:]
    if tau.shape[-1] > n or n > m or tuple(tau.shape[:-1]) != tuple(input.shape[:-2]):
        raise RuntimeError(
            f"{name}: {letters[0]} has shape {shape_text(input.shape)}, tau {shape_text(tau.shape)}"
            "; expected (*, m, n) and (*, k) with m >= n >= k and equal batches"
        )


@op(
    batching="trailing of several",
    method=False,
    samples=lambda make: [],
    differentiable=False,
    tested_by="tests/ops/linalg/test_matrix_functions.py",
    meta=lambda input, tau: (input.shape, dtype_of(input)),
    columns=(0,),
)
def _householder_product(input: Tensor, tau: Tensor):
    """The first columns of the product of reflectors."""
    return lapack.householder_product(input, tau)


# Products of reflectors with larger tau outgrow what float32 gradients are compared to.
@composite(
    schemas=("linalg_householder_product(Tensor input, Tensor tau) -> Tensor",),
    domain=(-0.5, 0.5),
    method=False,
    oracle="_C._linalg",
    samples=lambda make: [(make(4, 3), make(3)), (make(2, 3, 2), make(2, 1))],
    autocast="float32",
)
def linalg_householder_product(input: Tensor, tau: Tensor):
    """The first n columns of a product of k Householder reflectors, as :func:`rushlight.geqrf`
    leaves them: `input` ``(*, m, n)``, `tau` ``(*, k)``."""
    _check_reflectors("torch.linalg.householder_product", input, tau)
    if not (input.requires_grad or tau.requires_grad):
        return _householder_product(input, tau)
    m, n = input.shape[-2:]
    start = eye_like(input, m)[:, :n].expand(*input.shape[:-2], m, n)
    start = where(start == start, start, input)  # takes part even without reflectors
    return _reflect(input[..., : tau.shape[-1]], tau, start, True, False)


def _reflect(input, tau, other, left, transpose):
    """`other` times the reflectors ``I - tau v v^H``, one after the other."""
    m = input.shape[-2]
    lower = input.tril(-1) + _ones_on_diagonal(input, m, input.shape[-1])
    count = tau.shape[-1]
    forward = left == transpose
    for i in range(count) if forward else reversed(range(count)):
        column = lower[..., i : i + 1]
        scale = tau[..., i : i + 1].unsqueeze(-1)
        scale = scale.conj() if transpose else scale
        if left:
            other = other - (column * scale) @ (column.mH @ other)
        else:
            other = other - ((other @ column) * scale) @ column.mH
    return other


def _ones_on_diagonal(like, rows, columns):
    from rushlight.ops.creation.tensors import eye

    return eye(rows, columns, dtype=like._dtype, device=like._device)


@composite(domain=(-0.5, 0.5), samples=lambda make: [(make(4, 3), make(3))], autocast="float32")
def orgqr(input: Tensor, input2: Tensor):
    """See :func:`rushlight.linalg.householder_product`."""
    return linalg_householder_product(input, input2)


@op(
    batching="trailing of several",
    method=False,
    samples=lambda make: [],
    differentiable=False,
    tested_by="tests/ops/linalg/test_matrix_functions.py",
    meta=lambda input, tau, other, left, transpose: (other.shape, dtype_of(other)),
    columns=(0,),
)
def _ormqr(input: Tensor, tau: Tensor, other: Tensor, left, transpose):
    """A matrix times a product of reflectors."""
    return lapack.multiply_reflectors(input, tau, other, left, transpose)


@composite(
    domain=(-0.5, 0.5),
    samples=lambda make: [
        (make(4, 3), make(3), make(4, 2)),
        (make(4, 3), make(3), make(2, 4), False, True),
    ],
    autocast="float32",
)
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left=True, transpose=False):
    """``Q @ other`` (``other @ Q`` if not `left`; Q's adjoint if `transpose`) with Q given by the
    reflectors of :func:`rushlight.geqrf`."""
    name = "torch.ormqr"
    for value, letter in ((input, "input"), (input3, "other")):
        check_matrix(name, value, letter)
    check_dtype(name, input, input2, input3, letters=("input", "tau", "other"))
    size = input3.shape[-2] if left else input3.shape[-1]
    batch = tuple(input.shape[:-2])
    fits = size == input.shape[-2] and input2.shape[-1] == min(input.shape[-1], size)
    if not fits or tuple(input2.shape[:-1]) != batch or tuple(input3.shape[:-2]) != batch:
        raise RuntimeError(
            f"{name}: input has shape {shape_text(input.shape)}, tau {shape_text(input2.shape)}, "
            f"other {shape_text(input3.shape)}; expected input (*, m, n), tau (*, min(m, n)), "
            f"and other.shape[{-2 if left else -1}] equal to m"
        )
    if not input3.numel():
        return with_history(input3, input, input2).clone()
    if not (input.requires_grad or input2.requires_grad or input3.requires_grad):
        return _ormqr(input, input2, input3, left, transpose)
    return _reflect(input[..., : input2.shape[-1]], input2, input3, left, transpose)


# ---------------------------------------------------------------------------- tensors as matrices
@composite(
    method=False,
    oracle="_C._linalg",
    samples=lambda make: [
        (make.invertible(4, 4).reshape(2, 2, 4),),
        (make.invertible(4, 4).reshape(4, 2, 2), 1),
    ],
    autocast="float32",
)
def linalg_tensorinv(input: Tensor, ind=2):
    """The inverse of A seen as a matrix from its last dimensions to its first `ind` ones."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', got {ind}")
    shape = tuple(input.shape)
    rows, columns = math.prod(shape[:ind]), math.prod(shape[ind:])
    if rows != columns:
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {columns} != {rows}"
        )
    return linalg_inv(input.reshape(rows, columns)).reshape(*shape[ind:], *shape[:ind])


@composite(
    method=False,
    oracle="_C._linalg",
    samples=lambda make: [
        (make.invertible(4, 4).reshape(2, 2, 4), make(2, 2)),
        (make.invertible(4, 4).reshape(2, 4, 2), make(2, 2), (1,)),
    ],
    autocast="float32",
)
def linalg_tensorsolve(input: Tensor, other: Tensor, dims=None):
    """X of ``tensordot(A, X, X.dim()) = B``; `dims` of A are moved to its end first."""
    if dims is not None:
        ends = tuple(range(input.dim() - len(dims), input.dim()))
        input = input.movedim(tuple(dims), ends)
    rest = tuple(input.shape[other.dim() :])
    if math.prod(rest) != other.numel():
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {math.prod(rest)} != {other.numel()}"
        )
    matrix = input.reshape(other.numel(), -1) if other.numel() else input.reshape(0, 0)
    return linalg_solve(matrix, other.flatten()).reshape(rest)


# ------------------------------------------------------------------------------------- small ones
@composite(
    schemas=("linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor",),
    method=False,
    oracle="_C._linalg",
    samples=lambda make: [(make(3),), (make(2, 3), {"N": 4})],
)
def linalg_vander(x: Tensor, *, N=None):
    """The Vandermonde matrix ``x[..., i] ** j`` for j below `N` (default: the length of x)."""
    if x._dtype in (bool_, float16, bfloat16):
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            f"{x._dtype}"
        )
    x = x.unsqueeze(-1) if not x.dim() else x
    n = x.shape[-1] if N is None else N
    if N is not None and N <= 1:
        raise RuntimeError(f"N must be greater than 1, but got {N}.")
    x = x.to(_sum_kind(x))
    ones = x.new_ones((*x.shape, 1))
    powers = x.unsqueeze(-1)
    if n != 2:
        powers = powers.expand(*x.shape, n - 1).cumprod(-1)
    return cat((ones, powers), -1)


def _sum_kind(x):
    from rushlight.dtypes import int64

    return x._dtype if x._dtype.category >= FLOAT else int64


@composite(
    schemas=("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",),
    method=False,
    samples=lambda make: [(make(3),), (make(3), 4, True)],
)
def vander(x: Tensor, N=None, increasing=False):
    """The Vandermonde matrix of a vector, powers falling unless `increasing`."""
    if x.dim() != 1:
        raise RuntimeError(f"x must be a one-dimensional tensor, but got {x.dim()}D")
    n = x.shape[0] if N is None else N
    if n < 0:
        raise RuntimeError(f"N must be non-negative, but got {n}")
    x = x.to(_sum_kind(x))
    if not n:
        return x.new_zeros((x.shape[0], 0))
    first = x.new_ones((x.shape[0], 1))
    powers = cat([first, x.unsqueeze(-1).expand(-1, n - 1).cumprod(-1)], -1) if n > 1 else first
    return powers if increasing else powers.flip(-1)


@composite(
    schemas=("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",),
    method=False,
    oracle="_C._linalg",
    limited=False,
    samples="binary",
    autocast="lower",
    barred="unsigned",
)
def linalg_vecdot(x: Tensor, y: Tensor, *, dim=-1):
    """``sum(x.conj() * y)`` along `dim`, broadcast."""
    if x._dtype is not y._dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{x._dtype} and y of type {y._dtype} instead"
        )
    if x._dtype.category < FLOAT:
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {x._dtype}"
        )
    product = (x.conj() if x.is_complex() else x) * y
    return product.sum(wrap_dim(dim, product.dim())).to(x._dtype)


@composite(method=False, oracle="_C._linalg", samples=[(), {"offset": 1, "dim1": 1, "dim2": 0}])
def linalg_diagonal(A: Tensor, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices, as a view; see :func:`rushlight.diagonal`."""
    if wrap_dim(dim1, A.dim()) == wrap_dim(dim2, A.dim()):
        raise RuntimeError(
            f"linalg.diagonal: diagonal dimensions cannot be identical; got {dim1} and {dim2}"
        )
    return A.diagonal(offset, dim1, dim2)


@composite(method=False, oracle="_C._linalg", samples="matrices", autocast="lower")
def linalg_matmul(input: Tensor, other: Tensor):
    """The matrix product; see :func:`rushlight.matmul`."""
    return matmul(input, other)


def _check_cross(input, other, dim):
    """The dimension, along which both have three elements."""
    if input.dtype != other.dtype:
        raise RuntimeError(
            f"linalg.cross: expected other of dtype {input.dtype} like input, got {other.dtype}"
        )
    if input.ndim != other.ndim:
        raise RuntimeError(
            f"linalg.cross: inputs must have the same number of dimensions; got shapes "
            f"{shape_text(input.shape)} and {shape_text(other.shape)}"
        )
    axis = wrap_dim(dim, input.ndim)
    sizes = [(array.shape or (1,))[axis] for array in (input, other)]
    if sizes != [3, 3]:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {sizes[0]} and "
            f"{sizes[1]}"
        )
    return axis


def _cross_meta(input, other, dim=-1):
    _check_cross(input, other, dim)
    return np.broadcast_shapes(input.shape, other.shape), dtype_of(input)


@op(
    linear="*input,other",
    batching="dims",
    method=False,
    oracle="_C._linalg",
    samples=lambda make: [
        ((make(3), make(3)), {}),
        ((make(2, 3, 4), make(2, 3, 4)), {"dim": 1}),
        ((make(4, 3), make(1, 3)), {}),
        ((make(0, 3), make(0, 3)), {}),
    ],
    meta=_cross_meta,
)
def linalg_cross(input: Tensor, other: Tensor, *, dim=-1):
    """The cross product of vectors of three elements along `dim`, broadcast."""
    axis = _check_cross(input, other, dim)
    try:
        np.broadcast_shapes(input.shape, other.shape)
    except ValueError:
        raise RuntimeError(
            f"linalg.cross: shapes {shape_text(input.shape)} and {shape_text(other.shape)} do not "
            "broadcast"
        ) from None

    with np.errstate(all="ignore"):
        parts = _cross_parts(_three(input, axis), _three(other, axis))
    return np.asarray(np.stack(parts, axis), input.dtype)


def _prepared_cross(input, other, dim):
    return cross_kernels.cross(input, other, _check_cross(input, other, dim))


def _cross_kernel(input, other, *, dim=-1):
    return _cross_by_layout(input, other, dim)


_cross_kernel.general = linalg_cross.op.body
_cross_by_layout = by_layouts(
    of_copies(_prepared_cross, 2), lambda a, b, dim: linalg_cross.op.body(a, b, dim=dim)
)
linalg_cross.cpu(_cross_kernel)


def _three(array, axis):
    """The parts of vectors along an axis."""
    before = (slice(None),) * axis
    return [array[(*before, i)] for i in range(3)]


def _cross_parts(a, b):
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


linalg_cross.gradient(
    input=lambda grad, other, dim: linalg_cross(_conj(other), grad, dim=dim),
    other=lambda grad, input, dim: linalg_cross(grad, _conj(input), dim=dim),
)


def _conj(tensor):
    return tensor.conj() if tensor.is_complex() else tensor


@composite(
    samples=lambda make: [(make(3), make(3)), (make(2, 3), make(2, 3)), (make(3, 3), make(1, 3), 1)]
)
def cross(input: Tensor, other: Tensor, dim=None):
    """The cross product along `dim`, by default the first dimension of extent three."""
    if dim is None:
        found = [i for i, n in enumerate(input.shape) if n == 3]
        if not found:
            raise RuntimeError(
                f"no dimension of size 3 in input of shape {shape_text(input.shape)}"
            )
        dim = found[0]
    return linalg_cross(input, other, dim=dim)

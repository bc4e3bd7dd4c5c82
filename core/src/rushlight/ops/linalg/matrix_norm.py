"""Norms of vectors and matrices, and what is defined by them: rank and condition."""

from __future__ import annotations

import math

from rushlight.dtypes import COMPLEX, FLOAT
from rushlight.errors import shape_text
from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.launch.prepared import by_layout, of_copies
from rushlight.kernels.reduction import totals
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE, cast, dtype_of
from rushlight.ops._table.op import composite, op
from rushlight.ops._table.shape_rules import reduced_shape
from rushlight.ops.elementwise.arithmetic import sgn
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.linalg.eigenvalues import linalg_eigvalsh, linalg_svdvals
from rushlight.ops.linalg.matrix_checks import check_matrix, check_square, epsilon
from rushlight.ops.linalg.solver import linalg_inv_ex
from rushlight.ops.reduction.sums_and_extremes import _norm2, _summed, restore
from rushlight.ops.shape.complex_views import real
from rushlight.tensor.shape import wrap_dim, wrap_dims
from rushlight.tensor.tensor import Tensor


def _norm_dtype(name, found, dtype):
    """The dtype to compute in, checked as PyTorch checks it."""
    if found.category < FLOAT:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {found}"
        )
    if dtype is None:
        return found
    if dtype.category < FLOAT:
        raise RuntimeError(f"{name}: dtype should be floating point or complex. Got {dtype}")
    if (found.category == COMPLEX) != (dtype.category == COMPLEX):
        kind = "complex" if found.category == COMPLEX else "real"
        raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {dtype}")
    if dtype.to_real().itemsize < found.to_real().itemsize:
        raise RuntimeError(
            f"{name}: the dtype of the input ({found}) should be convertible without narrowing to "
            f"the specified dtype ({dtype})"
        )
    return dtype


def _check_empty(name, shape, dims, order):
    """Norms with no value for no elements."""
    if order >= 0 and order != math.inf:
        return
    if dims and any(shape[d] == 0 for d in dims) and math.prod(shape[d] for d in dims) == 0:
        raise RuntimeError(
            f"{name} cannot compute the {order} norm on an empty dimension because the operation "
            f"does not have an identity; the input has shape {shape_text(shape)}"
        )


def _vector_samples(make):
    x = make(3, 4, 2)
    orders = (2, 1, 0, 3, math.inf, -math.inf, 0.5, -1)
    found = [((x, p), {"dim": 1}) for p in orders]
    return [
        ((x,), {}),
        ((x, 3, (0, 2), True), {}),
        ((make(),), {}),
        ((make(0, 3),), {"dim": 0}),
        *found,
    ]


def _vector_meta(x, ord=2, dim=None, keepdim=False, dtype=None):
    target = _norm_dtype("linalg.vector_norm", dtype_of(x), dtype)
    return reduced_shape(x.shape, dim, keepdim), target.to_real()


@op(
    schemas=(
        "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
        "ScalarType? dtype=None) -> Tensor",
    ),
    batching="dims",
    method=False,
    oracle="_C._linalg",
    samples=_vector_samples,
    meta=_vector_meta,
    sweep=(2, 3),
    limited="complex",
    barred="unsigned",
    saves="dim[] keepdim ord result self",
)
def linalg_vector_norm(input: Tensor, ord=2, dim=None, keepdim=False, *, dtype=None):
    """``sum(|x| ** ord) ** (1 / ord)`` over `dim` (all elements by default); for infinite `ord` the
    largest (smallest) size, for 0 the number of nonzeros. `dtype` is what to compute in."""
    target = _norm_dtype("linalg.vector_norm", dtype_of(input), dtype)
    if isinstance(ord, complex) or not hasattr(ord, "__float__"):
        raise RuntimeError(f"linalg.vector_norm: Expected a non-complex scalar as ord, got {ord!r}")
    order = float(ord)
    axes = wrap_dims(dim, input.ndim)
    _check_empty("linalg.vector_norm", input.shape, axes, order)
    values, result = cast(input, target.code), BY_CODE[target.to_real().code]
    if order == 2 and values.dtype.kind == "f" and type(values) is np.ndarray:
        return _norm2.op.cpu_kernel(values, axes, keepdim)
    with np.errstate(all="ignore"):
        values = np.abs(values)
        values = values.astype(np.float32) if values.dtype.itemsize == 2 else values
        found = _power_norm(values, order, axes, keepdim)
        return by_rows(np.asarray(found, result))


def _power_norm(values, order, axes, keepdim):
    options = {"axis": axes, "keepdims": keepdim}
    if order == math.inf:
        return values.max(**options, initial=0) if not values.size else values.max(**options)
    if order == -math.inf:
        return values.min(**options)
    if order == 0:
        return (values != 0).sum(**options)
    if order == 1:
        return _total(values, axes, keepdim)
    if order == 2:
        return np.sqrt(_total(np.square(values), axes, keepdim))
    return np.power(_total(np.power(values, order), axes, keepdim), 1.0 / order)


def _total(values, axes, keepdim):
    """Sums; of arrays in memory by the kernels, which do not add up columns from end to end."""
    if type(values) is np.ndarray:
        return _summed(values, axes, keepdim)
    return values.sum(axis=axes, keepdims=keepdim)


def _phase(x):
    """The sign, or ``x / |x|`` of complex numbers in a form that can be differentiated again; only
    real numbers are divided, which there is a kernel for in every precision."""
    if not x.is_complex():
        return sgn(x)
    size = x.abs()
    return x * where(size == 0, 0.0, 1.0 / where(size == 0, 1.0, size))


def _vector_gradient(grad, input, out, ord, dim, keepdim):
    """Zero where the norm has a kink at 0, as PyTorch has it; extremes share with their ties."""
    order, shape = float(ord), tuple(input.shape)
    out, grad = restore(out, shape, dim, keepdim), restore(grad, shape, dim, keepdim)
    if order == 0:
        return input.detach() * 0
    if order == 1:
        return _phase(input) * grad
    if order == 2:
        return grad * where(out == 0, 0.0, input / out)
    size = input.abs()
    if math.isinf(order):
        extreme = size.detach().amax if order > 0 else size.detach().amin
        mask = size == extreme(() if dim is None else dim, True)
        count = mask.sum(dim if shape else None, bool(shape))
        return _phase(input) * where(mask, grad / count, 0.0)
    if order < 1:
        inner = _phase(input) * where(size == 0, 0.0, size.pow(order - 1))
        return inner * (grad * out.pow(1 - order))
    inner = _phase(input) * size.pow(order - 1) if order < 2 else input * size.pow(order - 2)
    return inner * where(out == 0, 0.0, grad / out.pow(order - 1))


linalg_vector_norm.gradient(input=_vector_gradient)


_SUMMED = {1: "sizes", 2: "root"}


def _prepared_vector_norm(input, ord=2, dim=None, keepdim=False):
    """Orders 1 and 2 of real numbers by one call."""
    if type(ord) not in (int, float) or ord not in _SUMMED or input.dtype.kind in "biuc":
        return None
    axes = wrap_dims(dim, input.ndim)
    return totals.totalled(_SUMMED[ord], input, axes, keepdim, input.dtype)


linalg_vector_norm.cpu(
    by_layout(of_copies(_prepared_vector_norm), linalg_vector_norm.op.body, count=4)
)


def _two_dims(name, dim, ndim):
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple of ints. Got {dim}")
    first, second = (wrap_dim(d, ndim) for d in dims)
    if first == second:
        raise RuntimeError(f"{name}: dims must be different. Got ({dims[0]}, {dims[1]})")
    return first, second


@composite(
    schemas=(
        "linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool "
        "keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        "linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=[-2, -1], bool "
        "keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    ),
    method=False,
    oracle="_C._linalg",
    samples=[(), ("nuc",), (float("inf"), (1, 0), True), (2,)],
)
def linalg_matrix_norm(input: Tensor, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """The norm of the matrices in the two dimensions `dim`: ``"fro"``, ``"nuc"`` (sum of singular
    values), 2 and -2 (largest, smallest singular value), 1, -1, inf, -inf (row and column sums)."""
    name = "linalg.matrix_norm"
    check_matrix(name, input)
    target = _norm_dtype(name, input._dtype, dtype)
    rows, columns = _two_dims(name, dim, input.dim())
    if isinstance(ord, str):
        if ord == "fro":
            input = input if dtype is None else input.to(target)
            return linalg_vector_norm(input, 2, (rows, columns), keepdim)
        if ord != "nuc":
            raise RuntimeError(f"{name}: Order {ord} not supported.")
    elif isinstance(ord, complex) or abs(float(ord)) not in (1.0, 2.0, math.inf):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    input = input.to(target)
    if ord == "nuc" or abs(float(ord)) == 2.0:
        return _spectral(input, ord, rows, columns, keepdim)
    along, over = (rows, columns) if abs(float(ord)) == 1.0 else (columns, rows)
    sums = linalg_vector_norm(input, 1, (along,), True)
    found = _extreme(sums, over, float(ord) > 0)
    return found if keepdim else found.squeeze((rows, columns))


def _extreme(values, dim, largest):
    """The largest, 0 if there is none, or the smallest value."""
    if not largest:
        return values.amin((dim,), True)
    return values.amax((dim,), True) if values.shape[dim] else values.sum((dim,), True)


def _spectral(A, ord, rows, columns, keepdim):
    values = linalg_svdvals(A.movedim((rows, columns), (-2, -1)))
    if ord == "nuc":
        found = values.sum(-1)
    else:
        found = _extreme(values, -1, float(ord) > 0).squeeze(-1)
    if keepdim:
        for d in sorted((rows, columns)):
            found = found.unsqueeze(d)
    return found


@composite(method=False, oracle="_C._linalg", samples=[(), (2,), (1, 1, True)])
def linalg_norm(input: Tensor, ord=None, dim=None, keepdim=False, *, dtype=None):
    """A vector norm or a matrix norm: of all elements without `ord` and `dim`; of a matrix where
    `dim` has two numbers, or A two dimensions; else of vectors along `dim`."""
    count = None if dim is None else 1 if isinstance(dim, int) else len(tuple(dim))
    if ord is None:
        if dtype is None:  # by position: what machine code knows
            return linalg_vector_norm(input, 2, dim, keepdim)
        return linalg_vector_norm(input, 2, dim, keepdim, dtype=dtype)
    if count is None and input.dim() not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{input.dim()}D."
        )
    if count is not None and count not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {dim}"
        )
    if count == 2 or (count is None and input.dim() == 2):
        dims = (0, 1) if dim is None else dim
        return linalg_matrix_norm(input, ord, dims, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise RuntimeError(
            f"linalg.norm: order '{ord}' is a matrix norm; the input has shape "
            f"{shape_text(input.shape)} and dim is {dim}"
        )
    return linalg_vector_norm(input, ord, dim, keepdim, dtype=dtype)


# ----------------------------------------------------------------------------- rank and condition
def _tolerances(name, input, atol, rtol):
    """The absolute tolerance of singular values, `atol` or `rtol` times the largest one, as two
    tensors or numbers; the default is the precision times the larger extent."""
    m, n = input.shape[-2:]
    for value, label in ((atol, "atol"), (rtol, "rtol")):
        if isinstance(value, Tensor) and value.is_complex():
            raise RuntimeError(f"{name}: {label} tensor of complex type is not supported.")
    if rtol is None:
        rtol = epsilon(input._dtype) * max(m, n)
        if isinstance(atol, Tensor):
            rtol = where(atol > 0, 0.0, rtol)
        elif atol is not None and atol > 0:
            rtol = 0.0
    absolute = 0.0 if atol is None else atol
    return absolute, rtol


def _unsqueezed(value):
    return value.unsqueeze(-1) if isinstance(value, Tensor) else value


def cut(name, input, values, atol, rtol):
    """The threshold that singular values must exceed, broadcast against them."""
    absolute, relative = _tolerances(name, input, atol, rtol)
    if not values.shape[-1]:
        return values
    scaled = values.amax((-1,), True) * _unsqueezed(relative)
    absolute = _unsqueezed(absolute)
    if isinstance(absolute, Tensor):
        return where(scaled > absolute, scaled, absolute)
    return where(scaled > absolute, scaled, float(absolute))


@composite(
    schemas=(
        "linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? "
        "rtol=None, bool hermitian=False) -> Tensor",
        "linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? "
        "rtol=None, bool hermitian=False) -> Tensor",
        "linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
        "linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor",
    ),
    method=False,
    oracle="_C._linalg",
    samples="matrix",
    differentiable=False,
    autocast="float32",
)
def linalg_matrix_rank(input: Tensor, tol=None, hermitian=False, *, atol=None, rtol=None):
    """The number of singular values above ``max(atol, rtol * largest)``; of eigenvalues by size if
    `hermitian`. `tol` is an absolute tolerance."""
    check_matrix("torch.linalg.matrix_rank", input)
    if tol is not None:
        atol, rtol = tol, 0.0
    input = input.detach()
    if hermitian:
        check_square("torch.linalg.matrix_rank", input)
    values = linalg_eigvalsh(input).abs() if hermitian else linalg_svdvals(input)
    if not values.shape[-1]:
        from rushlight.dtypes import int64

        return values.new_zeros(tuple(input.shape[:-2]), dtype=int64)
    return (values > cut("torch.linalg.matrix_rank", input, values, atol, rtol)).sum(-1)


@composite(
    schemas=(
        "linalg_cond(Tensor self, Scalar? p=None) -> Tensor",
        "linalg_cond.p_str(Tensor self, str p) -> Tensor",
    ),
    method=False,
    oracle="_C._linalg",
    samples=lambda make: [
        (make.invertible(3, 3),),
        (make.invertible(3, 3), "fro"),
        (make.invertible(2, 2, 2), 1),
    ],
    autocast="float32",
)
def linalg_cond(input: Tensor, p=None):
    """The condition number with respect to a matrix norm: ``norm(A) * norm(inv(A))``; by singular
    values for `p` None, 2 and -2. Singular matrices give inf."""
    name = "linalg.cond"
    check_matrix(name, input)
    if p is None or p in (2, -2):
        values = linalg_svdvals(input)
        if not values.shape[-1]:
            return values.sum(-1)
        top, bottom = values[..., 0], values[..., -1]
        return bottom / top if p == -2 else top / bottom
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"{name} got an invalid norm type: {p}")
    if not isinstance(p, str) and abs(p) not in (1, math.inf):
        raise RuntimeError(f"{name} got an invalid norm type: {p}")
    check_square(name, input)
    if not input.numel():
        return real(input.sum((-2, -1))) * 0
    inverse, info = linalg_inv_ex(input)
    singular = info != 0
    found = linalg_matrix_norm(input, p) * linalg_matrix_norm(inverse, p)
    return where(singular, math.inf, found)

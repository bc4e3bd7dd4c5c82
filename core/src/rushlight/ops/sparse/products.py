"""Matrix products with sparse operands; gradients reach the elements and the dense operand."""

from __future__ import annotations

from rushlight import dtypes
from rushlight.errors import shape_text
from rushlight.kernels.launch.execution import is_low_precision
from rushlight.kernels.sparse import products as kernels
from rushlight.machine import np
from rushlight.ops._table.numpy_names import numpy_names
from rushlight.ops._table.op import op
from rushlight.ops.creation.tensors import zeros
from rushlight.ops.linalg import products as matrix
from rushlight.ops.linalg.products import mm as dense_mm
from rushlight.ops.shape.joining import cat
from rushlight.ops.sparse.creation import to_dense
from rushlight.ops.sparse.elementwise import add, mul
from rushlight.ops.sparse.history import whole
from rushlight.ops.sparse.patterns import BLOCKED, BSC, BSR
from rushlight.ops.sparse.tensors import (
    COO,
    CSR,
    Pattern,
    _tensor,
    adopt,
    as_coo,
    as_csr,
    coalesced,
    is_sparse,
    make_sparse,
    missing,
    rule,
    with_elements,
)
from rushlight.tensor.tensor import Tensor


def _product_shape(values, other, pattern, rows):
    return (pattern.size[rows], other.shape[1]), dtypes.NAMES[values.dtype.name]


def _sampled_shape(left, right, pattern, rows):
    return (pattern.count,), dtypes.NAMES[left.dtype.name]


@op(
    meta=_product_shape,
    method=False,
    tested_by="_embedding",
    samples=lambda make: [],
    batching="spmm",
)
def _spmm(values: Tensor, other: Tensor, pattern, rows):
    """The product of a sparse matrix, its elements `values` (nnz,) in the positions of `pattern`,
    and a dense one; of its transpose where `rows` is 1: the dimension that the rows come from."""
    starts, order = pattern.by(rows)
    return kernels.sparse_times_dense(starts, order, pattern.indices[1 - rows], values, other)


@op(
    meta=_sampled_shape,
    method=False,
    tested_by="_embedding",
    samples=lambda make: [],
    barred="unsigned complex",
)
def _sddmm(left: Tensor, right: Tensor, pattern, rows):
    """``(left @ right.T)`` at the positions of a pattern: (nnz,)."""
    return kernels.sampled_product(left, right, pattern.indices[rows], pattern.indices[1 - rows])


def _conjugate(tensor):
    return tensor.conj() if tensor.is_complex() else tensor


@_spmm.gradients("values", "other")
def _spmm_gradient(grad, values, other, pattern, rows, needs):
    return (
        _sddmm(grad, _conjugate(other), pattern, rows) if needs[0] else None,
        _spmm(_conjugate(values), grad, pattern, 1 - rows) if needs[1] else None,
    )


@_sddmm.gradients("left", "right")
def _sddmm_gradient(grad, left, right, pattern, rows, needs):
    return (
        _spmm(grad, _conjugate(right), pattern, rows) if needs[0] else None,
        _spmm(grad, _conjugate(left), pattern, 1 - rows) if needs[1] else None,
    )


def _check_product(name, input, other):
    if input.dim() != 2 or other.dim() != 2:
        raise RuntimeError(
            f"{name}: expected two matrices, got {input.dim()}D and {other.dim()}D tensors"
        )
    if input.shape[1] != other.shape[0]:
        raise RuntimeError(
            f"{name}: mat1 and mat2 shapes cannot be multiplied ({input.shape[0]}x"
            f"{input.shape[1]} and {other.shape[0]}x{other.shape[1]})"
        )
    if input.dtype is not other.dtype:
        raise RuntimeError(
            f"{name}: expected both matrices to have the same dtype, but got {input.dtype} and "
            f"{other.dtype}"
        )
    for tensor in (input, other):
        if is_sparse(tensor) and tensor.dense_dim():
            raise missing(f"{name} of a tensor with dense dimensions")
    both = is_sparse(input) and is_sparse(other)
    for tensor, without in ((input, BSC), (other, BSR)):
        if is_sparse(tensor) and (tensor.layout == without or both and tensor.layout in BLOCKED):
            raise missing(f"{name} with this operand", tensor)


def _transposed(tensor):
    return _conjugate(tensor).t()


def _pull_of_product(grad, args, options, needs):
    input, mat2 = (as_coo(a) if is_sparse(a) and a.layout in BLOCKED else a for a in args)
    if is_sparse(input) and needs[1]:
        input._pattern.coordinates().by(1)  # kept for the next pass, too
    return (
        grad @ _transposed(mat2) if needs[0] else None,
        _transposed(input) @ grad if needs[1] else None,
    )


def _pull_of_places(grad, args, options, needs):
    """That of a product of two COO matrices: in positions of the operand only."""
    found = _pull_of_product(grad, args, options, needs)
    return [g if g is None else _inside(g, a) for g, a in zip(found, args, strict=True)]


def _inside(grad, tensor):
    """The elements of a gradient in the positions of a tensor. As in PyTorch the others stay as
    zeros where the gradient has as many elements as the tensor."""
    places = coalesced(tensor)._pattern.linear()
    inside = np.isin(grad._pattern.linear(), places)
    if len(inside) == len(places):
        return with_elements(grad, grad._elements.where(_tensor(inside), 0))
    kept = np.nonzero(inside)[0]
    pattern = grad._pattern
    indices = np.ascontiguousarray(pattern.indices[:, kept])
    moved = pattern.moved(indices, coalesced=pattern.coalesced)
    return make_sparse(moved, grad._elements.index_select(0, _tensor(kept)))


def masked_mm(input, mat2):
    """The product of two matrices, sparse if both are; the gradients of sparse ones have their
    places only."""
    if not (is_sparse(input) and is_sparse(mat2)):
        return _product(input, mat2)
    return (_coo_product if input.layout == mat2.layout == COO else _product)(input, mat2)


def _product(input, mat2):
    _check_product(dense_mm.op.name, input, mat2)
    if is_sparse(input) and is_sparse(mat2):
        return _sparse_times_sparse(input, mat2)
    if is_sparse(input):
        tensor = as_coo(input)
        return _spmm(tensor._elements, mat2, _places(tensor), 0)
    tensor = as_coo(mat2)
    return _spmm(tensor._elements, input.t(), _places(tensor), 1).t()


_coo_product = whole(_pull_of_places, node="SparseSparseMatmulBackward0")(_product)


@rule(matrix.mm, every=True)
@whole(_pull_of_product, dense=True, node="MmBackward0")
def mm(input, mat2):
    """The product of two matrices; sparse if both are."""
    return _product(input, mat2)


def _places(tensor):
    pattern = tensor._pattern.coordinates()
    for dim in (0, 1):
        row = pattern.indices[dim]
        if (
            dim not in pattern._orders
            and row.size
            and not (0 <= row.min() and row.max() < pattern.size[dim])
        ):
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {pattern.size[dim]} "
                f"but found index {row.max() if row.min() >= 0 else row.min()}"
            )
    return pattern


def _sparse_times_sparse(input, other):
    """Every product of elements, added up by position."""
    csr = input.layout != COO or other.layout != COO
    first, second = coalesced(as_coo(input)), coalesced(as_coo(other))
    rows, middle = first._pattern.indices
    starts, order = _places(second).by(0)
    lengths = np.diff(starts)[middle]
    left = np.repeat(np.arange(len(middle)), lengths)
    ends = np.cumsum(lengths)
    right = np.arange(len(left)) + np.repeat(starts[middle] - (ends - lengths), lengths)
    if order is not None:
        right = order[right]
    indices = np.stack([rows[left], second._pattern.indices[1][right]])
    elements = first._elements.index_select(0, _tensor(left)) * second._elements.index_select(
        0, _tensor(right)
    )
    size = (first._pattern.size[0], second._pattern.size[1])
    out = coalesced(make_sparse(Pattern(indices, size), elements))
    return as_csr(out) if csr else out


@rule(matrix.mv, every=True)
def mv(input, vec):
    """The product of a sparse matrix (M, N) and a vector (N,)."""
    if not is_sparse(input):
        raise missing("mv with a sparse vector")
    if vec.dim() != 1:
        raise RuntimeError(f"mv: two dim Tensor 'vec' expected to be 1D, got {vec.dim()}D")
    return mm(input, vec.unsqueeze(1)).squeeze(1)


@rule(matrix.matmul, "__matmul__", every=True)
def matmul(input, other):
    """The matrix product by the dimensions of the operands."""
    if is_sparse(input) and other.dim() == 1 and input.dim() == 2:
        return mv(input, other)
    if is_sparse(other) and input.dim() == 1 and other.dim() == 2:
        return mm(input.unsqueeze(0), other).squeeze(0)
    if input.dim() == 3 and other.dim() == 3:
        return bmm(input, other)
    return mm(input, other)


def _pull_of_batch(grad, args, options, needs):
    input, mat2 = args
    first = grad @ _conjugate(mat2).mT if needs[0] else None
    return first, bmm(_conjugate(input).transpose(1, 2), grad) if needs[1] else None


@rule(matrix.bmm)
@whole(_pull_of_batch, dense=True, node="BmmBackward0")
def bmm(input, mat2):
    """Products of the matrices of a sparse batch (B, M, K) and a dense one (B, K, N)."""
    if not is_sparse(input) or is_sparse(mat2) or input.dim() != 3 or input.dense_dim():
        raise missing("bmm other than of a sparse batch and a dense one")
    if mat2.dim() != 3 or mat2.shape[0] != input.shape[0] or mat2.shape[1] != input.shape[2]:
        raise RuntimeError(
            f"bmm: shapes cannot be multiplied: {shape_text(input.shape)} and "
            f"{shape_text(mat2.shape)}"
        )
    batch, rows, inner = input.shape
    b, i, k = input._pattern.indices
    # One block-diagonal matrix.
    pattern = Pattern(np.stack([b * rows + i, b * inner + k]), (batch * rows, batch * inner))
    out = _spmm(input._elements, mat2.reshape(batch * inner, -1), pattern, 0)
    return out.reshape(batch, rows, -1)


@rule(matrix.addmm, every=True)
def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """``beta * input + alpha * mat1 @ mat2``."""
    return add_product(input, mm(mat1, mat2), beta, alpha)


def add_product(input, product, beta, alpha):
    """``beta * input + alpha * product`` of tensors of any layout."""
    product = (
        product if alpha == 1 else mul(product, alpha) if is_sparse(product) else product * alpha
    )
    if is_sparse(product):
        first = mul(input, beta) if beta != 1 else input
        return add(first, product) if is_sparse(input) else first + to_dense(product)
    if is_sparse(input):
        input = to_dense(input)
    return product if beta == 0 else (input if beta == 1 else input * beta) + product


@rule(matrix.addmm, inplace=True)
def addmm_(input, mat1, mat2, *, beta=1, alpha=1):
    """In-place :func:`addmm` of a dense matrix."""
    if is_sparse(input):
        raise missing("addmm_ of a sparse matrix")
    return input.copy_(addmm(input, mat1, mat2, beta=beta, alpha=alpha))


@rule(matrix.addmv, every=True)
def addmv(input, mat, vec, *, beta=1, alpha=1):
    """``beta * input + alpha * mat @ vec``."""
    return (0 if beta == 0 else beta * input) + alpha * mv(mat, vec)


@rule(matrix.linear, every=True)
def linear(input, weight, bias=None):
    """``input @ weight.T + bias`` of a sparse input."""
    if is_sparse(weight):
        product = mm(weight, input.t()).t()
    else:
        product = mm(input, weight.t())
    return product if bias is None else product + bias


@numpy_names
def spmm(input, mat2):
    """The product of a sparse and a dense matrix; as :func:`rushlight.mm`."""
    if not is_sparse(input) and not is_sparse(mat2):
        return dense_mm(input, mat2)
    return mm(input, mat2)


def smm(input, mat):
    """The product of a sparse and a dense matrix as a sparse one."""
    product = mm(input, mat)
    rows = np.unique(as_coo(input)._pattern.indices[0])
    columns = np.arange(product.shape[1])
    indices = np.stack([np.repeat(rows, len(columns)), np.tile(columns, len(rows))])
    pattern = Pattern(indices, tuple(product.shape))
    elements = product.reshape(-1).index_select(0, _tensor(pattern.linear()))
    return make_sparse(pattern, elements)


def sspaddmm(input, mat1, mat2, *, beta=1, alpha=1):
    """``beta * input + alpha * mat1 @ mat2`` of sparse `input` and `mat1` as a sparse matrix, which
    is not coalesced: its positions are those of `input` and then those of the product."""
    for name, tensor in (("input", input), ("mat1", mat1)):
        if not is_sparse(tensor) or tensor.layout != COO:
            raise RuntimeError(
                f"sspaddmm: expected {name!r} to have sparse layout, got {name!r} with layout "
                f"{tensor.layout}; use to_sparse()"
            )
    if is_sparse(mat2):
        raise RuntimeError(
            f"sspaddmm: expected a dense mat2, got one of layout {mat2.layout}; use mat2.to_dense()"
        )
    product = smm(mat1, mat2)
    if input._pattern.size != product._pattern.size or input.dtype is not product.dtype:
        raise RuntimeError(
            f"sspaddmm: the product has shape {shape_text(product.shape)} and dtype "
            f"{product.dtype}; expected the same of input, got {shape_text(input.shape)} and "
            f"{input.dtype}"
        )
    parts = [input._elements * beta, product._elements * alpha]
    indices = [input._pattern.indices, product._pattern.indices]
    return make_sparse(Pattern(np.concatenate(indices, 1), input._pattern.size), cat(parts))


def hspmm(mat1, mat2):
    """The product of a sparse and a dense matrix as a hybrid tensor: sparse rows, dense columns."""
    product = mm(mat1, mat2)
    rows = np.unique(as_coo(mat1)._pattern.indices[0])
    pattern = Pattern(rows[None], tuple(product.shape))
    return make_sparse(pattern, product.index_select(0, _tensor(rows)))


def mm_reduce(input, mat2, reduce):
    """``input @ mat2`` of a CSR matrix with the terms of each result combined by sum, mean, amax or
    amin (max and min say the same); a row without elements gives zeros. Of equal extremes the
    first has the gradient, of several nan the last."""
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(
            f"sparse.mm: reduce must be one of sum, mean, amax and amin, got {reduce!r}"
        )
    if not is_sparse(input) or input.layout != CSR or input._pattern.special:
        raise NotImplementedError(
            "sparse.mm: reduce takes a first matrix of layout sparse_csr; use mat1.to_sparse_csr()"
        )
    if is_sparse(mat2):
        raise RuntimeError(
            f"sparse.mm: reduce takes a dense mat2, got one of layout {mat2.layout}; use "
            "mat2.to_dense()"
        )
    _check_product(dense_mm.op.name, input, mat2)
    if reduce in ("amax", "amin"):
        return _extreme_terms(input, mat2, reduce)
    rows, columns = _places(input).indices
    terms = input._elements.unsqueeze(1) * mat2.index_select(0, _tensor(columns))
    shape = input._pattern.size[0], mat2.shape[1]
    out = zeros(shape, dtype=terms.dtype, device=terms.device)
    index = _tensor(rows).unsqueeze(1).expand(terms.shape)
    found = out.scatter_add(0, index, terms)
    if reduce == "sum":
        return found
    counts = np.bincount(rows, minlength=out.shape[0]).clip(1)
    return found / _tensor(counts).unsqueeze(1)


def _extreme_terms(input, mat2, reduce):
    """The largest or smallest term of each result, through the place that it comes from."""
    starts = _places(input).by(0)[0]
    columns = input._pattern.columns
    terms = (input._elements.detach().unsqueeze(1) * mat2.detach()[_tensor(columns)])._array
    terms = terms.astype(np.float32) if is_low_precision(terms.dtype) else terms
    best, width = np.maximum if reduce == "amax" else np.minimum, terms.shape[1]
    used = np.nonzero(np.diff(starts))[0]
    size = input._pattern.size[0], width
    if not len(used) or not width:
        return zeros(size, dtype=input.dtype, device=input.device)
    heads, lengths = starts[used], np.diff(starts)[used]
    extreme = np.repeat(best.reduceat(terms, heads, axis=0), lengths, axis=0)
    places = np.arange(len(columns))[:, None]
    first = np.minimum.reduceat(np.where(terms == extreme, places, len(columns)), heads, axis=0)
    last_nan = np.maximum.reduceat(np.where(terms != terms, places, -1), heads, axis=0)
    place = np.where(last_nan >= 0, last_nan, first)
    of_column = _tensor(columns[place].astype(np.int64, copy=False))
    taken = input._elements[_tensor(place)] * mat2.gather(0, of_column)
    out = zeros(size, dtype=taken.dtype, device=taken.device)
    return out.index_copy(0, _tensor(used), taken)


@numpy_names
def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0, out=None):
    """``beta * input + alpha * (mat1 @ mat2)`` at the positions of the CSR matrix `input` only."""
    if not is_sparse(input) or input.layout != CSR or input._pattern.special:
        raise RuntimeError("sampled_addmm: Expected self to be a tensor with sparse CSR layout")
    if mat1.dim() != 2 or mat2.dim() != 2 or mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied "
            f"({'x'.join(map(str, mat1.shape))} and {'x'.join(map(str, mat2.shape))})"
        )
    if (mat1.shape[0], mat2.shape[1]) != input._pattern.size:
        raise RuntimeError(
            f"sampled_addmm: self has shape {shape_text(input.shape)}, expected "
            f"[{mat1.shape[0]}, {mat2.shape[1]}]"
        )
    found = _sddmm(mat1, mat2.t(), _places(input), 0) * alpha
    result = with_elements(input, found if beta == 0 else input._elements * beta + found)
    if out is None:
        return result
    if result.requires_grad or out.requires_grad:
        raise RuntimeError(
            "sampled_addmm(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad."
        )
    if not is_sparse(out) or out.layout != CSR or out.dtype is not result.dtype:
        raise RuntimeError(
            f"sampled_addmm: Expected out to be a sparse CSR tensor of dtype {result.dtype}, got "
            f"layout {out.layout} and dtype {out.dtype}"
        )
    return adopt(out, result)


def spdiags(diagonals, offsets, shape, layout=None):
    """A sparse matrix (M, N) whose diagonals `offsets` (D,) are the rows of `diagonals` (D, L):
    column j of a diagonal holds its element j."""
    diagonals = diagonals.unsqueeze(0) if diagonals.dim() == 1 else diagonals
    numbers = np.atleast_1d(offsets._array)
    if len(np.unique(numbers)) != len(numbers):
        raise RuntimeError("spdiags(): Offset tensor contains duplicate values")
    if len(numbers) != diagonals.shape[0]:
        raise RuntimeError(
            f"spdiags(): Number of diagonals ({diagonals.shape[0]}) does not match the number of "
            f"offsets ({len(numbers)})"
        )
    rows, columns, places = [], [], []
    width = diagonals.shape[1]
    for d, offset in enumerate(numbers.tolist()):
        j = np.arange(max(0, offset), min(shape[1], shape[0] + offset, width))
        rows.append(j - offset)
        columns.append(j)
        places.append(d * width + j)
    indices = np.stack([np.concatenate(rows), np.concatenate(columns)]).astype(np.int64)
    elements = diagonals.reshape(-1).index_select(0, _tensor(np.concatenate(places)))
    made = make_sparse(Pattern(indices, tuple(shape)), elements)
    if layout in (None, COO):
        return made
    if layout == CSR:
        return as_csr(made)
    raise RuntimeError(
        f"spdiags(): Only output layouts (Sparse, SparseCsr) are supported, got {layout}"
    )

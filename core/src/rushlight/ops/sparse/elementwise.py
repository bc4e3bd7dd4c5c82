"""Arithmetic of sparse tensors element by element, with scalars, and with dense tensors."""

from __future__ import annotations

from rushlight import dtypes
from rushlight.autograd.mode import mode
from rushlight.errors import shape_text
from rushlight.kernels.sparse.products import merged_places
from rushlight.machine import np
from rushlight.ops._table.op import TABLE
from rushlight.ops.creation.tensors import zeros, zeros_like
from rushlight.ops.elementwise import (  # noqa: F401 - declare some of the ops
    arithmetic,
    comparison,
    complex_numbers,
    floating_point,
)
from rushlight.ops.reduction import (  # noqa: F401 - declare some of the ops
    sums_and_extremes as reduction,
)
from rushlight.ops.shape import rearranging  # noqa: F401 - declare some of the ops
from rushlight.ops.shape.joining import cat
from rushlight.ops.sparse.creation import _check_places, _picked, to_dense, to_dense_wholly
from rushlight.ops.sparse.history import only_first, whole
from rushlight.ops.sparse.patterns import CSC
from rushlight.ops.sparse.tensors import (
    COO,
    CSR,
    _tensor,
    adopt,
    as_coo,
    as_csr,
    as_layout,
    coalesced,
    is_sparse,
    make_sparse,
    missing,
    rule,
    with_elements,
)
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import Tensor


def _pull_of(op):
    """The gradient of an op by its slope (`sparse_slope`), as for :func:`whole`: what the gradient
    of the result is multiplied with, no elements where that is 0. None for the others."""
    slope = op.options.get("sparse_slope")
    if slope is None:
        return None
    if slope == 0:
        return only_first(lambda grad, input, *args, **options: zeros_like(grad))
    return only_first(lambda grad, input: grad if slope == 1 else grad * slope)


def _unary(op):
    """What an op with f(0) = 0 does, writing into its input or not: it acts on elements alone."""
    function, linear = op.function, op.options["sparse"] == "linear"

    def call(input, *args, **kwargs):
        tensor = input if linear or input.layout != COO else coalesced(input)
        return with_elements(tensor, function(tensor._elements, *args, **kwargs))

    pull = _pull_of(op)
    call = call if pull is None else _for_real(whole(pull, node=op.node_name)(call), call)

    def call_(input, *args, **kwargs):
        if not linear and input.layout == COO and not input._pattern.coalesced:
            raise RuntimeError(f"{op.name}_ requires coalesced input: call coalesce() first")
        return adopt(input, call(input, *args, **kwargs))

    return call, call_


def _for_real(recorded, other):
    """A function that records calls on whole tensors of real numbers."""

    def call(input, *args, **kwargs):
        return (other if input.is_complex() else recorded)(input, *args, **kwargs)

    return call


def bind_declared():
    """Rules of the ops that declare ``sparse=``: "elements" for those with f(0) = 0, "linear" where
    elements of one index need not be summed before, "plain" for coordinates and CSR alone."""
    for op in TABLE.values():
        kind = op.options.get("sparse")
        if kind is not None:
            for function, inplace in zip(_unary(op), (False, True), strict=True):
                rule(op.function, inplace=inplace, every=kind != "plain")(function)


bind_declared()


def _part(name):
    def call(input):
        return with_elements(input, getattr(input._elements, name))

    return call


rule("imag", every=True)(_part("imag"))
rule("real", every=True)(_for_real(whole(only_first(lambda grad, input: grad))(_part("real")),
                                   _part("real")))  # fmt: skip


@rule(rearranging.is_same_size, every=True)
def is_same_size(input, other):
    """Whether two tensors have one shape."""
    return tuple(input.shape) == tuple(other.shape)


def _check_same_size(name, input, other):
    if input._pattern.size != other._pattern.size:
        raise RuntimeError(
            f"{name}: expected 'self' and 'other' to have same size, but "
            f"{shape_text(input.shape)} != {shape_text(other.shape)}"
        )


def _scaled(tensor, alpha):
    return tensor if isinstance(alpha, int | float) and alpha == 1 else tensor * alpha


@rule(arithmetic.add, every=True)
def add(input, other, *, alpha=1):
    """Sparse + sparse, or dense + sparse (dense)."""
    if not is_sparse(input):
        return _add_to_dense(input, other, alpha)
    if isinstance(other, Tensor) and not is_sparse(other) and input.layout in (CSR, CSC):
        return (
            to_dense_wholly(input) + _scaled(other, alpha) if input.dim() == 2 else _refuse(input)
        )
    if not is_sparse(other):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    return _add_sparse(input, other, alpha)


def _pull_of_sum(grad, args, options, needs):
    return grad, _scaled(grad, _conjugate(args[2])), None


def _conjugate(value):
    """The complex conjugate of a tensor of any layout, or of a number."""
    if isinstance(value, Tensor):
        return value.conj() if value.is_complex() else value
    return value.conjugate()


@whole(_pull_of_sum, node="AddBackward0")
def _add_sparse(input, other, alpha):
    _check_same_size(add.__name__, input, other)
    if input._pattern.special or other._pattern.special:
        return _add_compressed(input, other, alpha)
    csr = input.layout == CSR and other.layout == CSR
    first, second = as_coo(input), as_coo(other)
    if first._pattern.sparse_dim != second._pattern.sparse_dim:
        raise RuntimeError("add: Expected both tensors to have the same number of sparse dims")
    scaled = _scaled(second._elements, alpha)
    adjacent = csr or all(part.is_contiguous() for part in (first._held, second._held))
    if first._pattern is second._pattern and adjacent:
        added = with_elements(first, first._elements + scaled)
        return as_csr(added) if csr else added
    dtype = dtypes.promote_types(input.dtype, other.dtype)
    parts = first._elements.to(dtype), scaled.to(dtype)
    joined = (_merged if adjacent else _behind)(first._pattern, second._pattern, *parts)
    return as_csr(joined) if csr else joined


def _behind(first, second, *parts):
    """The positions of two patterns one after the other."""
    indices = np.concatenate([first.indices, second.indices], 1)
    return make_sparse(first.moved(indices, coalesced=False), cat(parts))


def _merged(first, second, *parts):
    """The positions of two patterns merged; coalesced if both are, and no more than both where they
    are not."""
    both = first.coalesced and second.coalesced
    left, right = merged_places(first.linear(), second.linear())
    if (left >= 0).all() and (right >= 0).all():
        return make_sparse(first.moved(coalesced=both), parts[0] + parts[1])
    indices = np.concatenate([first.indices, second.indices], 1)
    indices = indices[:, np.where(left >= 0, left, right + first.count)]
    added = [_with_gaps(part, places) for part, places in zip(parts, (left, right), strict=True)]
    return make_sparse(first.moved(indices, coalesced=both), added[0] + added[1])


def _with_gaps(elements, places):
    """The elements at positions, zero where a position is -1."""
    if (places >= 0).all():
        return elements.index_select(0, _tensor(places))
    row = zeros((1, *elements.shape[1:]), dtype=elements.dtype, device=elements.device)
    return cat([elements, row]).index_select(
        0, _tensor(np.where(places < 0, elements.shape[0], places))
    )


def _refuse(tensor):
    raise missing(add.__name__, tensor)


def _add_compressed(input, other, alpha):
    """The sum of two tensors of one compressed layout, in that layout."""
    first, second = input._pattern, other._pattern
    if first.layout != second.layout or first.blocksize != second.blocksize:
        raise missing(f"add of layouts {first.layout} and {second.layout}")
    scaled = _scaled(other._elements, alpha)
    same = first is second or (
        first.columns.shape == second.columns.shape
        and np.array_equal(first.starts, second.starts)
        and np.array_equal(first.columns, second.columns)
    )
    if same:
        return with_elements(input, input._elements + scaled)
    both = add(coalesced(as_coo(input)), coalesced(as_coo(with_elements(other, scaled))))
    return as_layout(both, first.layout, first.blocksize, len(first.batch))


def _add_to_dense(input, other, alpha):
    if (
        is_sparse(other)
        and other._pattern.special
        and not (other.layout == CSC and other.dim() == 2)
    ):
        _refuse(other)
    if isinstance(input, Tensor):
        return input + _scaled(to_dense_wholly(other), alpha)
    raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")


@rule(arithmetic.add, inplace=True, every=True)
def add_(input, other, *, alpha=1):
    """Add into a sparse tensor, or a sparse one into a dense one (only its positions are
    touched)."""
    if is_sparse(input) and input._pattern.special and not is_sparse(other):
        raise missing(add_.__name__, input)
    if not is_sparse(input) and other._pattern.special and other.layout not in (CSR, CSC):
        raise missing(add_.__name__, other)
    if is_sparse(input):
        return adopt(input, add(input, other, alpha=alpha))
    if other._node is not None and mode.recording:
        return input.add_(to_dense_wholly(other), alpha=alpha)
    tensor = as_coo(other)
    pattern = tensor._pattern
    if tuple(input.shape) != pattern.size:
        raise RuntimeError(
            f"add_: expected 'self' and 'other' to have same size, but {shape_text(input.shape)} "
            f"!= {shape_text(other.shape)}"
        )
    recorded = mode.recording and (input.requires_grad or tensor.requires_grad)
    if not recorded and type(input._array) is np.ndarray and input._array.flags.writeable:
        return _add_places(input, coalesced(tensor), alpha)
    elements = _scaled(tensor._elements, alpha).to(input.dtype)
    if pattern.sparse_dim == 1:
        return input.index_add_(0, _tensor(pattern.indices[0]), elements)
    if not input.is_contiguous():
        return input.add_(to_dense(other), alpha=alpha)
    flat = input.view(-1, *pattern.size[pattern.sparse_dim :])
    flat.index_add_(0, _tensor(pattern.linear()), elements)
    return input


def _add_places(input, tensor, alpha):
    """Add into the positions of a coalesced tensor, and touch no others: what steps with sparse
    gradients of large tables come down to."""
    pattern = tensor._pattern
    _check_places(pattern.indices, pattern.size)
    elements = _scaled(tensor._elements.detach(), alpha).to(input.dtype)
    input._array[tuple(pattern.indices)] += elements._array
    storage_of(input).version += 1
    return input


@rule(arithmetic.sub)
def sub(input, other, *, alpha=1):
    """``input - alpha * other``."""
    if is_sparse(input) and not is_sparse(other):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    return add(input, other, alpha=-alpha)


@rule(arithmetic.sub, inplace=True)
def sub_(input, other, *, alpha=1):
    """In-place :func:`sub`."""
    return add_(input, other, alpha=-alpha)


def _pull_of_product(grad, args, options, needs):
    input, other = args
    return (
        grad * _conjugate(other) if needs[0] else None,
        grad * _conjugate(input) if needs[1] else None,
    )


@rule(arithmetic.mul, every=True)
@whole(_pull_of_product, node="MulBackward0")
def mul(input, other):
    """Element by element: with a number, a dense tensor, or at the positions both have."""
    if not is_sparse(input):
        input, other = other, input
    if not isinstance(other, Tensor) or (not is_sparse(other) and other.dim() == 0):
        return with_elements(input, input._elements * other)
    if input._pattern.special or is_sparse(other) and other._pattern.special:
        raise missing(mul.__name__, input)
    if is_sparse(other):
        return _intersection(input, other)
    csr, tensor = input.layout == CSR, as_coo(input)
    if tuple(other.shape) != tensor._pattern.size:
        other = other.expand(tensor._pattern.size)
    made = with_elements(tensor, tensor._elements * _picked(other, tensor._pattern))
    return as_csr(made) if csr else made


def _intersection(input, other):
    _check_same_size(mul.__name__, input, other)
    csr = input.layout == CSR and other.layout == CSR
    first, second = as_coo(input), as_coo(other)
    if first._pattern.sparse_dim != second._pattern.sparse_dim:
        raise missing("mul of tensors with different numbers of sparse dimensions")
    if not first._pattern.coalesced:
        return _at_places(first, coalesced(second))
    if not second._pattern.coalesced:
        return _at_places(second, first)
    if first._pattern is second._pattern:
        made = with_elements(first, first._elements * second._elements)
        return as_csr(made) if csr else made
    _, a, b = np.intersect1d(
        first._pattern.linear(), second._pattern.linear(), assume_unique=True, return_indices=True
    )
    pattern = first._pattern.moved(np.ascontiguousarray(first._pattern.indices[:, a]), None, True)
    left = first._elements.index_select(0, _tensor(a))
    made = make_sparse(pattern, left * second._elements.index_select(0, _tensor(b)))
    return as_csr(made) if csr else made


def _at_places(tensor, other):
    """The product at every position of a tensor that is not coalesced, with one that is: PyTorch
    keeps the positions then."""
    keys, wanted = other._pattern.linear(), tensor._pattern.linear()
    at = np.searchsorted(keys, wanted)
    found = np.append(keys, -1)[at] == wanted
    factors = _with_gaps(other._elements, np.where(found, at, -1))
    return with_elements(tensor, tensor._elements * factors)


@rule(arithmetic.mul, inplace=True, every=True)
def mul_(input, other):
    """In-place :func:`mul`."""
    if not is_sparse(input):
        return input.copy_(to_dense(mul(input, other)))
    return adopt(input, mul(input, other))


def _pull_of_quotient(grad, args, options, needs):
    if options.get("rounding_mode") is not None:
        return zeros_like(grad), None
    return grad / _conjugate(args[1]), None


@rule(arithmetic.div, arithmetic.true_divide)
@whole(_pull_of_quotient, node="DivBackward0")
def div(input, other, *, rounding_mode=None):
    """Divided by a number or a tensor of no dimensions."""
    if not is_sparse(input) or is_sparse(other) or (isinstance(other, Tensor) and other.dim()):
        shape = shape_text(other.shape) if isinstance(other, Tensor) else "[]"
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{shape} for divisor)"
        )
    tensor = coalesced(input) if rounding_mode is not None else input
    return with_elements(tensor, tensor._elements.div(other, rounding_mode=rounding_mode))


@rule(arithmetic.div, inplace=True)
def div_(input, other, *, rounding_mode=None):
    """In-place :func:`div`."""
    return adopt(input, div(input, other, rounding_mode=rounding_mode))


@rule(arithmetic.floor_divide)
def floor_divide(input, other):
    """Divided by a number, and rounded down."""
    return div(input, other, rounding_mode="floor")


@rule(arithmetic.floor_divide, inplace=True)
def floor_divide_(input, other):
    """In-place :func:`floor_divide`."""
    return adopt(input, floor_divide(input, other))


@rule(arithmetic.pow)
def pow(input, exponent):
    """Elements to the power of a number; positions without an element stay zero."""
    if not is_sparse(input) or isinstance(exponent, Tensor) and exponent.dim():
        raise missing("pow with a tensor as exponent")
    if float(exponent) == 0:
        raise RuntimeError("pow: of a sparse tensor the exponent must not be 0, which makes ones")
    tensor = coalesced(input) if input.layout == COO else input
    return with_elements(tensor, tensor._elements.pow(exponent))


@rule(arithmetic.pow, inplace=True)
def pow_(input, exponent):
    """In-place :func:`pow`."""
    return adopt(input, pow(input, exponent))


@rule(reduction.any)
def any(input, dim=None, keepdim=False):
    """Whether an element is not zero."""
    if dim is not None:
        raise missing("any along a dimension")
    return coalesced(as_coo(input))._elements.any()


@rule(
    comparison.isclose,
    comparison.allclose,
    comparison.equal,
    comparison.eq,
    comparison.ne,
    comparison.lt,
    comparison.le,
    comparison.gt,
    comparison.ge,
    arithmetic.maximum,
    arithmetic.minimum,
)
def _compared(*args, **kwargs):
    raise missing("comparison")

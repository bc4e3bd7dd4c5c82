"""Products beside the matrix product: Kronecker, inner, tensor contractions, traces."""

from __future__ import annotations

import math

from rushlight import dtypes
from rushlight.dtypes import BOOL, FLOAT
from rushlight.errors import shape_text
from rushlight.kernels.gemm import vectors
from rushlight.kernels.launch.prepared import by_layout, by_layouts
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._calls.direct import on_cpu, tensor_of, unrecorded
from rushlight.ops._table.former_calls import orders_of_scaled_sum
from rushlight.ops._table.number_limits import OPERANDS, check_factors
from rushlight.ops._table.op import composite, op
from rushlight.ops.indexing.slicing import diagonal_gradient
from rushlight.ops.linalg.products import dot, matmul, mm
from rushlight.tensor import construction
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.shape import wrap_dim
from rushlight.tensor.tensor import EXACT, Tensor, add_methods


def _kronecker_by_ops(input, other):
    """The way of arrays that no kernel takes."""
    return NotImplemented


_kronecker = by_layouts(vectors.kronecker, _kronecker_by_ops)


@composite(
    samples=lambda make: [(make(2), make(2, 2)), (make(2, 3), make(2, 2))], autocast="as_given"
)
def kron(input: Tensor, other: Tensor):
    """The Kronecker product: every element of `input` times the whole of `other`."""
    if unrecorded(input, other):
        found = _kronecker(input._array, other._array)
        if found is not NotImplemented:
            return tensor_of(found)
    count = max(input.dim(), other.dim())
    a = (1,) * (count - input.dim()) + tuple(input.shape)
    b = (1,) * (count - other.dim()) + tuple(other.shape)
    left = input.reshape([n for size in a for n in (size, 1)])
    right = other.reshape([n for size in b for n in (1, size)])
    return (left * right).reshape([m * n for m, n in zip(a, b, strict=True)])


@composite(
    samples=lambda make: [(make(), make(2, 2)), (make(3), make(3)), (make(2, 3), make(4, 3))]
)
def inner(input: Tensor, other: Tensor):
    """The products of vectors in the last dimensions, for all pairs (a product if one is 0-d)."""
    if not input.dim() or not other.dim():
        return input * other
    if input.dim() == other.dim() == 1 and input.shape == other.shape:
        return dot(input, other)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes "
            f"{shape_text(input.shape)} and {shape_text(other.shape)}"
        )
    if other.dim() == 2 and input._dtype is other._dtype:
        return matmul(input, other.t())
    return tensordot(input, other, ([-1], [-1]))


@composite(samples=lambda make: [(make(0), make(0)), (make(3), make(3))], autocast="as_given")
def vdot(input: Tensor, other: Tensor):
    """The inner product of two vectors, the first one conjugated."""
    if not (input.is_complex() and input._dtype is other._dtype):
        return dot(input, other)
    return dot(input.conj(), other)


def _contracted(dims):
    """The dimensions of both sides that a `dims` argument names; None for a plain number."""
    if isinstance(dims, Tensor):
        if dims.numel() == 1:
            return dims.item()
        dims = dims.tolist()
    if isinstance(dims, int):
        return dims
    first, second = dims
    pair = [[d] if isinstance(d, int) else list(d) for d in (first, second)]
    if len(pair[0]) != len(pair[1]):
        raise RuntimeError("both dimension lists should have same length")
    return pair


@composite(
    in_aten=False,
    method=False,
    samples=lambda make: [
        (make(2, 3, 2), make(3, 2, 4)),
        (make(3, 4), make(4, 2), 1),
        (make(2, 3), make(4, 2), ((0,), (1,))),
    ],
)
def tensordot(a: Tensor, b: Tensor, dims: int | list = 2):
    """The sum of products over pairs of dimensions: `dims` last ones of `a` with as many first ones
    of `b`, or the two lists that `dims` holds.

    >>> rushlight.tensordot(rushlight.ones(2, 3), rushlight.ones(3, 4), dims=1).shape
    rushlight.Size([2, 4])
    """
    dims = _contracted(dims)
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = [list(range(a.dim() - dims, a.dim())), list(range(dims))]
    left = [wrap_dim(d, a.dim()) for d in dims[0]]
    right = [wrap_dim(d, b.dim()) for d in dims[1]]
    for i, j in zip(left, right, strict=True):
        if a.shape[i] == b.shape[j]:
            continue
        if a.shape[i] == 1:
            b = b.sum(j, True)
        elif b.shape[j] == 1:
            a = a.sum(i, True)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} "
                f"and second has size {b.shape[j]} in dim {j}"
            )
    if a._dtype is not b._dtype:
        raise RuntimeError(
            f"tensordot: both inputs should have the same dtype, got {a._dtype} and {b._dtype}"
        )
    keep_a = [i for i in range(a.dim()) if i not in left]
    keep_b = [j for j in range(b.dim()) if j not in right]
    shape = [a.shape[i] for i in keep_a] + [b.shape[j] for j in keep_b]
    count = math.prod(a.shape[i] for i in left)
    rows = math.prod(a.shape[i] for i in keep_a)
    columns = math.prod(b.shape[j] for j in keep_b)
    first = a.permute(keep_a + left).reshape(rows, count)
    second = b.permute(right + keep_b).reshape(count, columns)
    return mm(first, second).reshape(shape)


@composite(
    limited=False,
    samples=lambda make: [(make(3, 3),), (make(0, 2),), (make(3, 4),)],
    autocast="float32",
)
def trace(input: Tensor):
    """The sum of a matrix's diagonal."""
    if input.dim() != 2:
        raise RuntimeError(
            f"trace: expected a matrix, but got a tensor of shape {shape_text(input.shape)}"
        )
    plain = type(input) in EXACT and not STATE.modes
    if plain and input._node is None:
        out = _TRACE.call(input)
        if out is not NotImplemented:
            return construction.inferred(out) if STATE.inference else out
    if plain and input._dtype in _TRACED and on_cpu(input):
        return _trace(input)
    return input.diagonal().sum()


@op(
    linear=True,
    method=False,
    samples=lambda make: [((make(3, 4),), {}), ((make(0, 2),), {})],
    tested_by="trace",
    meta=lambda input: ((), dtype_of(input)),
    batching="trace",
)
def _trace(input: Tensor):
    """The sum of a matrix's diagonal, one element after the other in float64."""
    diagonal = np.concatenate([np.zeros(1), input.diagonal()])  # of float64
    return np.asarray(np.cumsum(diagonal)[-1], input.dtype)


_TRACED = frozenset({dtypes.float32, dtypes.float64})
_trace.cpu(by_layout(vectors.trace, _trace.op.body))
_TRACE = _trace.op.cpu_kernel.short
_trace.op.node_name = "TraceBackward0"
_trace.gradient(
    input=lambda grad, input_shape: diagonal_gradient(
        grad.expand((min(input_shape),)), input_shape, 0, 0, 1
    )
)


def _check_factors(dtype, **factors):
    for name, value in factors.items():
        if dtype.category < FLOAT and isinstance(value, float):
            raise RuntimeError(f"addr: {name} is {value}, which does not go with {dtype} operands")
        check_factors(addr.op.name, OPERANDS, dtype, **{name: value})


@composite(
    limited="unsigned",
    former=orders_of_scaled_sum("vec1 vec2"),
    samples=lambda make: [
        (make(3, 2), make(3), make(2)),
        (make(2), make(3), make(2), {"beta": 2, "alpha": 3}),
    ],
    autocast="as_given",
)
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta=1, alpha=1):
    """``beta * input + alpha * outer(vec1, vec2)``."""
    if vec1.dim() != 1 or vec2.dim() != 1:
        raise RuntimeError(
            f"addr: Expected 1-D argument vec1 and vec2, but got {vec1.dim()}-D and {vec2.dim()}-D"
        )
    found = [t._dtype for t in (input, vec1, vec2)]
    _check_factors(vec1._dtype, beta=beta, alpha=alpha)
    if all(d.category == BOOL for d in found):
        product = (vec1.unsqueeze(1) & vec2) & bool(alpha)
        return product if not beta else product | input
    if len(set(found)) == 1 and found[0].category == FLOAT and found[0].itemsize == 2:
        wide = (t.float() for t in (input, vec1, vec2))
        return addr(*wide, beta=beta, alpha=alpha).to(found[0])
    product = vec1.unsqueeze(1) * vec2
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        shape = product.shape
        return (product + input.new_zeros(tuple(shape))).to((product + input)._dtype)
    return (input if beta == 1 else input * beta) + product


def _addr_inplace(self, vec1, vec2, *, beta=1, alpha=1):
    """In-place version of :func:`rushlight.addr`."""
    return self.copy_(addr(self, vec1, vec2, beta=beta, alpha=alpha))


add_methods(addr_=_addr_inplace)

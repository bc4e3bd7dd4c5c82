"""Triangles and diagonals of matrices."""

from __future__ import annotations

from rushlight.errors import shape_text
from rushlight.kernels.copying import moving
from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.launch.prepared import by_layout, of_copies
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.op import composite, op
from rushlight.ops._table.shape_rules import checked, diagonals, like
from rushlight.ops.indexing.slicing import diagonal_gradient
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.shape import wrap_dim
from rushlight.tensor.tensor import EXACT, Tensor


def _two_dimensions(name, array):
    if array.ndim < 2:
        raise RuntimeError(
            f"{name}: input tensor must have at least 2 dimensions, got shape "
            f"{shape_text(array.shape)}"
        )


def _shape_of(name):
    """The check of a shape rule."""
    return lambda input, *_args: _two_dimensions(name, input)


@op(
    linear=True,
    batching="trailing",
    meta=checked(_shape_of("tril"), like),
    samples=lambda make: [((make(3, 4),), {}), ((make(3, 4), 1), {})],
    inplace=True,
    limited="complex",
)
def tril(input: Tensor, diagonal=0):
    """The lower triangle of (a batch of) matrices; zeros above `diagonal`."""
    _two_dimensions("tril", input)
    return by_rows(np.tril(input, diagonal))


tril.cpu(by_layout(of_copies(lambda x, k=0: moving.triangle(x, k, True)), tril.op.body))
tril.gradient(input=lambda grad, diagonal: grad.tril(diagonal))


@op(
    linear=True,
    batching="trailing",
    meta=checked(_shape_of("triu"), like),
    samples=lambda make: [((make(3, 4),), {}), ((make(3, 4), -1), {})],
    inplace=True,
    limited="complex",
)
def triu(input: Tensor, diagonal=0):
    """The upper triangle of (a batch of) matrices; zeros below `diagonal`."""
    _two_dimensions("triu", input)
    return by_rows(np.triu(input, diagonal))


triu.cpu(by_layout(of_copies(lambda x, k=0: moving.triangle(x, k, False)), triu.op.body))
triu.gradient(input=lambda grad, diagonal: grad.triu(diagonal))


@composite(samples=lambda make: [(make(3),), (make(2), -1), (make(3, 4), 1)])
def diag(input: Tensor, diagonal=0):
    """A matrix with a vector on its diagonal, or the diagonal of a matrix."""
    if not 1 <= input.dim() <= 2:
        raise RuntimeError(
            f"diag(): Supports 1D or 2D tensors. Got a tensor of shape {shape_text(input.shape)}"
        )
    if input.dim() == 1:
        return diag_embed(input, diagonal)
    if type(input) in EXACT and not STATE.modes:
        return _diagonal_copy(input, diagonal)
    return input.diagonal(diagonal).clone()


def _diagonal_length(input, offset):
    rows, columns = input.shape
    return max(0, min(rows + min(offset, 0), columns - max(offset, 0)))


@op(
    linear=True,
    method=False,
    samples=lambda make: [((make(3, 4),), {}), ((make(3, 4), 1), {}), ((make(3, 4), -2), {})],
    tested_by="diag",
    meta=lambda input, offset=0: ((_diagonal_length(input, offset),), dtype_of(input)),
    limited="unsigned complex eight",
    batching="diagonal_copy",
)
def _diagonal_copy(input: Tensor, offset=0):
    """A copy of a matrix's diagonal."""
    return input.diagonal(offset).copy()


def _prepared_diagonal(input, offset=0):
    if type(offset) is not int:
        return None
    down, across = input.strides
    start = offset * across if offset >= 0 else -offset * down
    shape = (_diagonal_length(input, offset),)
    return moving.copied(input, shape, (down + across,), start, shape)


_diagonal_copy.cpu(by_layout(_prepared_diagonal, _diagonal_copy.op.body))
_diagonal_copy.op.node_name = "DiagonalBackward0_copy"
_diagonal_copy.gradient(
    input=lambda grad, input_shape, offset: diagonal_gradient(grad, input_shape, offset, 0, 1)
)


@op(
    linear=True,
    meta=diagonals,
    samples=lambda make: [((make(3),), {}), ((make(2, 3), 1), {})],
    limited="unsigned complex eight",
    batching="diag_embed",
)
def diag_embed(input: Tensor, offset=0, dim1=-2, dim2=-1):
    """Vectors of the last dimension as diagonals of matrices."""
    if not input.ndim:
        raise RuntimeError("diag_embed(): the input must have at least one dimension, got none")
    dims = [wrap_dim(d, input.ndim + 1) for d in (dim1, dim2)]
    if dims[0] == dims[1]:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = input.shape[-1] + (offset if offset > 0 else -offset)
    out = np.zeros((*input.shape[:-1], size, size), input.dtype)
    i = np.arange(input.shape[-1])
    out[..., i + max(-offset, 0), i + max(offset, 0)] = input
    return by_rows(np.moveaxis(out, (-2, -1), (dim1, dim2)))


def _prepared_embedding(input, offset=0, dim1=-2, dim2=-1):
    if (dim1, dim2) == (-2, -1) and input.ndim == 1 and type(offset) is int:
        return moving.embedded(input, offset)
    return None


diag_embed.cpu(by_layout(_prepared_embedding, diag_embed.op.body))
diag_embed.gradient(input=lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2))

"""Triangles and diagonals of matrices."""

from __future__ import annotations

from rushlight.backends import np
from rushlight.ops._op import composite, op
from rushlight.tensor.tensor import Tensor


@op(samples=lambda make: [((make(3, 4),), {}), ((make(3, 4), 1), {})], inplace=True)
def tril(input: Tensor, diagonal=0):
    """The lower triangle of (a batch of) matrices; zeros above `diagonal`."""
    return np.tril(input, diagonal)


tril.gradient(input=lambda grad, diagonal: grad.tril(diagonal))


@op(samples=lambda make: [((make(3, 4),), {}), ((make(3, 4), -1), {})], inplace=True)
def triu(input: Tensor, diagonal=0):
    """The upper triangle of (a batch of) matrices; zeros below `diagonal`."""
    return np.triu(input, diagonal)


triu.gradient(input=lambda grad, diagonal: grad.triu(diagonal))


@composite()
def diag(input: Tensor, diagonal=0):
    """A matrix with a vector on its diagonal, or the diagonal of a matrix."""
    if input.dim() == 2:
        return input.diagonal(diagonal).clone()
    return diag_embed(input, diagonal)


@op(samples=lambda make: [((make(3),), {}), ((make(2, 3), 1), {})])
def diag_embed(input: Tensor, offset=0, dim1=-2, dim2=-1):
    """Vectors of the last dimension as diagonals of matrices."""
    size = input.shape[-1] + (offset if offset > 0 else -offset)
    out = np.zeros((*input.shape[:-1], size, size), input.dtype)
    i = np.arange(input.shape[-1])
    out[..., i + max(-offset, 0), i + max(offset, 0)] = input
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


diag_embed.gradient(input=lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2))

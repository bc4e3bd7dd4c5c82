"""Batching rules of matrix products."""

from __future__ import annotations

from rushlight.ops._transforms.batching import front, is_batched
from rushlight.ops._transforms.batching_rules import rule
from rushlight.ops.elementwise import arithmetic
from rushlight.ops.linalg import products as matrix


def _product(a, b):
    return matrix.matmul(a, b)


@rule
def _mm(level, op, values):
    a, b = values
    if not is_batched(b, level):
        n, m = a._array.shape
        rows = a._inner.reshape(level.size * n, m)
        return op.function(rows, b).reshape(level.size, n, b._array.shape[1])
    if not is_batched(a, level):
        return _product(a, b._inner)
    if a._array.shape[1] == 1 == b._array.shape[0]:
        # Outer products, as in gradients of a layer by each example: bound by memory, and a product
        # of elements writes past the caches.
        return arithmetic.mul(a._inner, b._inner)
    return matrix.bmm(a._inner, b._inner)


@rule
def _bmm(level, op, values):
    a, b = (front(v, level) for v in values)
    shape, count = tuple(a.shape), a._array.shape[1]
    a = a.reshape(level.size * count, *shape[2:])
    b = b.reshape(level.size * count, *b.shape[2:])
    return op.function(a, b).reshape(level.size, count, shape[2], b.shape[2])


@rule
def _dot(level, op, values):
    a, b = values
    if is_batched(a, level) and is_batched(b, level):
        found = matrix.bmm(a._inner.unsqueeze(1), b._inner.unsqueeze(2))
        return found.reshape(level.size)
    batch, other = (a, b) if is_batched(a, level) else (b, a)
    return matrix.mm(batch._inner, other.unsqueeze(1)).squeeze(1)


@rule
def _linear(level, op, values):
    """One product for all examples where the weight is the same for all."""
    input, weight, bias = values
    if not is_batched(weight, level) and not is_batched(bias, level):
        return op.function(input._inner, weight, bias)
    if weight.dim() == 1:
        out = (input * weight).sum(-1)
        out = out if bias is None else out + bias
        return out._inner
    features, shape = weight._array.shape, tuple(input.shape)
    if is_batched(weight, level):
        turned = weight._inner.transpose(1, 2)
        if is_batched(input, level):
            rows = input._inner.reshape(level.size, -1, features[1])
        else:
            rows = input.reshape(-1, features[1])
        out = _product(rows, turned)
    else:
        inner = input._inner if is_batched(input, level) else input
        out = op.function(inner, weight, None)
        if not is_batched(input, level):
            out = out.reshape(1, -1, features[0])
    if is_batched(bias, level):
        lead = 1 if not is_batched(input, level) and not is_batched(weight, level) else level.size
        out = out.reshape(lead, -1, features[0]) + bias._inner.unsqueeze(1)
    elif bias is not None:
        out = out + bias
    return out.reshape(level.size, *shape[:-1], features[0])

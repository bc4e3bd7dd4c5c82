"""Batching rules of normalizations."""

from __future__ import annotations

from rushlight.ops._transforms.batching import front, in_rows, is_batched
from rushlight.ops._transforms.batching_rules import rule


@rule
def _batch_norm(level, op, values):
    """All examples' channels side by side."""
    input, weight, bias, eps = values
    inner = front(input, level)
    size, channels = level.size, input._array.shape[1]
    joined = _channels_joined(inner)
    weight, bias = (None if v is None else front(v, level).reshape(-1) for v in (weight, bias))
    out, mean, invstd = op.function(joined, weight, bias, eps)
    return (
        _channels_split(out, size, channels),
        mean.reshape(size, channels),
        invstd.reshape(size, channels),
    )


def _channels_joined(inner):
    """(B, N, C, ...) as (N, B * C, ...)."""
    moved = inner.transpose(0, 1)
    shape = moved._array.shape
    return moved.reshape((shape[0], shape[1] * shape[2], *shape[3:]))


def _channels_split(tensor, size, channels):
    """(N, B * C, ...) as (B, N, C, ...)."""
    shape = tensor._array.shape
    return tensor.reshape((shape[0], size, channels, *shape[2:])).transpose(0, 1)


@rule
def _batch_norm_backward(level, op, values):
    grad, input, weight, mean, invstd = values
    size, channels = level.size, input._array.shape[1]
    grad, joined = (_channels_joined(front(v, level)) for v in (grad, input))
    vectors = [None if v is None else front(v, level).reshape(-1) for v in (weight, mean, invstd)]
    found = op.function(grad, joined, *vectors)
    return (
        _channels_split(found[0], size, channels),
        found[1].reshape(size, channels),
        found[2].reshape(size, channels),
    )


@rule
def _layer_norm(level, op, values):
    input, size, weight, bias, eps = values
    inner = front(input, level)
    if not is_batched(weight, level) and not is_batched(bias, level):
        out, mean, rstd = op.function(inner, size, weight, bias, eps)
        return out, in_rows(mean, level), in_rows(rstd, level)
    out, mean, rstd = op.function(inner, size, None, None, eps)
    rows = out.reshape(level.size, -1, size)
    if weight is not None:
        rows = rows * front(weight, level).reshape(level.size, 1, size)
    if bias is not None:
        rows = rows + front(bias, level).reshape(level.size, 1, size)
    mean, rstd = in_rows(mean, level), in_rows(rstd, level)
    return rows.reshape(tuple(out.shape)), mean, rstd


@rule
def _layer_norm_backward(level, op, values):
    """Written out: the kernel adds the gradients of weight and bias up over all rows."""
    grad, input, weight, mean, rstd, size = values
    rows = [front(t, level).reshape(level.size, -1, size) for t in (grad, input)]
    mean, rstd = (front(t, level).reshape(level.size, -1, 1) for t in (mean, rstd))
    normal = (rows[1] - mean) * rstd
    scaled = rows[0]
    if weight is not None:
        scaled = scaled * front(weight, level).reshape(level.size, 1, size)
    inner = scaled - scaled.mean(2, True) - normal * (scaled * normal).mean(2, True)
    whole = (level.size, *input._array.shape)
    return (inner * rstd).reshape(whole), (rows[0] * normal).sum(1), rows[0].sum(1)


def _affine(rows, level, shape, weight, bias):
    """Rows of every example, scaled and shifted by its own vectors (or None)."""
    if weight is not None:
        rows = rows * front(weight, level).reshape(level.size, *shape)
    if bias is not None:
        rows = rows + front(bias, level).reshape(level.size, *shape)
    return rows


@rule
def _rms_norm(level, op, values):
    input, size, weight, eps = values
    batched_weight = is_batched(weight, level)
    out, rstd = op.function(front(input, level), size, None if batched_weight else weight, eps)
    if batched_weight:
        rows = _affine(out.reshape(level.size, -1, size), level, (1, size), weight, None)
        out = rows.reshape(tuple(out.shape))
    return out, in_rows(rstd, level)


@rule
def _rms_norm_backward(level, op, values):
    """Written out: the kernel adds the gradient of the weight up over all rows."""
    grad, input, weight, rstd, size = values
    grad, rows = (front(t, level).reshape(level.size, -1, size) for t in (grad, input))
    rstd = front(rstd, level).reshape(level.size, -1, 1)
    normal = rows * rstd
    scaled = _affine(grad, level, (1, size), weight, None)
    inner = scaled - normal * (scaled * normal).mean(2, True)
    whole = (level.size, *input._array.shape)
    return (inner * rstd).reshape(whole), (grad * normal).sum(1)


@rule
def _group_norm(level, op, values):
    """The examples join the images."""
    input, groups, weight, bias, eps = values
    inner = front(input, level)
    shape = tuple(inner.shape)
    joined = inner.reshape(shape[0] * shape[1], *shape[2:])
    apart = is_batched(weight, level) or is_batched(bias, level)
    rows = (None, None) if apart else (weight, bias)
    out, mean, rstd = op.function(joined, groups, *rows, eps)
    out = out.reshape(shape)
    if apart:
        out = _affine(out, level, (1, shape[2], *(1,) * (len(shape) - 3)), weight, bias)
    return out, in_rows(mean, level), in_rows(rstd, level)


@rule
def _group_norm_backward(level, op, values):
    """Written out: the kernel adds the gradients of weight and bias up over all images."""
    grad, input, groups, weight, mean, rstd = values
    grad, input = front(grad, level), front(input, level)
    shape = tuple(input.shape)
    rows = (*shape[:2], groups, -1)
    mean, rstd = (front(t, level).reshape(*shape[:2], groups, 1) for t in (mean, rstd))
    normal = (input.reshape(rows) - mean) * rstd
    channels = (1, shape[2], *(1,) * (len(shape) - 3))
    scaled = _affine(grad, level, channels, weight, None).reshape(rows)
    inner = scaled - scaled.mean(3, True) - normal * (scaled * normal).mean(3, True)
    axes = (1, *range(3, len(shape)))
    products = (grad * normal.reshape(shape)).sum(axes)
    return (inner * rstd).reshape(shape), products, grad.sum(axes)

"""Batching rules of convolutions: the examples join the batch, the channels or the groups."""

from __future__ import annotations

from rushlight.ops._transforms.batching import front, is_batched
from rushlight.ops._transforms.batching_rules import rule


def _into_batch(inner):
    """(B, N, ...) as (B * N, ...)."""
    shape = inner._array.shape
    return inner.reshape((shape[0] * shape[1], *shape[2:]))


def _into_channels(inner):
    """(B, N, C, ...) as (N, B * C, ...)."""
    moved = inner.transpose(0, 1)
    shape = moved._array.shape
    return moved.reshape((shape[0], shape[1] * shape[2], *shape[3:]))


def _from_channels(tensor, size):
    """(N, B * C, ...) as (B, N, C, ...)."""
    shape = tensor._array.shape
    split = tensor.reshape((shape[0], size, shape[1] // size, *shape[2:]))
    return split.transpose(0, 1)


@rule
def _convolution(level, op, values):
    input, weight, bias, stride, padding, dilation, groups = values
    size, settings = level.size, (stride, padding, dilation)
    batched_bias = is_batched(bias, level)
    if not is_batched(weight, level) and is_batched(input, level):
        inner = input._inner
        own = None if batched_bias else bias
        out = op.function(_into_batch(inner), weight, own, *settings, groups)
        out = out.reshape((size, inner._array.shape[1], *out._array.shape[1:]))
        return out + _shaped(bias._inner, out) if batched_bias else out
    if not is_batched(weight, level):
        out = op.function(input, weight, None, *settings, groups).unsqueeze(0)
        return out + _shaped(bias._inner, out)
    weights = _into_batch(weight._inner)
    if not is_batched(input, level) and groups == 1:
        out = op.function(input, weights, None, *settings, 1)
    else:
        joined = _into_channels(front(input, level))
        out = op.function(joined, weights, None, *settings, groups * size)
    out = _from_channels(out, size)
    return out if bias is None else out + _shaped(front(bias, level), out)


def _shaped(bias, out):
    """(B, O) to broadcast against (B, N, O, ...)."""
    return bias.reshape((bias._array.shape[0], 1, -1, *(1,) * (out._array.ndim - 3)))


@rule
def _convolution_input(level, op, values):
    output, weight, shape, stride, padding, dilation, groups = values[:7]  # no bias in transforms
    size, settings = level.size, (stride, padding, dilation)
    if not is_batched(weight, level):
        inner = output._inner
        rows = inner._array.shape[1]
        found = op.function(
            _into_batch(inner), weight, (size * rows, *shape[1:]), *settings, groups
        )
        return found.reshape((size, rows, *found._array.shape[1:]))
    joined = _into_channels(front(output, level))
    whole = (shape[0], size * shape[1], *shape[2:])
    weights = _into_batch(weight._inner)
    found = op.function(joined, weights, whole, *settings, groups * size)
    return _from_channels(found, size)


@rule
def _convolution_weight(level, op, values):
    """The examples' weights have gradients of their own: one group for each example."""
    output, input, shape, stride, padding, dilation, groups = values
    size, settings = level.size, (stride, padding, dilation)
    joined = [_into_channels(front(v, level)) for v in (output, input)]
    whole = (size * shape[0], *shape[1:])
    found = op.function(*joined, whole, *settings, groups * size)
    return found.reshape((size, *shape))

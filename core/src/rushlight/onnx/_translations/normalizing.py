"""Normalization."""

from __future__ import annotations

import math

import rushlight
from rushlight.onnx._registry import aten


def _per_channel(g, value, rank):
    return g.reshape(value, [1, -1, *[1] * (rank - 2)])


@aten("batch_norm")
def batch_norm(
    g, input, weight=None, bias=None, running_mean=None, running_var=None, training=False,
    momentum=0.1, eps=1e-5, cudnn_enabled=True,
):  # fmt: skip
    channels = input.shape[1]
    if training:
        return _by_batch(g, input, weight, bias, eps)
    weight = _or_constant(g, weight, channels, 1, input.dtype)
    bias = _or_constant(g, bias, channels, 0, input.dtype)
    return g.op("BatchNormalization", input, weight, bias, running_mean, running_var, epsilon=eps)


@aten("_native_batch_norm_legit_no_training", "native_batch_norm")
def native_batch_norm(
    g, input, weight, bias, running_mean, running_var, training=False, momentum=0.1, eps=1e-5
):
    if training:
        raise NotImplementedError("statistics of a batch as results: call eval() first")
    found = batch_norm(g, input, weight, bias, running_mean, running_var, False, momentum, eps)
    empty = g.constant([], rushlight.float32)
    return found, empty, empty


@aten("_native_batch_norm_legit_functional")
def functional_batch_norm(
    g, input, weight, bias, running_mean, running_var, training, momentum, eps
):
    """The result by the batch's statistics, these, and the new running ones."""
    dims = [0, *range(2, input.rank)]
    mean = g.reduce("ReduceMean", input, dims, False)
    centre = g.op("Sub", input, g.reduce("ReduceMean", input, dims, True))
    variance = g.reduce("ReduceMean", g.op("Mul", centre, centre), dims, False)
    spread = g.op("Sqrt", g.op("Add", variance, g.like(eps, input)))
    count = math.prod(input.shape[d] for d in dims)
    unbiased = g.op("Mul", variance, g.like(count / max(count - 1, 1), input))
    return (
        _by_batch(g, input, weight, bias, eps), mean, g.op("Reciprocal", spread),
        _moved(g, running_mean, mean, momentum), _moved(g, running_var, unbiased, momentum),
    )  # fmt: skip


def _moved(g, old, new, momentum):
    kept = g.op("Mul", old, g.like(1 - momentum, old))
    return g.op("Add", kept, g.op("Mul", new, g.like(momentum, new)))


def _or_constant(g, value, count, number, dtype):
    return value if value is not None else g.constant([number] * count, dtype)


def _by_batch(g, x, weight, bias, eps):
    """By the statistics of the batch itself, as in training."""
    dims = [0, *range(2, x.rank)]
    found = normalized(g, x, dims, eps)
    return _scaled(g, found, weight, bias, lambda v: _per_channel(g, v, x.rank))


def normalized(g, x, dims, eps):
    """Values with mean 0 and variance 1 over dimensions."""
    centre = g.op("Sub", x, g.reduce("ReduceMean", x, dims, True))
    variance = g.reduce("ReduceMean", g.op("Mul", centre, centre), dims, True)
    return g.op("Div", centre, g.op("Sqrt", g.op("Add", variance, g.like(eps, x))))


def _scaled(g, x, weight, bias, shaped):
    if weight is not None:
        x = g.op("Mul", x, shaped(weight))
    return x if bias is None else g.op("Add", x, shaped(bias))


@aten("layer_norm")
def layer_norm(g, input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    count = len(normalized_shape)
    if g.opset >= 17:
        scale = weight
        if scale is None:
            scale = g.tensor(rushlight.ones(normalized_shape, dtype=input.dtype), "ones")
        return g.op("LayerNormalization", input, scale, bias, axis=-count, epsilon=eps)
    dims = list(range(input.rank - count, input.rank))
    return _scaled(g, normalized(g, input, dims, eps), weight, bias, lambda v: v)


@aten("native_layer_norm")
def native_layer_norm(g, input, normalized_shape, weight, bias, eps):
    dims = list(range(input.rank - len(normalized_shape), input.rank))
    mean = g.reduce("ReduceMean", input, dims, True)
    centre = g.op("Sub", input, mean)
    variance = g.reduce("ReduceMean", g.op("Mul", centre, centre), dims, True)
    rstd = g.op("Reciprocal", g.op("Sqrt", g.op("Add", variance, g.like(eps, input))))
    found = _scaled(g, g.op("Mul", centre, rstd), weight, bias, lambda v: v)
    return found, mean, rstd


@aten("rms_norm")
def rms_norm(g, input, normalized_shape, weight=None, eps=None):
    eps = rushlight.finfo(input.dtype).eps if eps is None else eps
    dims = list(range(input.rank - len(normalized_shape), input.rank))
    power = g.reduce("ReduceMean", g.op("Mul", input, input), dims, True)
    found = g.op("Div", input, g.op("Sqrt", g.op("Add", power, g.like(eps, input))))
    return found if weight is None else g.op("Mul", found, weight)


@aten("group_norm")
def group_norm(g, input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    sizes = [g.size(input, d) for d in range(input.rank)]
    groups = g.reshape(input, [sizes[0], num_groups, -1])
    groups.shape = (None, num_groups, None)
    found = g.reshape(normalized(g, groups, [2], eps), sizes)
    return _scaled(g, found, weight, bias, lambda v: _per_channel(g, v, input.rank))


@aten("instance_norm")
def instance_norm(
    g, input, weight=None, bias=None, running_mean=None, running_var=None, use_input_stats=True,
    momentum=0.1, eps=1e-5, cudnn_enabled=True,
):  # fmt: skip
    if not use_input_stats:
        return batch_norm(g, input, weight, bias, running_mean, running_var, False, momentum, eps)
    found = normalized(g, input, list(range(2, input.rank)), eps)
    return _scaled(g, found, weight, bias, lambda v: _per_channel(g, v, input.rank))

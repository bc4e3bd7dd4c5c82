"""The normalizations that also give the statistics they used (``native_*``), for programs that keep
them."""

from __future__ import annotations

import math

from rushlight.ops._table.domains import positive
from rushlight.ops._table.op import composite
from rushlight.ops.neural.group_normalization import group_norm
from rushlight.ops.neural.normalization import _channels, _normalized, batch_norm, layer_norm
from rushlight.tensor.tensor import Tensor


def _statistics(rows, eps):
    """Mean and inverse deviation over the last dimension."""
    mean = rows.mean(-1)
    centred = rows - mean.unsqueeze(-1)
    return mean, ((centred * centred).mean(-1) + eps).rsqrt()


@composite(
    schemas=(
        "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, "
        "Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
    ),
    method=False,
    samples=lambda make: [
        (make(3, 4), (4,), make(4), make(4), 1e-5),
        (make(2, 3, 2), (3, 2), None, None, 0.1),
    ],
)
def native_layer_norm(
    input: Tensor, normalized_shape, weight: Tensor | None, bias: Tensor | None, eps
):
    """:func:`nn.functional.layer_norm`, with mean and inverse deviation of every run, of the shape
    of `input` with ones for the normalized dimensions."""
    size = _normalized("native_layer_norm", input, normalized_shape, weight, bias)
    out = layer_norm(input, normalized_shape, weight, bias, eps)
    count = len(tuple(normalized_shape))
    lead = tuple(input.shape[: input.dim() - count])
    shape = (*lead, *(1,) * count)
    if not size or not input.numel():
        empty = input.new_zeros(shape)
        return out, empty, empty.clone()
    mean, invstd = _statistics(input.detach().reshape(math.prod(lead), size), eps)
    return out, mean.reshape(shape), invstd.reshape(shape)


@composite(
    schemas=(
        "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, "
        "SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
    ),
    method=False,
    samples=lambda make: [
        (make(2, 4, 3), make(4), make(4), 2, 4, 3, 2, 1e-5),
        (make(2, 2, 3), None, None, 2, 2, 3, 1, 0.1),
    ],
)
def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N, C, HxW, group, eps
):
    """:func:`nn.functional.group_norm` of `N` samples of `C` channels of `HxW` elements in `group`
    groups, with mean and inverse deviation, each (N, group)."""
    out = group_norm(input, group, weight, bias, eps)
    if not input.numel():
        empty = input.new_zeros((N, group))
        return out, empty, empty.clone()
    return (out, *_statistics(input.reshape(N, group, C // group * HxW), eps))


# Samples of the domain serve as running variances too.
@composite(
    schemas=(
        "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
        "running_mean, Tensor? running_var, bool training, float momentum, float eps) -> "
        "(Tensor, Tensor, Tensor)",
    ),
    domain=positive,
    method=False,
    limited=False,
    samples=lambda make: [
        (make(4, 3), make(3), make(3), None, None, True, 0.1, 1e-5),
        (make(2, 3, 4), None, None, make(3).detach(), make(3).detach(), False, 0.1, 0.1),
    ],
)
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training,
    momentum,
    eps,
):
    """:func:`nn.functional.batch_norm`, with the batch's mean and inverse deviation (C,); outside
    of training these are empty."""
    if training and input.numel():
        rows = input.transpose(0, 1).reshape(input.shape[1], -1)
        mean, invstd = _statistics(rows.detach(), eps)
        if input.numel() == input.shape[1]:  # one value per channel: zero, whatever it was
            out = (input - _channels(mean, input.dim())) * _channels(invstd, input.dim())
            out = out if weight is None else out * _channels(weight, input.dim())
            return (out if bias is None else out + _channels(bias, input.dim())), mean, invstd
    else:
        mean, invstd = input.new_zeros(0), input.new_zeros(0)
    out = batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    return out, mean, invstd


@composite(method=False, samples=lambda make: [(make(3, 4), make.mask(3, 4), 2.0)])
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale):
    """The gradient of dropout: kept elements, scaled."""
    return grad_output * mask * scale

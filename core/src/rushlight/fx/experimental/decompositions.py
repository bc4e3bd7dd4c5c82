"""What ops that are made of others come to, where a graph has their parts."""

from __future__ import annotations

import math

from rushlight.fx.experimental.core_forms import forms
from rushlight.fx.experimental.core_parts import (
    activations,
    arrangements,
    attention,
    composed_losses,
    distances,
    indexed,
    losses,
    margins,
    noise,
    norms,
    pointwise,
    pools,
    quantized,
    recurrent,
    resampling,
    shapes,
    statistics,
    vectors,
    windows,
)
from rushlight.library.operators import lookup
from rushlight.nn.native_calls import convolution
from rushlight.ops.linalg.products import addmm, bmm, mm
from rushlight.ops.neural.embedding import _bag_results
from rushlight.ops.neural.grid_sampling import grid_sampler_2d, grid_sampler_3d
from rushlight.ops.shape.joining import cat
from rushlight.ops.shape.views import broadcast_shapes
from rushlight.tensor.shape import wrap_dim

# What functions of nn.functional come to.
_FAMILIES = (
    activations, arrangements, attention, distances, indexed, losses, margins, noise, norms,
    pointwise, pools, quantized, recurrent, resampling, shapes, statistics, vectors, windows,
)  # fmt: skip
_BAG_OPTIONS = 6  # of embedding_bag, the padding last


def _linear(input, weight, bias=None):
    if input.dim() == 2:
        product = weight.t()
        return mm(input, product) if bias is None else addmm(bias, input, product)
    if input.dim() == 1 and bias is None:
        return mm(input.unsqueeze(0), weight.t()).squeeze(0)
    rows = input.reshape(-1, input.shape[-1])
    return _linear(rows, weight, bias).view(*input.shape[:-1], weight.shape[0])


def _matmul(self, other):
    if self.dim() < 2 or other.dim() < 2:
        return NotImplemented
    if self.dim() == other.dim() == 2:
        return mm(self, other)
    shape = *self.shape[:-2], self.shape[-2], other.shape[-1]
    if other.dim() == 2:
        return mm(self.reshape(-1, self.shape[-1]), other).view(*shape)
    batch = broadcast_shapes(self.shape[:-2], other.shape[:-2])
    left, right = (
        each.expand(*batch, *each.shape[-2:]).reshape(-1, *each.shape[-2:])
        for each in (self, other)
    )
    return bmm(left, right).view(*batch, *shape[-2:])


def _baddbmm(self, batch1, batch2, *, beta=1, alpha=1):
    return (self if beta == 1 else self * beta) + _scaled(bmm(batch1, batch2), alpha)


def _scaled(value, factor):
    return value if factor == 1 else value * factor


def _silu(self):
    return self * self.sigmoid()


def _stack(tensors, dim=0):
    shape = list(tensors[0].shape)
    dim = wrap_dim(dim, len(shape) + 1)
    if dim == len(shape):
        return cat([tensor.unsqueeze(dim) for tensor in tensors], dim)
    return cat(tensors, dim).view(*shape[:dim], len(tensors), *shape[dim:])


def _group_norm(input, num_groups, weight=None, bias=None, eps=1e-05, cudnn_enabled=True):
    native = lookup("aten").native_group_norm.default
    batch, channels, *sizes = input.shape
    return native(
        input, weight, bias, batch, channels, math.prod(sizes), num_groups, eps
    )[0]  # fmt: skip


def _convolution(n):
    ones, zeros = [1] * n, [0] * n

    def run(input, weight, bias=None, stride=ones, padding=zeros, dilation=ones, groups=1):
        if input.dim() != n + 2:
            rest = stride, padding, dilation, groups
            return run(input.unsqueeze(0), weight, bias, *rest).squeeze(0)
        return convolution(input, weight, bias, stride, padding, dilation, False, zeros, groups)

    return run


def _embedding_bag(weight, indices, offsets, *options):
    *options, padding = options if len(options) == _BAG_OPTIONS else (*options, None)
    named = {} if padding is None else {"padding_idx": padding % weight.shape[0]}
    return _bag_results(weight, indices, offsets, *options, **named)


def _grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    sample = grid_sampler_2d if input.dim() == 4 else grid_sampler_3d
    return sample(input, grid, interpolation_mode, padding_mode, align_corners)


def _unless_training(input, p, train):
    return input if not train else NotImplemented


def _copy(self, src, non_blocking=False):
    alike = self.shape == src.shape and self.dtype is src.dtype and self.device == src.device
    return src if alike else NotImplemented


def by_values() -> dict:
    """Overloads that programs without writes have no use for -> what they give."""
    return {lookup("aten").copy.default: _copy}


def implicit() -> dict:
    """Overloads that are made of others -> functions that run the others; NotImplemented where the
    op is to stay."""
    aten = lookup("aten")
    return {
        aten.linear.default: _linear,
        aten.conv1d.default: _convolution(1),
        aten.conv2d.default: _convolution(2),
        aten.conv3d.default: _convolution(3),
        aten.dropout.default: _unless_training,
        aten.grid_sampler.default: _grid_sampler,
        aten.embedding_bag.default: _embedding_bag,
        aten.embedding_bag.padding_idx: _embedding_bag,
        **composed_losses.parts(),
    }


def core() -> dict:
    """The same, and what PyTorch's core ATen graphs have as other calls."""
    aten = lookup("aten")
    parts = {
        aten.matmul.default: _matmul,
        aten.baddbmm.default: _baddbmm,
        aten.silu.default: _silu,
        aten.stack.default: _stack,
        aten.group_norm.default: _group_norm,
    }
    for family in _FAMILIES:
        parts |= family.parts()
    return implicit() | forms() | parts

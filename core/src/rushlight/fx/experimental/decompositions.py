"""What ops that are made of others come to, where a graph has their parts."""

from __future__ import annotations

from rushlight.library.operators import lookup
from rushlight.nn.native_calls import convolution
from rushlight.ops.linalg.products import addmm, mm
from rushlight.ops.neural.embedding import _bag_results
from rushlight.ops.neural.grid_sampling import grid_sampler_2d, grid_sampler_3d

_BAG_OPTIONS = 6  # of embedding_bag, the padding last


def _linear(input, weight, bias=None):
    if input.dim() == 2:
        product = weight.t()
        return mm(input, product) if bias is None else addmm(bias, input, product)
    rows = input.reshape(-1, input.shape[-1])
    return _linear(rows, weight, bias).reshape(*input.shape[:-1], weight.shape[0])


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


def _dropout(input, p, train):
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
        aten.dropout.default: _dropout,
        aten.grid_sampler.default: _grid_sampler,
        aten.embedding_bag.default: _embedding_bag,
        aten.embedding_bag.padding_idx: _embedding_bag,
    }

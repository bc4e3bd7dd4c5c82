"""The blocks of EfficientNets, and what describes their stages."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._utils import _make_divisible
from rushlight_vision.ops.misc import Conv2dNormActivation, SqueezeExcitation
from rushlight_vision.ops.stochastic_depth import StochasticDepth


@dataclass
class _MBConvConfig:
    """A stage: what its blocks are made of, and how many there are."""

    expand_ratio: float
    kernel: int
    stride: int
    input_channels: int
    out_channels: int
    num_layers: int
    block: Callable[..., nn.Module]

    @staticmethod
    def adjust_channels(channels: int, width_mult: float, min_value: int | None = None) -> int:
        """`channels` times `width_mult`, to a multiple of 8."""
        return _make_divisible(channels * width_mult, 8, min_value)


class MBConvConfig(_MBConvConfig):
    """A stage of :class:`MBConv` blocks; widths and their number are multiplied."""

    def __init__(
        self,
        expand_ratio: float,
        kernel: int,
        stride: int,
        input_channels: int,
        out_channels: int,
        num_layers: int,
        width_mult: float = 1.0,
        depth_mult: float = 1.0,
        block: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__(
            expand_ratio,
            kernel,
            stride,
            self.adjust_channels(input_channels, width_mult),
            self.adjust_channels(out_channels, width_mult),
            self.adjust_depth(num_layers, depth_mult),
            MBConv if block is None else block,
        )

    @staticmethod
    def adjust_depth(num_layers: int, depth_mult: float) -> int:
        """`num_layers` times `depth_mult`, rounded up."""
        return math.ceil(num_layers * depth_mult)


class FusedMBConvConfig(_MBConvConfig):
    """A stage of :class:`FusedMBConv` blocks."""

    def __init__(
        self,
        expand_ratio: float,
        kernel: int,
        stride: int,
        input_channels: int,
        out_channels: int,
        num_layers: int,
        block: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__(
            expand_ratio,
            kernel,
            stride,
            input_channels,
            out_channels,
            num_layers,
            FusedMBConv if block is None else block,
        )


class _Residual(nn.Module):
    """What the two kinds of blocks share: the input is added where it has the result's shape."""

    def __init__(self, cnf: _MBConvConfig, stochastic_depth_prob: float) -> None:
        super().__init__()
        if not 1 <= cnf.stride <= 2:
            raise ValueError(f"illegal stride value {cnf.stride}: 1 or 2 expected")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        self.block = nn.Sequential()
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.out_channels = cnf.out_channels

    def forward(self, input: rl.Tensor) -> rl.Tensor:
        """The block's result (N, `out_channels`, H, W)."""
        result = self.block(input)
        return self.stochastic_depth(result) + input if self.use_res_connect else result


class MBConv(_Residual):
    """Wider by 1x1, filtered channel by channel, channels scaled, narrow again by 1x1."""

    def __init__(
        self,
        cnf: MBConvConfig,
        stochastic_depth_prob: float,
        norm_layer: Callable[..., nn.Module],
        se_layer: Callable[..., nn.Module] = SqueezeExcitation,
    ) -> None:
        super().__init__(cnf, stochastic_depth_prob)
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.SiLU)
        before, between = (
            cnf.input_channels,
            cnf.adjust_channels(cnf.input_channels, cnf.expand_ratio),
        )
        if between != before:
            self.block.append(conv(before, between, kernel_size=1))
        self.block.append(conv(between, between, cnf.kernel, stride=cnf.stride, groups=between))
        squeezed = max(1, before // 4)
        self.block.append(se_layer(between, squeezed, activation=partial(nn.SiLU, inplace=True)))
        self.block.append(conv(between, cnf.out_channels, kernel_size=1, activation_layer=None))


class FusedMBConv(_Residual):
    """Wider by a convolution of the whole kernel, narrow again by 1x1."""

    def __init__(
        self,
        cnf: FusedMBConvConfig,
        stochastic_depth_prob: float,
        norm_layer: Callable[..., nn.Module],
    ) -> None:
        super().__init__(cnf, stochastic_depth_prob)
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.SiLU)
        before, after = cnf.input_channels, cnf.out_channels
        between = cnf.adjust_channels(before, cnf.expand_ratio)
        if between == before:
            self.block.append(conv(before, after, cnf.kernel, stride=cnf.stride))
        else:
            self.block.append(conv(before, between, cnf.kernel, stride=cnf.stride))
            self.block.append(conv(between, after, kernel_size=1, activation_layer=None))

"""RegNet (Radosavovic et al., Designing network design spaces, 2020)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum
from rushlight_vision.models._initialize import draw
from rushlight_vision.models._regnet_parts import BlockParams
from rushlight_vision.models._regnet_weights import (
    RegNet_X_1_6GF_Weights,
    RegNet_X_3_2GF_Weights,
    RegNet_X_8GF_Weights,
    RegNet_X_16GF_Weights,
    RegNet_X_32GF_Weights,
    RegNet_X_400MF_Weights,
    RegNet_X_800MF_Weights,
    RegNet_Y_1_6GF_Weights,
    RegNet_Y_3_2GF_Weights,
    RegNet_Y_8GF_Weights,
    RegNet_Y_16GF_Weights,
    RegNet_Y_32GF_Weights,
    RegNet_Y_128GF_Weights,
    RegNet_Y_400MF_Weights,
    RegNet_Y_800MF_Weights,
)
from rushlight_vision.models._utils import built, classifier
from rushlight_vision.ops.misc import Conv2dNormActivation, SqueezeExcitation

__all__ = [
    "RegNet",
    "RegNet_X_16GF_Weights",
    "RegNet_X_1_6GF_Weights",
    "RegNet_X_32GF_Weights",
    "RegNet_X_3_2GF_Weights",
    "RegNet_X_400MF_Weights",
    "RegNet_X_800MF_Weights",
    "RegNet_X_8GF_Weights",
    "RegNet_Y_128GF_Weights",
    "RegNet_Y_16GF_Weights",
    "RegNet_Y_1_6GF_Weights",
    "RegNet_Y_32GF_Weights",
    "RegNet_Y_3_2GF_Weights",
    "RegNet_Y_400MF_Weights",
    "RegNet_Y_800MF_Weights",
    "RegNet_Y_8GF_Weights",
    "regnet_x_16gf",
    "regnet_x_1_6gf",
    "regnet_x_32gf",
    "regnet_x_3_2gf",
    "regnet_x_400mf",
    "regnet_x_800mf",
    "regnet_x_8gf",
    "regnet_y_128gf",
    "regnet_y_16gf",
    "regnet_y_1_6gf",
    "regnet_y_32gf",
    "regnet_y_3_2gf",
    "regnet_y_400mf",
    "regnet_y_800mf",
    "regnet_y_8gf",
]

# Of the published networks: depth, w_0, w_a, w_m and width of the groups; those called "y" have
# squeeze and excitation.
_SETTINGS: dict[str, tuple[int, int, float, float, int]] = {
    "y_400mf": (16, 48, 27.89, 2.09, 8),
    "y_800mf": (14, 56, 38.84, 2.4, 16),
    "y_1_6gf": (27, 48, 20.71, 2.65, 24),
    "y_3_2gf": (21, 80, 42.63, 2.66, 24),
    "y_8gf": (17, 192, 76.82, 2.19, 56),
    "y_16gf": (18, 200, 106.23, 2.48, 112),
    "y_32gf": (20, 232, 115.89, 2.53, 232),
    "y_128gf": (27, 456, 160.83, 2.52, 264),
    "x_400mf": (22, 24, 24.48, 2.54, 16),
    "x_800mf": (16, 56, 35.73, 2.28, 16),
    "x_1_6gf": (18, 80, 34.01, 2.25, 24),
    "x_3_2gf": (25, 88, 26.31, 2.25, 48),
    "x_8gf": (23, 80, 49.56, 2.88, 120),
    "x_16gf": (22, 216, 55.59, 2.1, 128),
    "x_32gf": (23, 320, 69.86, 2.0, 168),
}
_SE_RATIO = 0.25


class SimpleStemIN(Conv2dNormActivation):
    """A convolution of 3x3 to half the size, normalisation and activation."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        norm_layer: Callable[..., nn.Module],
        activation_layer: Callable[..., nn.Module],
    ) -> None:
        super().__init__(
            width_in, width_out, kernel_size=3, stride=2,
            norm_layer=norm_layer, activation_layer=activation_layer,
        )  # fmt: skip


class BottleneckTransform(nn.Sequential):
    """Convolutions of 1x1, of 3x3 in groups, and of 1x1, with channels scaled before the last."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        norm_layer: Callable[..., nn.Module],
        activation_layer: Callable[..., nn.Module],
        group_width: int,
        bottleneck_multiplier: float,
        se_ratio: float | None,
    ) -> None:
        shared: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": activation_layer}
        between = int(round(width_out * bottleneck_multiplier))
        groups = between // group_width
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        layers["a"] = Conv2dNormActivation(width_in, between, kernel_size=1, **shared)
        layers["b"] = Conv2dNormActivation(between, between, stride=stride, groups=groups, **shared)
        if se_ratio:
            layers["se"] = SqueezeExcitation(
                between, int(round(se_ratio * width_in)), activation=activation_layer
            )
        shared["activation_layer"] = None
        layers["c"] = Conv2dNormActivation(between, width_out, kernel_size=1, **shared)
        super().__init__(layers)


class ResBottleneckBlock(nn.Module):
    """A bottleneck, and the input added to it, by a convolution of 1x1 where its shape differs."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        norm_layer: Callable[..., nn.Module],
        activation_layer: Callable[..., nn.Module],
        group_width: int = 1,
        bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None,
    ) -> None:
        super().__init__()
        self.proj = None
        if width_in != width_out or stride != 1:
            self.proj = Conv2dNormActivation(
                width_in, width_out, kernel_size=1, stride=stride,
                norm_layer=norm_layer, activation_layer=None,
            )  # fmt: skip
        self.f = BottleneckTransform(
            width_in, width_out, stride, norm_layer, activation_layer,
            group_width, bottleneck_multiplier, se_ratio,
        )  # fmt: skip
        self.activation = activation_layer(inplace=True)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The block's result."""
        skipped = x if self.proj is None else self.proj(x)
        return self.activation(skipped + self.f(x))


class AnyStage(nn.Sequential):
    """`depth` blocks, of which the first changes width and size."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        depth: int,
        block_constructor: Callable[..., nn.Module],
        norm_layer: Callable[..., nn.Module],
        activation_layer: Callable[..., nn.Module],
        group_width: int,
        bottleneck_multiplier: float,
        se_ratio: float | None = None,
        stage_index: int = 0,
    ) -> None:
        super().__init__()
        for number in range(depth):
            block = block_constructor(
                width_out if number else width_in, width_out, 1 if number else stride,
                norm_layer, activation_layer, group_width, bottleneck_multiplier, se_ratio,
            )  # fmt: skip
            self.add_module(f"block{stage_index}-{number}", block)


class RegNet(nn.Module):
    """Stages of bottlenecks and a linear layer.

    Parameters
    ----------
    block_params : BlockParams
    num_classes : int, default 1000
    stem_width : int, default 32
    stem_type, block_type : callable, default `SimpleStemIN` and `ResBottleneckBlock`
    norm_layer, activation : callable, default `nn.BatchNorm2d` and `nn.ReLU`
    """

    def __init__(
        self,
        block_params: BlockParams,
        num_classes: int = 1000,
        stem_width: int = 32,
        stem_type: Callable[..., nn.Module] | None = None,
        block_type: Callable[..., nn.Module] | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
        activation: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        shared = (norm_layer or nn.BatchNorm2d, activation or nn.ReLU)
        self.stem = (stem_type or SimpleStemIN)(3, stem_width, *shared)
        block = block_type or ResBottleneckBlock
        stages: OrderedDict[str, nn.Module] = OrderedDict()
        before = stem_width
        for number, row in enumerate(block_params._get_expanded_params(), 1):
            width, stride, depth, group_width, multiplier = row
            stages[f"block{number}"] = AnyStage(
                before, width, stride, depth, block, *shared, group_width, multiplier,
                block_params.se_ratio, stage_index=number,
            )  # fmt: skip
            before = width
        self.trunk_output = nn.Sequential(stages)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(before, num_classes)
        draw(self, conv_bias=False)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores (N, `num_classes`) of images (N, 3, H, W)."""
        x = self.avgpool(self.trunk_output(self.stem(x)))
        return self.fc(x.flatten(start_dim=1))


def _regnet(
    block_params: BlockParams, weights: WeightsEnum | None, progress: bool, **kwargs: Any
) -> RegNet:
    return built(RegNet, weights, progress, block_params, **kwargs)


def _named(name: str, weights: WeightsEnum | None, progress: bool, kwargs: Any) -> RegNet:
    """The published network called `name`; `kwargs` may change its stages, too."""
    depth, w_0, w_a, w_m, group_width = _SETTINGS[name]
    se_ratio = _SE_RATIO if name.startswith("y") else None
    params = BlockParams.from_init_params(
        depth, w_0, w_a, w_m, group_width, se_ratio=se_ratio, **kwargs
    )
    return _regnet(params, weights, progress, **kwargs)


@classifier(RegNet_Y_400MF_Weights)
def regnet_y_400mf(
    *, weights: RegNet_Y_400MF_Weights | None = None, progress: bool = True, **kwargs: Any
) -> RegNet:
    """RegNetY of 400 million multiplications; keyword arguments go to :class:`RegNet`.

    >>> regnet_y_400mf(num_classes=10)(rl.zeros(2, 3, 32, 32)).shape
    rushlight.Size([2, 10])
    """
    return _named("y_400mf", weights, progress, kwargs)


@classifier(RegNet_Y_800MF_Weights)
def regnet_y_800mf(
    *, weights: RegNet_Y_800MF_Weights | None = None, progress: bool = True, **kwargs: Any
) -> RegNet:
    """RegNetY of 800 million multiplications; keyword arguments go to :class:`RegNet`."""
    return _named("y_800mf", weights, progress, kwargs)


@classifier(RegNet_Y_1_6GF_Weights)
def regnet_y_1_6gf(
    *, weights: RegNet_Y_1_6GF_Weights | None = None, progress: bool = True, **kwargs: Any
) -> RegNet:
    """RegNetY of 1.6 thousand million multiplications; keyword arguments go to :class:`RegNet`."""
    return _named("y_1_6gf", weights, progress, kwargs)


@classifier(RegNet_Y_3_2GF_Weights)
def regnet_y_3_2gf(
    *, weights: RegNet_Y_3_2GF_Weights | None = None, progress: bool = True, **kwargs: Any
) -> RegNet:
    """RegNetY of 3.2 thousand million multiplications; keyword arguments go to :class:`RegNet`."""
    return _named("y_3_2gf", weights, progress, kwargs)


@classifier(RegNet_Y_8GF_Weights)
def regnet_y_8gf(
    *, weights: RegNet_Y_8GF_Weights | None = None, progress: bool = True, **kwargs: Any
) -> RegNet:
    """RegNetY of 8 thousand million multiplications; keyword arguments go to :class:`RegNet`."""
    return _named("y_8gf", weights, progress, kwargs)


@classifier(RegNet_Y_16GF_Weights)
def regnet_y_16gf(
    *, weights: RegNet_Y_16GF_Weights | None = None, progress: bool = True, **kwargs: Any
) -> RegNet:
    """RegNetY of 16 thousand million multiplications; keyword arguments go to :class:`RegNet`."""
    return _named("y_16gf", weights, progress, kwargs)


@classifier(RegNet_Y_32GF_Weights)
def regnet_y_32gf(
    *, weights: RegNet_Y_32GF_Weights | None = None, progress: bool = True, **kwargs: Any
) -> RegNet:
    """RegNetY of 32 thousand million multiplications; keyword arguments go to :class:`RegNet`."""
    return _named("y_32gf", weights, progress, kwargs)


@classifier(RegNet_Y_128GF_Weights)
def regnet_y_128gf(
    *, weights: RegNet_Y_128GF_Weights | None = None, progress: bool = True, **kwargs: Any
) -> RegNet:
    """RegNetY of 128 thousand million multiplications; keyword arguments go to :class:`RegNet`."""
    return _named("y_128gf", weights, progress, kwargs)


@classifier(RegNet_X_400MF_Weights)
def regnet_x_400mf(
    *, weights: RegNet_X_400MF_Weights | None = None, progress: bool = True, **kwargs: Any
) -> RegNet:
    """RegNetX of 400 million multiplications; keyword arguments go to :class:`RegNet`."""
    return _named("x_400mf", weights, progress, kwargs)


@classifier(RegNet_X_800MF_Weights)
def regnet_x_800mf(
    *, weights: RegNet_X_800MF_Weights | None = None, progress: bool = True, **kwargs: Any
) -> RegNet:
    """RegNetX of 800 million multiplications; keyword arguments go to :class:`RegNet`."""
    return _named("x_800mf", weights, progress, kwargs)


@classifier(RegNet_X_1_6GF_Weights)
def regnet_x_1_6gf(
    *, weights: RegNet_X_1_6GF_Weights | None = None, progress: bool = True, **kwargs: Any
) -> RegNet:
    """RegNetX of 1.6 thousand million multiplications; keyword arguments go to :class:`RegNet`."""
    return _named("x_1_6gf", weights, progress, kwargs)


@classifier(RegNet_X_3_2GF_Weights)
def regnet_x_3_2gf(
    *, weights: RegNet_X_3_2GF_Weights | None = None, progress: bool = True, **kwargs: Any
) -> RegNet:
    """RegNetX of 3.2 thousand million multiplications; keyword arguments go to :class:`RegNet`."""
    return _named("x_3_2gf", weights, progress, kwargs)


@classifier(RegNet_X_8GF_Weights)
def regnet_x_8gf(
    *, weights: RegNet_X_8GF_Weights | None = None, progress: bool = True, **kwargs: Any
) -> RegNet:
    """RegNetX of 8 thousand million multiplications; keyword arguments go to :class:`RegNet`."""
    return _named("x_8gf", weights, progress, kwargs)


@classifier(RegNet_X_16GF_Weights)
def regnet_x_16gf(
    *, weights: RegNet_X_16GF_Weights | None = None, progress: bool = True, **kwargs: Any
) -> RegNet:
    """RegNetX of 16 thousand million multiplications; keyword arguments go to :class:`RegNet`."""
    return _named("x_16gf", weights, progress, kwargs)


@classifier(RegNet_X_32GF_Weights)
def regnet_x_32gf(
    *, weights: RegNet_X_32GF_Weights | None = None, progress: bool = True, **kwargs: Any
) -> RegNet:
    """RegNetX of 32 thousand million multiplications; keyword arguments go to :class:`RegNet`."""
    return _named("x_32gf", weights, progress, kwargs)

"""MobileNetV3 (Howard et al., Searching for MobileNetV3, 2019)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._initialize import draw
from rushlight_vision.models._utils import _make_divisible, built, check_setting, classifier
from rushlight_vision.ops.misc import Conv2dNormActivation, SqueezeExcitation

__all__ = [
    "MobileNetV3",
    "MobileNet_V3_Large_Weights",
    "MobileNet_V3_Small_Weights",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
]

# Of the blocks: channels before, kernel size, channels between, channels after, whether there is
# squeeze and excitation, activation, stride. The stride of the block at `_TAIL` becomes a dilation
# of the rest where a network for segmentation wants larger maps.
_LARGE: list[tuple[int, int, int, int, bool, str, int]] = [
    (16, 3, 16, 16, False, "RE", 1),
    (16, 3, 64, 24, False, "RE", 2),
    (24, 3, 72, 24, False, "RE", 1),
    (24, 5, 72, 40, True, "RE", 2),
    (40, 5, 120, 40, True, "RE", 1),
    (40, 5, 120, 40, True, "RE", 1),
    (40, 3, 240, 80, False, "HS", 2),
    (80, 3, 200, 80, False, "HS", 1),
    (80, 3, 184, 80, False, "HS", 1),
    (80, 3, 184, 80, False, "HS", 1),
    (80, 3, 480, 112, True, "HS", 1),
    (112, 3, 672, 112, True, "HS", 1),
    (112, 5, 672, 160, True, "HS", 2),
    (160, 5, 960, 160, True, "HS", 1),
    (160, 5, 960, 160, True, "HS", 1),
]
_SMALL: list[tuple[int, int, int, int, bool, str, int]] = [
    (16, 3, 16, 16, True, "RE", 2),
    (16, 3, 72, 24, False, "RE", 2),
    (24, 3, 88, 24, False, "RE", 1),
    (24, 5, 96, 40, True, "HS", 2),
    (40, 5, 240, 40, True, "HS", 1),
    (40, 5, 240, 40, True, "HS", 1),
    (40, 5, 120, 48, True, "HS", 1),
    (48, 5, 144, 48, True, "HS", 1),
    (48, 5, 288, 96, True, "HS", 2),
    (96, 5, 576, 96, True, "HS", 1),
    (96, 5, 576, 96, True, "HS", 1),
]
_CONFIGURATIONS = {"mobilenet_v3_large": (_LARGE, 1280), "mobilenet_v3_small": (_SMALL, 1024)}
_TAIL = 3  # blocks at the end that may be dilated or narrower

_SCALING: Callable[..., nn.Module] = partial(SqueezeExcitation, scale_activation=nn.Hardsigmoid)


class InvertedResidualConfig:
    """What one block is made of; widths times `width_mult`, to multiples of 8."""

    def __init__(
        self,
        input_channels: int,
        kernel: int,
        expanded_channels: int,
        out_channels: int,
        use_se: bool,
        activation: str,
        stride: int,
        dilation: int,
        width_mult: float,
    ) -> None:
        self.input_channels = self.adjust_channels(input_channels, width_mult)
        self.kernel = kernel
        self.expanded_channels = self.adjust_channels(expanded_channels, width_mult)
        self.out_channels = self.adjust_channels(out_channels, width_mult)
        self.use_se = use_se
        self.use_hs = activation == "HS"
        self.stride = stride
        self.dilation = dilation

    @staticmethod
    def adjust_channels(channels: int, width_mult: float) -> int:
        """`channels` times `width_mult`, to a multiple of 8."""
        return _make_divisible(channels * width_mult, 8)


class InvertedResidual(nn.Module):
    """Wider by 1x1, filtered channel by channel, channels scaled, narrow again by 1x1."""

    def __init__(
        self,
        cnf: InvertedResidualConfig,
        norm_layer: Callable[..., nn.Module],
        se_layer: Callable[..., nn.Module] = _SCALING,
    ) -> None:
        super().__init__()
        if not 1 <= cnf.stride <= 2:
            raise ValueError(f"illegal stride value {cnf.stride}: 1 or 2 expected")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        self.block = nn.Sequential(*self._layers(cnf, norm_layer, se_layer))
        self.out_channels = cnf.out_channels
        self._is_cn = cnf.stride > 1

    @staticmethod
    def _layers(
        cnf: InvertedResidualConfig,
        norm: Callable[..., nn.Module],
        scaling: Callable[..., nn.Module],
    ) -> list[nn.Module]:
        conv = partial(Conv2dNormActivation, norm_layer=norm)
        activation = nn.Hardswish if cnf.use_hs else nn.ReLU
        between = cnf.expanded_channels
        layers: list[nn.Module] = []
        if between != cnf.input_channels:
            layers.append(
                conv(cnf.input_channels, between, kernel_size=1, activation_layer=activation)
            )
        layers.append(
            conv(
                between, between, kernel_size=cnf.kernel, dilation=cnf.dilation, groups=between,
                stride=1 if cnf.dilation > 1 else cnf.stride, activation_layer=activation,
            )
        )  # fmt: skip
        if cnf.use_se:
            layers.append(scaling(between, _make_divisible(between // 4, 8)))
        layers.append(conv(between, cnf.out_channels, kernel_size=1, activation_layer=None))
        return layers

    def forward(self, input: rl.Tensor) -> rl.Tensor:
        """The block's result, with the input added where it has the same shape."""
        result = self.block(input)
        return result + input if self.use_res_connect else result


class MobileNetV3(nn.Module):
    """Inverted residuals between two convolutions, and two linear layers.

    Parameters
    ----------
    inverted_residual_setting : list of InvertedResidualConfig
    last_channel : int
        Width between the linear layers.
    num_classes : int, default 1000
    block : callable, default `InvertedResidual`
    norm_layer : callable
        Default: `nn.BatchNorm2d` with ``eps=0.001`` and ``momentum=0.01``.
    dropout : float, default 0.2
    """

    def __init__(
        self,
        inverted_residual_setting: list[InvertedResidualConfig],
        last_channel: int,
        num_classes: int = 1000,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
        dropout: float = 0.2,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        setting = inverted_residual_setting
        check_setting(setting, InvertedResidualConfig, "inverted_residual_setting")
        block = InvertedResidual if block is None else block
        if norm_layer is None:
            norm_layer = partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
        shared: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.Hardswish}
        first, before = setting[0].input_channels, setting[-1].out_channels
        self.features = nn.Sequential(
            Conv2dNormActivation(3, first, kernel_size=3, stride=2, **shared),
            *(block(cnf, norm_layer) for cnf in setting),
            Conv2dNormActivation(before, 6 * before, kernel_size=1, **shared),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(6 * before, last_channel),
            nn.Hardswish(inplace=True),
            nn.Dropout(p=dropout, inplace=True),
            nn.Linear(last_channel, num_classes),
        )
        draw(self)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores (N, `num_classes`) of images (N, 3, H, W)."""
        return self.classifier(rl.flatten(self.avgpool(self.features(x)), 1))


def _mobilenet_v3_conf(
    arch: str,
    width_mult: float = 1.0,
    reduced_tail: bool = False,
    dilated: bool = False,
    **kwargs: Any,
) -> tuple[list[InvertedResidualConfig], int]:
    """The blocks and the last width of a network, by its name."""
    if arch not in _CONFIGURATIONS:
        raise ValueError(f"Unsupported model type {arch}")
    rows, last = _CONFIGURATIONS[arch]
    divider = 2 if reduced_tail else 1
    setting = []
    for number, (before, kernel, between, after, use_se, activation, stride) in enumerate(rows):
        tail = number - (len(rows) - _TAIL)
        if tail >= 0:
            after //= divider
        if tail > 0:
            before, between = before // divider, between // divider
        dilation = 2 if dilated and tail >= 0 else 1
        widths = (before, kernel, between, after)
        setting.append(
            InvertedResidualConfig(*widths, use_se, activation, stride, dilation, width_mult)
        )
    return setting, InvertedResidualConfig.adjust_channels(last // divider, width_mult)


def _mobilenet_v3(
    inverted_residual_setting: list[InvertedResidualConfig],
    last_channel: int,
    weights: WeightsEnum | None,
    progress: bool,
    **kwargs: Any,
) -> MobileNetV3:
    return built(MobileNetV3, weights, progress, inverted_residual_setting, last_channel, **kwargs)


class MobileNet_V3_Large_Weights(WeightsEnum):
    """Weights of :func:`mobilenet_v3_large`."""

    IMAGENET1K_V1 = published("MobileNet_V3_Large_Weights.IMAGENET1K_V1")
    IMAGENET1K_V2 = published("MobileNet_V3_Large_Weights.IMAGENET1K_V2")
    DEFAULT = IMAGENET1K_V2


class MobileNet_V3_Small_Weights(WeightsEnum):
    """Weights of :func:`mobilenet_v3_small`."""

    IMAGENET1K_V1 = published("MobileNet_V3_Small_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


@classifier(MobileNet_V3_Large_Weights)
def mobilenet_v3_large(
    *, weights: MobileNet_V3_Large_Weights | None = None, progress: bool = True, **kwargs: Any
) -> MobileNetV3:
    """The large MobileNetV3; keyword arguments go to :class:`MobileNetV3`."""
    setting, last = _mobilenet_v3_conf("mobilenet_v3_large", **kwargs)
    return _mobilenet_v3(setting, last, weights, progress, **kwargs)


@classifier(MobileNet_V3_Small_Weights)
def mobilenet_v3_small(
    *, weights: MobileNet_V3_Small_Weights | None = None, progress: bool = True, **kwargs: Any
) -> MobileNetV3:
    """The small MobileNetV3; keyword arguments go to :class:`MobileNetV3`.

    >>> mobilenet_v3_small(num_classes=10)(rl.zeros(2, 3, 32, 32)).shape
    rushlight.Size([2, 10])
    """
    setting, last = _mobilenet_v3_conf("mobilenet_v3_small", **kwargs)
    return _mobilenet_v3(setting, last, weights, progress, **kwargs)

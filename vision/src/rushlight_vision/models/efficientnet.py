"""EfficientNet (Tan and Le, EfficientNet: rethinking model scaling for convolutional neural
networks, 2019) and EfficientNetV2 (EfficientNetV2: smaller models and faster training, 2021)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._efficientnet_blocks import (
    FusedMBConv,
    FusedMBConvConfig,
    MBConv,
    MBConvConfig,
    _MBConvConfig,
)
from rushlight_vision.models._initialize import draw
from rushlight_vision.models._utils import built, check_setting, classifier
from rushlight_vision.ops.misc import Conv2dNormActivation

__all__ = [
    "EfficientNet",
    "EfficientNet_B0_Weights",
    "EfficientNet_B1_Weights",
    "EfficientNet_B2_Weights",
    "EfficientNet_B3_Weights",
    "EfficientNet_B4_Weights",
    "EfficientNet_B5_Weights",
    "EfficientNet_B6_Weights",
    "EfficientNet_B7_Weights",
    "EfficientNet_V2_L_Weights",
    "EfficientNet_V2_M_Weights",
    "EfficientNet_V2_S_Weights",
    "efficientnet_b0",
    "efficientnet_b1",
    "efficientnet_b2",
    "efficientnet_b3",
    "efficientnet_b4",
    "efficientnet_b5",
    "efficientnet_b6",
    "efficientnet_b7",
    "efficientnet_v2_l",
    "efficientnet_v2_m",
    "efficientnet_v2_s",
    "FusedMBConv",
    "FusedMBConvConfig",
    "MBConv",
    "MBConvConfig",
]

# Of the stages: expansion, kernel size, stride, channels before and after, blocks.
_FIRST = (
    (1, 3, 1, 32, 16, 1),
    (6, 3, 2, 16, 24, 2),
    (6, 5, 2, 24, 40, 2),
    (6, 3, 2, 40, 80, 3),
    (6, 5, 1, 80, 112, 3),
    (6, 5, 2, 112, 192, 4),
    (6, 3, 1, 192, 320, 1),
)
# Of the second version: the stages of fused blocks, and the others.
_SECOND = {
    "efficientnet_v2_s": (
        ((1, 3, 1, 24, 24, 2), (4, 3, 2, 24, 48, 4), (4, 3, 2, 48, 64, 4)),
        ((4, 3, 2, 64, 128, 6), (6, 3, 1, 128, 160, 9), (6, 3, 2, 160, 256, 15)),
    ),
    "efficientnet_v2_m": (
        ((1, 3, 1, 24, 24, 3), (4, 3, 2, 24, 48, 5), (4, 3, 2, 48, 80, 5)),
        (
            *((4, 3, 2, 80, 160, 7), (6, 3, 1, 160, 176, 14)),
            *((6, 3, 2, 176, 304, 18), (6, 3, 1, 304, 512, 5)),
        ),
    ),
    "efficientnet_v2_l": (
        ((1, 3, 1, 32, 32, 4), (4, 3, 2, 32, 64, 7), (4, 3, 2, 64, 96, 7)),
        (
            *((4, 3, 2, 96, 192, 10), (6, 3, 1, 192, 224, 19)),
            *((6, 3, 2, 224, 384, 25), (6, 3, 1, 384, 640, 7)),
        ),
    ),
}
_Setting = Sequence[MBConvConfig | FusedMBConvConfig]


class EfficientNet(nn.Module):
    """Stages of inverted residuals between two convolutions, and a linear layer.

    Parameters
    ----------
    inverted_residual_setting : sequence of MBConvConfig or FusedMBConvConfig
    dropout : float
    stochastic_depth_prob : float, default 0.2
        Chance that a block after the last would be left out; it grows from 0 at the first.
    num_classes : int, default 1000
    norm_layer : callable, default `nn.BatchNorm2d`
    last_channel : int or None
        Width before the linear layer; None: four times that of the last stage.
    """

    def __init__(
        self,
        inverted_residual_setting: _Setting,
        dropout: float,
        stochastic_depth_prob: float = 0.2,
        num_classes: int = 1000,
        norm_layer: Callable[..., nn.Module] | None = None,
        last_channel: int | None = None,
    ) -> None:
        super().__init__()
        setting = inverted_residual_setting
        check_setting(setting, _MBConvConfig, "inverted_residual_setting")
        norm = nn.BatchNorm2d if norm_layer is None else norm_layer
        conv = partial(Conv2dNormActivation, norm_layer=norm, activation_layer=nn.SiLU)
        layers: list[nn.Module] = [conv(3, setting[0].input_channels, kernel_size=3, stride=2)]
        total = sum(cnf.num_layers for cnf in setting)
        number = 0
        for cnf in setting:
            chances = [
                stochastic_depth_prob * float(each) / total
                for each in range(number, number + cnf.num_layers)
            ]
            layers.append(nn.Sequential(*_blocks(cnf, chances, norm)))
            number += cnf.num_layers
        before = setting[-1].out_channels
        after = 4 * before if last_channel is None else last_channel
        layers.append(conv(before, after, kernel_size=1))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout, inplace=True), nn.Linear(after, num_classes)
        )
        draw(self, _draw_linear)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores (N, `num_classes`) of images (N, 3, H, W)."""
        return self.classifier(rl.flatten(self.avgpool(self.features(x)), 1))


def _draw_linear(layer: nn.Linear) -> None:
    bound = layer.out_features**-0.5
    nn.init.uniform_(layer.weight, -bound, bound)


def _blocks(
    cnf: MBConvConfig | FusedMBConvConfig, chances: list[float], norm: Callable[..., nn.Module]
) -> list[nn.Module]:
    """The blocks of a stage, of which the first changes width and size."""
    rest = copy.copy(cnf)
    rest.input_channels, rest.stride = cnf.out_channels, 1
    return [cnf.block(rest if i else cnf, chance, norm) for i, chance in enumerate(chances)]


def _efficientnet(
    inverted_residual_setting: _Setting,
    dropout: float,
    last_channel: int | None,
    weights: WeightsEnum | None,
    progress: bool,
    **kwargs: Any,
) -> EfficientNet:
    kwargs.setdefault("last_channel", last_channel)
    return built(EfficientNet, weights, progress, inverted_residual_setting, dropout, **kwargs)


def _efficientnet_conf(arch: str, **kwargs: Any) -> tuple[_Setting, int | None]:
    """The stages and the last width of a network, by its name; those of the first version take
    ``width_mult`` and ``depth_mult``."""
    if arch.startswith("efficientnet_b"):
        multipliers = {name: kwargs.pop(name) for name in ("width_mult", "depth_mult")}
        return [MBConvConfig(*row, **multipliers) for row in _FIRST], None
    if arch not in _SECOND:
        raise ValueError(f"Unsupported model type {arch}")
    fused, others = _SECOND[arch]
    return [
        *(FusedMBConvConfig(*row) for row in fused),
        *(MBConvConfig(*row) for row in others),
    ], 1280


def _first(
    width_mult: float,
    depth_mult: float,
    dropout: float,
    weights: WeightsEnum | None,
    progress: bool,
    **kwargs: Any,
) -> EfficientNet:
    """A network of the first version."""
    setting, last = _efficientnet_conf(
        "efficientnet_b0", width_mult=width_mult, depth_mult=depth_mult
    )
    dropout = kwargs.pop("dropout", dropout)
    return _efficientnet(setting, dropout, last, weights, progress, **kwargs)


def _second(
    arch: str, dropout: float, weights: WeightsEnum | None, progress: bool, **kwargs: Any
) -> EfficientNet:
    """A network of the second version."""
    setting, last = _efficientnet_conf(arch)
    kwargs.setdefault("norm_layer", partial(nn.BatchNorm2d, eps=1e-3))
    dropout = kwargs.pop("dropout", dropout)
    return _efficientnet(setting, dropout, last, weights, progress, **kwargs)


class EfficientNet_B0_Weights(WeightsEnum):
    """Weights of :func:`efficientnet_b0`."""

    IMAGENET1K_V1 = published("EfficientNet_B0_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B1_Weights(WeightsEnum):
    """Weights of :func:`efficientnet_b1`."""

    IMAGENET1K_V1 = published("EfficientNet_B1_Weights.IMAGENET1K_V1")
    IMAGENET1K_V2 = published("EfficientNet_B1_Weights.IMAGENET1K_V2")
    DEFAULT = IMAGENET1K_V2


class EfficientNet_B2_Weights(WeightsEnum):
    """Weights of :func:`efficientnet_b2`."""

    IMAGENET1K_V1 = published("EfficientNet_B2_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B3_Weights(WeightsEnum):
    """Weights of :func:`efficientnet_b3`."""

    IMAGENET1K_V1 = published("EfficientNet_B3_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B4_Weights(WeightsEnum):
    """Weights of :func:`efficientnet_b4`."""

    IMAGENET1K_V1 = published("EfficientNet_B4_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B5_Weights(WeightsEnum):
    """Weights of :func:`efficientnet_b5`."""

    IMAGENET1K_V1 = published("EfficientNet_B5_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B6_Weights(WeightsEnum):
    """Weights of :func:`efficientnet_b6`."""

    IMAGENET1K_V1 = published("EfficientNet_B6_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B7_Weights(WeightsEnum):
    """Weights of :func:`efficientnet_b7`."""

    IMAGENET1K_V1 = published("EfficientNet_B7_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class EfficientNet_V2_S_Weights(WeightsEnum):
    """Weights of :func:`efficientnet_v2_s`."""

    IMAGENET1K_V1 = published("EfficientNet_V2_S_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class EfficientNet_V2_M_Weights(WeightsEnum):
    """Weights of :func:`efficientnet_v2_m`."""

    IMAGENET1K_V1 = published("EfficientNet_V2_M_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class EfficientNet_V2_L_Weights(WeightsEnum):
    """Weights of :func:`efficientnet_v2_l`."""

    IMAGENET1K_V1 = published("EfficientNet_V2_L_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


@classifier(EfficientNet_B0_Weights)
def efficientnet_b0(
    *, weights: EfficientNet_B0_Weights | None = None, progress: bool = True, **kwargs: Any
) -> EfficientNet:
    """EfficientNet-B0; keyword arguments go to :class:`EfficientNet`.

    >>> efficientnet_b0(num_classes=10)(rl.zeros(2, 3, 32, 32)).shape
    rushlight.Size([2, 10])
    """
    return _first(1.0, 1.0, 0.2, weights, progress, **kwargs)


@classifier(EfficientNet_B1_Weights)
def efficientnet_b1(
    *, weights: EfficientNet_B1_Weights | None = None, progress: bool = True, **kwargs: Any
) -> EfficientNet:
    """EfficientNet-B1; keyword arguments go to :class:`EfficientNet`."""
    return _first(1.0, 1.1, 0.2, weights, progress, **kwargs)


@classifier(EfficientNet_B2_Weights)
def efficientnet_b2(
    *, weights: EfficientNet_B2_Weights | None = None, progress: bool = True, **kwargs: Any
) -> EfficientNet:
    """EfficientNet-B2; keyword arguments go to :class:`EfficientNet`."""
    return _first(1.1, 1.2, 0.3, weights, progress, **kwargs)


@classifier(EfficientNet_B3_Weights)
def efficientnet_b3(
    *, weights: EfficientNet_B3_Weights | None = None, progress: bool = True, **kwargs: Any
) -> EfficientNet:
    """EfficientNet-B3; keyword arguments go to :class:`EfficientNet`."""
    return _first(1.2, 1.4, 0.3, weights, progress, **kwargs)


@classifier(EfficientNet_B4_Weights)
def efficientnet_b4(
    *, weights: EfficientNet_B4_Weights | None = None, progress: bool = True, **kwargs: Any
) -> EfficientNet:
    """EfficientNet-B4; keyword arguments go to :class:`EfficientNet`."""
    return _first(1.4, 1.8, 0.4, weights, progress, **kwargs)


@classifier(EfficientNet_B5_Weights)
def efficientnet_b5(
    *, weights: EfficientNet_B5_Weights | None = None, progress: bool = True, **kwargs: Any
) -> EfficientNet:
    """EfficientNet-B5; keyword arguments go to :class:`EfficientNet`."""
    kwargs.setdefault("norm_layer", partial(nn.BatchNorm2d, eps=0.001, momentum=0.01))
    return _first(1.6, 2.2, 0.4, weights, progress, **kwargs)


@classifier(EfficientNet_B6_Weights)
def efficientnet_b6(
    *, weights: EfficientNet_B6_Weights | None = None, progress: bool = True, **kwargs: Any
) -> EfficientNet:
    """EfficientNet-B6; keyword arguments go to :class:`EfficientNet`."""
    kwargs.setdefault("norm_layer", partial(nn.BatchNorm2d, eps=0.001, momentum=0.01))
    return _first(1.8, 2.6, 0.5, weights, progress, **kwargs)


@classifier(EfficientNet_B7_Weights)
def efficientnet_b7(
    *, weights: EfficientNet_B7_Weights | None = None, progress: bool = True, **kwargs: Any
) -> EfficientNet:
    """EfficientNet-B7; keyword arguments go to :class:`EfficientNet`."""
    kwargs.setdefault("norm_layer", partial(nn.BatchNorm2d, eps=0.001, momentum=0.01))
    return _first(2.0, 3.1, 0.5, weights, progress, **kwargs)


@classifier(EfficientNet_V2_S_Weights)
def efficientnet_v2_s(
    *, weights: EfficientNet_V2_S_Weights | None = None, progress: bool = True, **kwargs: Any
) -> EfficientNet:
    """EfficientNetV2-S; keyword arguments go to :class:`EfficientNet`."""
    return _second("efficientnet_v2_s", 0.2, weights, progress, **kwargs)


@classifier(EfficientNet_V2_M_Weights)
def efficientnet_v2_m(
    *, weights: EfficientNet_V2_M_Weights | None = None, progress: bool = True, **kwargs: Any
) -> EfficientNet:
    """EfficientNetV2-M; keyword arguments go to :class:`EfficientNet`."""
    return _second("efficientnet_v2_m", 0.3, weights, progress, **kwargs)


@classifier(EfficientNet_V2_L_Weights)
def efficientnet_v2_l(
    *, weights: EfficientNet_V2_L_Weights | None = None, progress: bool = True, **kwargs: Any
) -> EfficientNet:
    """EfficientNetV2-L; keyword arguments go to :class:`EfficientNet`."""
    return _second("efficientnet_v2_l", 0.4, weights, progress, **kwargs)

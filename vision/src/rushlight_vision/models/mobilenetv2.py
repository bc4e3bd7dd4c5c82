"""MobileNetV2 (Sandler et al., MobileNetV2: inverted residuals and linear bottlenecks, 2018)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._initialize import draw
from rushlight_vision.models._utils import _make_divisible, built, classifier
from rushlight_vision.ops.misc import Conv2dNormActivation

__all__ = ["MobileNetV2", "MobileNet_V2_Weights", "mobilenet_v2"]

# Expansion, channels, blocks and stride of the stages.
_SETTING = [
    [1, 16, 1, 1],
    [6, 24, 2, 2],
    [6, 32, 3, 2],
    [6, 64, 4, 2],
    [6, 96, 3, 1],
    [6, 160, 3, 2],
    [6, 320, 1, 1],
]


class InvertedResidual(nn.Module):
    """Wider by 1x1, filtered by 3x3 channel by channel, narrow again by 1x1 without activation.

    The input is added where it has the shape of the result.
    """

    def __init__(
        self,
        inp: int,
        oup: int,
        stride: int,
        expand_ratio: int,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        norm_layer = nn.BatchNorm2d if norm_layer is None else norm_layer
        shared: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
        hidden = int(round(inp * expand_ratio))
        layers: list[nn.Module] = []
        if expand_ratio != 1:
            layers.append(Conv2dNormActivation(inp, hidden, kernel_size=1, **shared))
        layers.append(Conv2dNormActivation(hidden, hidden, stride=stride, groups=hidden, **shared))
        layers += [nn.Conv2d(hidden, oup, kernel_size=1, bias=False), norm_layer(oup)]
        self.stride = stride
        self.use_res_connect = stride == 1 and inp == oup
        self.conv = nn.Sequential(*layers)
        self.out_channels = oup
        self._is_cn = stride > 1

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The block's result."""
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """Stages of inverted residuals between two convolutions, and a linear layer.

    Parameters
    ----------
    num_classes : int, default 1000
    width_mult : float, default 1.0
        Factor of all widths.
    inverted_residual_setting : list of [expansion, channels, blocks, stride], or None
        The stages; None: those of the paper.
    round_nearest : int, default 8
        Widths are multiples of it.
    block : callable, default `InvertedResidual`
    norm_layer : callable, default `nn.BatchNorm2d`
    dropout : float, default 0.2
    """

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        inverted_residual_setting: list[list[int]] | None = None,
        round_nearest: int = 8,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        block = InvertedResidual if block is None else block
        norm_layer = nn.BatchNorm2d if norm_layer is None else norm_layer
        setting = _SETTING if inverted_residual_setting is None else inverted_residual_setting
        if len(setting) == 0 or len(setting[0]) != 4:
            raise ValueError(
                f"inverted_residual_setting should be non-empty or a 4-element list, got {setting}"
            )
        shared: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
        width = _make_divisible(32 * width_mult, round_nearest)
        self.last_channel = _make_divisible(1280 * max(1.0, width_mult), round_nearest)
        layers: list[nn.Module] = [Conv2dNormActivation(3, width, stride=2, **shared)]
        for expansion, channels, count, stride in setting:
            wanted = _make_divisible(channels * width_mult, round_nearest)
            for number in range(count):
                step = stride if number == 0 else 1
                layers.append(
                    block(width, wanted, step, expand_ratio=expansion, norm_layer=norm_layer)
                )
                width = wanted
        layers.append(Conv2dNormActivation(width, self.last_channel, kernel_size=1, **shared))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout), nn.Linear(self.last_channel, num_classes)
        )
        draw(self)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores (N, `num_classes`) of images (N, 3, H, W)."""
        x = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(rl.flatten(x, 1))


class MobileNet_V2_Weights(WeightsEnum):
    """Weights of :func:`mobilenet_v2`."""

    IMAGENET1K_V1 = published("MobileNet_V2_Weights.IMAGENET1K_V1")
    IMAGENET1K_V2 = published("MobileNet_V2_Weights.IMAGENET1K_V2")
    DEFAULT = IMAGENET1K_V2


@classifier(MobileNet_V2_Weights)
def mobilenet_v2(
    *, weights: MobileNet_V2_Weights | None = None, progress: bool = True, **kwargs: Any
) -> MobileNetV2:
    """MobileNetV2; keyword arguments go to :class:`MobileNetV2`.

    >>> mobilenet_v2(num_classes=10)(rl.zeros(2, 3, 32, 32)).shape
    rushlight.Size([2, 10])
    """
    return built(MobileNetV2, weights, progress, **kwargs)

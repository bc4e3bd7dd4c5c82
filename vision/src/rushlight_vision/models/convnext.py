"""ConvNeXt (Liu et al., A ConvNet for the 2020s, 2022)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._utils import built, check_setting, classifier
from rushlight_vision.ops.misc import Conv2dNormActivation, Permute
from rushlight_vision.ops.stochastic_depth import StochasticDepth

__all__ = [
    "ConvNeXt",
    "ConvNeXt_Base_Weights",
    "ConvNeXt_Large_Weights",
    "ConvNeXt_Small_Weights",
    "ConvNeXt_Tiny_Weights",
    "convnext_base",
    "convnext_large",
    "convnext_small",
    "convnext_tiny",
]


class LayerNorm2d(nn.LayerNorm):
    """Layer normalisation of the channels (N, C, H, W) of each pixel."""

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The normalised maps."""
        x = x.permute(0, 2, 3, 1)
        x = nn.functional.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class CNBlock(nn.Module):
    """A convolution of 7x7 channel by channel and two linear layers, scaled, and the input."""

    def __init__(
        self,
        dim: int,
        layer_scale: float,
        stochastic_depth_prob: float,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        norm = partial(nn.LayerNorm, eps=1e-6) if norm_layer is None else norm_layer
        self.block = nn.Sequential(
            nn.Conv2d(dim, dim, kernel_size=7, padding=3, groups=dim, bias=True),
            Permute([0, 2, 3, 1]),
            norm(dim),
            nn.Linear(dim, 4 * dim),
            nn.GELU(),
            nn.Linear(4 * dim, dim),
            Permute([0, 3, 1, 2]),
        )
        self.layer_scale = nn.Parameter(rl.ones(dim, 1, 1) * layer_scale)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")

    def forward(self, input: rl.Tensor) -> rl.Tensor:
        """The block's result (N, `dim`, H, W)."""
        return self.stochastic_depth(self.layer_scale * self.block(input)) + input


class CNBlockConfig:
    """A stage: `num_layers` blocks of `input_channels`, then half the size and `out_channels`."""

    def __init__(self, input_channels: int, out_channels: int | None, num_layers: int) -> None:
        self.input_channels = input_channels
        self.out_channels = out_channels
        self.num_layers = num_layers

    def __repr__(self) -> str:
        names = ("input_channels", "out_channels", "num_layers")
        values = ", ".join(f"{name}={getattr(self, name)}" for name in names)
        return f"{type(self).__name__}({values})"


class ConvNeXt(nn.Module):
    """Stages of blocks with convolutions between them, and a linear layer.

    Parameters
    ----------
    block_setting : list of CNBlockConfig
    stochastic_depth_prob : float, default 0.0
        Chance that the last block is left out; it grows from 0 at the first.
    layer_scale : float, default 1e-6
        First scale of what blocks add.
    num_classes : int, default 1000
    block : callable, default `CNBlock`
    norm_layer : callable, default `LayerNorm2d` with ``eps=1e-6``
    """

    def __init__(
        self,
        block_setting: list[CNBlockConfig],
        stochastic_depth_prob: float = 0.0,
        layer_scale: float = 1e-6,
        num_classes: int = 1000,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        check_setting(block_setting, CNBlockConfig, "block_setting")
        block = CNBlock if block is None else block
        norm = partial(LayerNorm2d, eps=1e-6) if norm_layer is None else norm_layer
        first = block_setting[0].input_channels
        layers: list[nn.Module] = [
            Conv2dNormActivation(
                3, first, kernel_size=4, stride=4, padding=0,
                norm_layer=norm, activation_layer=None, bias=True,
            )
        ]  # fmt: skip
        last = sum(stage.num_layers for stage in block_setting) - 1.0
        number = 0
        for stage in block_setting:
            numbers = range(number, number + stage.num_layers)
            chances = (stochastic_depth_prob * each / last for each in numbers)
            blocks = (block(stage.input_channels, layer_scale, chance) for chance in chances)
            layers.append(nn.Sequential(*blocks))
            number += stage.num_layers
            if stage.out_channels is not None:
                conv = (stage.input_channels, stage.out_channels)
                layers.append(
                    nn.Sequential(norm(conv[0]), nn.Conv2d(*conv, kernel_size=2, stride=2))
                )
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        width = block_setting[-1].out_channels or block_setting[-1].input_channels
        self.classifier = nn.Sequential(norm(width), nn.Flatten(1), nn.Linear(width, num_classes))
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores (N, `num_classes`) of images (N, 3, H, W) with sides of at least 32."""
        return self.classifier(self.avgpool(self.features(x)))


def _convnext(
    block_setting: list[CNBlockConfig],
    stochastic_depth_prob: float,
    weights: WeightsEnum | None,
    progress: bool,
    **kwargs: Any,
) -> ConvNeXt:
    kwargs["stochastic_depth_prob"] = stochastic_depth_prob
    return built(ConvNeXt, weights, progress, block_setting, **kwargs)


def _setting(widths: tuple[int, ...], depths: tuple[int, ...]) -> list[CNBlockConfig]:
    """The stages with these widths and numbers of blocks."""
    following = [*widths[1:], None]
    rows = zip(widths, following, depths, strict=True)
    return [CNBlockConfig(width, after, count) for width, after, count in rows]


class ConvNeXt_Tiny_Weights(WeightsEnum):
    """Weights of :func:`convnext_tiny`."""

    IMAGENET1K_V1 = published("ConvNeXt_Tiny_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class ConvNeXt_Small_Weights(WeightsEnum):
    """Weights of :func:`convnext_small`."""

    IMAGENET1K_V1 = published("ConvNeXt_Small_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class ConvNeXt_Base_Weights(WeightsEnum):
    """Weights of :func:`convnext_base`."""

    IMAGENET1K_V1 = published("ConvNeXt_Base_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class ConvNeXt_Large_Weights(WeightsEnum):
    """Weights of :func:`convnext_large`."""

    IMAGENET1K_V1 = published("ConvNeXt_Large_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


@classifier(ConvNeXt_Tiny_Weights)
def convnext_tiny(
    *, weights: ConvNeXt_Tiny_Weights | None = None, progress: bool = True, **kwargs: Any
) -> ConvNeXt:
    """The tiny ConvNeXt; keyword arguments go to :class:`ConvNeXt`.

    >>> convnext_tiny(num_classes=10)(rl.zeros(2, 3, 32, 32)).shape
    rushlight.Size([2, 10])
    """
    chance = kwargs.pop("stochastic_depth_prob", 0.1)
    setting = _setting((96, 192, 384, 768), (3, 3, 9, 3))
    return _convnext(setting, chance, weights, progress, **kwargs)


@classifier(ConvNeXt_Small_Weights)
def convnext_small(
    *, weights: ConvNeXt_Small_Weights | None = None, progress: bool = True, **kwargs: Any
) -> ConvNeXt:
    """The small ConvNeXt; keyword arguments go to :class:`ConvNeXt`."""
    chance = kwargs.pop("stochastic_depth_prob", 0.4)
    setting = _setting((96, 192, 384, 768), (3, 3, 27, 3))
    return _convnext(setting, chance, weights, progress, **kwargs)


@classifier(ConvNeXt_Base_Weights)
def convnext_base(
    *, weights: ConvNeXt_Base_Weights | None = None, progress: bool = True, **kwargs: Any
) -> ConvNeXt:
    """The base ConvNeXt; keyword arguments go to :class:`ConvNeXt`."""
    chance = kwargs.pop("stochastic_depth_prob", 0.5)
    setting = _setting((128, 256, 512, 1024), (3, 3, 27, 3))
    return _convnext(setting, chance, weights, progress, **kwargs)


@classifier(ConvNeXt_Large_Weights)
def convnext_large(
    *, weights: ConvNeXt_Large_Weights | None = None, progress: bool = True, **kwargs: Any
) -> ConvNeXt:
    """The large ConvNeXt; keyword arguments go to :class:`ConvNeXt`."""
    chance = kwargs.pop("stochastic_depth_prob", 0.5)
    setting = _setting((192, 384, 768, 1536), (3, 3, 27, 3))
    return _convnext(setting, chance, weights, progress, **kwargs)

"""MaxViT (Tu et al., MaxViT: multi-axis vision transformer, 2022)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._maxvit_parts import (
    MBConv,
    PartitionAttentionLayer,
    RelativePositionalMultiHeadAttention,
    SwapAxes,
    WindowDepartition,
    WindowPartition,
)
from rushlight_vision.models._utils import _ovewrite_named_param, built, classifier
from rushlight_vision.ops.misc import Conv2dNormActivation

__all__ = [
    "MBConv",
    "MaxVit",
    "MaxVitBlock",
    "MaxVitLayer",
    "MaxVit_T_Weights",
    "PartitionAttentionLayer",
    "RelativePositionalMultiHeadAttention",
    "SwapAxes",
    "WindowDepartition",
    "WindowPartition",
    "maxvit_t",
]


def _get_conv_output_shape(
    input_size: tuple[int, int], kernel_size: int, stride: int, padding: int
) -> tuple[int, int]:
    """The size of a convolution's result."""
    rows, columns = ((side - kernel_size + 2 * padding) // stride + 1 for side in input_size)
    return rows, columns


def _make_block_input_shapes(input_size: tuple[int, int], n_blocks: int) -> list[tuple[int, int]]:
    """The sizes of the maps that the blocks make of an image."""
    shapes = []
    size = _get_conv_output_shape(input_size, 3, 2, 1)
    for _ in range(n_blocks):
        size = _get_conv_output_shape(size, 3, 2, 1)
        shapes.append(size)
    return shapes


class MaxVitLayer(nn.Module):
    """An inverted residual, attention inside of windows, and attention along a grid."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        squeeze_ratio: float,
        expansion_ratio: float,
        stride: int,
        norm_layer: Callable[..., nn.Module],
        activation_layer: Callable[..., nn.Module],
        head_dim: int,
        mlp_ratio: int,
        mlp_dropout: float,
        attention_dropout: float,
        p_stochastic_dropout: float,
        partition_size: int,
        grid_size: tuple[int, int],
    ) -> None:
        super().__init__()
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        layers["MBconv"] = MBConv(
            in_channels, out_channels, expansion_ratio, squeeze_ratio, stride,
            activation_layer, norm_layer, p_stochastic_dropout,
        )  # fmt: skip
        for kind in ("window", "grid"):
            layers[f"{kind}_attention"] = PartitionAttentionLayer(
                out_channels, head_dim, partition_size, kind, grid_size, mlp_ratio,
                activation_layer, nn.LayerNorm, attention_dropout, mlp_dropout,
                p_stochastic_dropout,
            )  # fmt: skip
        self.layers = nn.Sequential(layers)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The maps (N, `out_channels`, H, W)."""
        return self.layers(x)


class MaxVitBlock(nn.Module):
    """Layers of which the first halves the size and changes the channels."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        squeeze_ratio: float,
        expansion_ratio: float,
        norm_layer: Callable[..., nn.Module],
        activation_layer: Callable[..., nn.Module],
        head_dim: int,
        mlp_ratio: int,
        mlp_dropout: float,
        attention_dropout: float,
        partition_size: int,
        input_grid_size: tuple[int, int],
        n_layers: int,
        p_stochastic: list[float],
    ) -> None:
        super().__init__()
        if len(p_stochastic) != n_layers:
            raise ValueError(
                f"p_stochastic must have length n_layers={n_layers}, got "
                f"p_stochastic={p_stochastic}."
            )
        self.layers = nn.ModuleList()
        self.grid_size = _get_conv_output_shape(input_grid_size, 3, 2, 1)
        for number, chance in enumerate(p_stochastic):
            self.layers.append(
                MaxVitLayer(
                    out_channels if number else in_channels, out_channels, squeeze_ratio,
                    expansion_ratio, 1 if number else 2, norm_layer, activation_layer, head_dim,
                    mlp_ratio, mlp_dropout, attention_dropout, chance, partition_size,
                    self.grid_size,
                )
            )  # fmt: skip

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The maps (N, `out_channels`, H, W)."""
        for layer in self.layers:
            x = layer(x)
        return x


class MaxVit(nn.Module):
    """Blocks of convolutions and of attention inside of windows and along a grid.

    Parameters
    ----------
    input_size : (int, int)
        Of the images; the maps of every block must consist of whole windows.
    stem_channels, partition_size, head_dim : int
    block_channels, block_layers : list of int
    stochastic_depth_prob : float
        Chance that the last layer is left out; it grows from 0 at the first.
    norm_layer : callable
        Default: `nn.BatchNorm2d` with ``eps=1e-3`` and ``momentum=0.01``.
    activation_layer : callable, default `nn.GELU`
    squeeze_ratio, expansion_ratio, mlp_ratio : default 0.25, 4 and 4
    mlp_dropout, attention_dropout : float, default 0.0
    num_classes : int, default 1000

    Example
    -------
    >>> model = MaxVit((32, 32), 8, 2, [8], [1], head_dim=4, stochastic_depth_prob=0.0)
    >>> model(rl.zeros(1, 3, 32, 32)).shape
    rushlight.Size([1, 1000])
    """

    def __init__(
        self,
        input_size: tuple[int, int],
        stem_channels: int,
        partition_size: int,
        block_channels: list[int],
        block_layers: list[int],
        head_dim: int,
        stochastic_depth_prob: float,
        norm_layer: Callable[..., nn.Module] | None = None,
        activation_layer: Callable[..., nn.Module] = nn.GELU,
        squeeze_ratio: float = 0.25,
        expansion_ratio: float = 4,
        mlp_ratio: int = 4,
        mlp_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
    ) -> None:
        super().__init__()
        if norm_layer is None:
            norm_layer = partial(nn.BatchNorm2d, eps=1e-3, momentum=0.01)
        _check_sizes(input_size, len(block_channels), partition_size)
        self.stem = nn.Sequential(
            Conv2dNormActivation(
                3, stem_channels, 3, stride=2, norm_layer=norm_layer,
                activation_layer=activation_layer, bias=False, inplace=None,
            ),
            Conv2dNormActivation(
                stem_channels, stem_channels, 3, norm_layer=None, activation_layer=None, bias=True
            ),
        )  # fmt: skip
        self.partition_size = partition_size
        self.blocks = nn.ModuleList()
        chances = _evenly(stochastic_depth_prob, sum(block_layers))
        size, width = _get_conv_output_shape(input_size, 3, 2, 1), stem_channels
        for channels, count in zip(block_channels, block_layers, strict=True):
            block = MaxVitBlock(
                width, channels, squeeze_ratio, expansion_ratio, norm_layer, activation_layer,
                head_dim, mlp_ratio, mlp_dropout, attention_dropout, partition_size, size, count,
                chances[:count],
            )  # fmt: skip
            self.blocks.append(block)
            chances = chances[count:]
            size, width = block.grid_size, channels
        self.classifier = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.LayerNorm(width),
            nn.Linear(width, width),
            nn.Tanh(),
            nn.Linear(width, num_classes, bias=False),
        )
        self._init_weights()

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores (N, `num_classes`) of images (N, 3, H, W) of `input_size`."""
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.classifier(x)

    def _init_weights(self) -> None:
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.normal_(module.weight, std=0.02)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.ones_(module.weight)
            else:
                continue
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def _evenly(last: float, count: int) -> list[float]:
    """`count` numbers from 0 to `last`."""
    step = last / max(count - 1, 1)
    return [number * step for number in range(count)]


def _check_sizes(input_size: tuple[int, int], blocks: int, partition_size: int) -> None:
    shapes = _make_block_input_shapes(input_size, blocks)
    for number, size in enumerate(shapes):
        if size[0] % partition_size != 0 or size[1] % partition_size != 0:
            raise ValueError(
                f"Input size {size} of block {number} is not divisible by partition size "
                f"{partition_size}. Consider changing the partition size or the input size.\n"
                f"Current configuration yields the following block input sizes: {shapes}."
            )


def _maxvit(
    stem_channels: int,
    block_channels: list[int],
    block_layers: list[int],
    stochastic_depth_prob: float,
    partition_size: int,
    head_dim: int,
    weights: WeightsEnum | None = None,
    progress: bool = False,
    **kwargs: Any,
) -> MaxVit:
    if weights is not None:
        _ovewrite_named_param(kwargs, "input_size", weights.meta["min_size"])
    kwargs.setdefault("input_size", (224, 224))
    return built(
        MaxVit,
        weights,
        progress,
        stem_channels=stem_channels,
        block_channels=block_channels,
        block_layers=block_layers,
        stochastic_depth_prob=stochastic_depth_prob,
        partition_size=partition_size,
        head_dim=head_dim,
        **kwargs,
    )


class MaxVit_T_Weights(WeightsEnum):
    """Weights of :func:`maxvit_t`."""

    IMAGENET1K_V1 = published("MaxVit_T_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


@classifier(MaxVit_T_Weights)
def maxvit_t(
    *, weights: MaxVit_T_Weights | None = None, progress: bool = True, **kwargs: Any
) -> MaxVit:
    """The tiny MaxViT; keyword arguments, and ``input_size``, go to :class:`MaxVit`."""
    return _maxvit(
        64,
        [64, 128, 256, 512],
        [2, 2, 5, 2],
        stochastic_depth_prob=0.2,
        partition_size=7,
        head_dim=32,
        weights=weights,
        progress=progress,
        **kwargs,
    )

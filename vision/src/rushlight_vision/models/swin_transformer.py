"""Swin transformers (Liu et al., Swin Transformer: hierarchical vision transformer using shifted
windows, 2021; Swin Transformer V2: scaling up capacity and resolution, 2021)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import rushlight as rl
from rushlight import fx, nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._initialize import draw_perceptron
from rushlight_vision.models._swin_attention import (
    ShiftedWindowAttention,
    ShiftedWindowAttentionV2,
    shifted_window_attention,
)
from rushlight_vision.models._utils import built, classifier
from rushlight_vision.ops.misc import MLP, Permute
from rushlight_vision.ops.stochastic_depth import StochasticDepth

__all__ = [
    "PatchMerging",
    "PatchMergingV2",
    "ShiftedWindowAttention",
    "ShiftedWindowAttentionV2",
    "SwinTransformer",
    "SwinTransformerBlock",
    "SwinTransformerBlockV2",
    "Swin_B_Weights",
    "Swin_S_Weights",
    "Swin_T_Weights",
    "Swin_V2_B_Weights",
    "Swin_V2_S_Weights",
    "Swin_V2_T_Weights",
    "shifted_window_attention",
    "swin_b",
    "swin_s",
    "swin_t",
    "swin_v2_b",
    "swin_v2_s",
    "swin_v2_t",
]


def _patch_merging_pad(x: rl.Tensor) -> rl.Tensor:
    """The four pixels of squares, one after the other: (N, H/2, W/2, 4C); odd sides are padded."""
    height, width = x.shape[-3:-1]
    x = nn.functional.pad(x, (0, 0, 0, width % 2, 0, height % 2))
    squares = [x[..., row::2, column::2, :] for column in (0, 1) for row in (0, 1)]
    return rl.cat(squares, -1)


fx.wrap("_patch_merging_pad")


class PatchMerging(nn.Module):
    """Half the size and twice the channels: (N, H, W, C) to (N, H/2, W/2, 2C)."""

    def __init__(self, dim: int, norm_layer: Callable[..., nn.Module] = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(4 * dim)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The merged pixels."""
        return self.reduction(self.norm(_patch_merging_pad(x)))


class PatchMergingV2(nn.Module):
    """:class:`PatchMerging` that normalises after the linear layer."""

    def __init__(self, dim: int, norm_layer: Callable[..., nn.Module] = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(2 * dim)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The merged pixels."""
        return self.norm(self.reduction(_patch_merging_pad(x)))


class SwinTransformerBlock(nn.Module):
    """Attention inside of windows and two linear layers, both after normalisation.

    Parameters
    ----------
    dim, num_heads : int
    window_size, shift_size : list of two int
    mlp_ratio : float, default 4.0
        Width between the linear layers, divided by `dim`.
    dropout, attention_dropout, stochastic_depth_prob : float, default 0.0
    norm_layer : callable, default `nn.LayerNorm`
    attn_layer : callable, default `ShiftedWindowAttention`
    """

    def __init__(
        self,
        dim: int,
        num_heads: int,
        window_size: list[int],
        shift_size: list[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        norm_layer: Callable[..., nn.Module] = nn.LayerNorm,
        attn_layer: Callable[..., nn.Module] = ShiftedWindowAttention,
    ) -> None:
        super().__init__()
        self.norm1 = norm_layer(dim)
        self.attn = attn_layer(
            dim, window_size, shift_size, num_heads,
            attention_dropout=attention_dropout, dropout=dropout,
        )  # fmt: skip
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.norm2 = norm_layer(dim)
        self.mlp = MLP(dim, [int(dim * mlp_ratio), dim], activation_layer=nn.GELU, dropout=dropout)
        draw_perceptron(self.mlp)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The pixels (N, H, W, `dim`)."""
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))
        return x + self.stochastic_depth(self.mlp(self.norm2(x)))


class SwinTransformerBlockV2(SwinTransformerBlock):
    """The second version: normalisation comes last, and attention is by cosines."""

    def __init__(
        self,
        dim: int,
        num_heads: int,
        window_size: list[int],
        shift_size: list[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        norm_layer: Callable[..., nn.Module] = nn.LayerNorm,
        attn_layer: Callable[..., nn.Module] = ShiftedWindowAttentionV2,
    ) -> None:
        super().__init__(
            dim, num_heads, window_size, shift_size, mlp_ratio, dropout, attention_dropout,
            stochastic_depth_prob, norm_layer, attn_layer,
        )  # fmt: skip

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The pixels (N, H, W, `dim`)."""
        x = x + self.stochastic_depth(self.norm1(self.attn(x)))
        return x + self.stochastic_depth(self.norm2(self.mlp(x)))


class SwinTransformer(nn.Module):
    """Stages of attention inside of windows, with half the size and twice the channels between.

    Parameters
    ----------
    patch_size, window_size : list of two int
    embed_dim : int
        Channels of the first stage.
    depths, num_heads : list of int
        Blocks and heads of the stages.
    mlp_ratio : float, default 4.0
    dropout, attention_dropout : float, default 0.0
    stochastic_depth_prob : float, default 0.1
        Chance that the last block is left out; it grows from 0 at the first.
    num_classes : int, default 1000
    norm_layer : callable, default `nn.LayerNorm` with ``eps=1e-5``
    block, downsample_layer : callable, default `SwinTransformerBlock` and `PatchMerging`
    """

    def __init__(
        self,
        patch_size: list[int],
        embed_dim: int,
        depths: list[int],
        num_heads: list[int],
        window_size: list[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.1,
        num_classes: int = 1000,
        norm_layer: Callable[..., nn.Module] | None = None,
        block: Callable[..., nn.Module] | None = None,
        downsample_layer: Callable[..., nn.Module] = PatchMerging,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        block = SwinTransformerBlock if block is None else block
        norm = partial(nn.LayerNorm, eps=1e-5) if norm_layer is None else norm_layer
        side = (patch_size[0], patch_size[1])
        layers: list[nn.Module] = [
            nn.Sequential(
                nn.Conv2d(3, embed_dim, kernel_size=side, stride=side),
                Permute([0, 2, 3, 1]),
                norm(embed_dim),
            )
        ]
        options: dict[str, Any] = {
            "mlp_ratio": mlp_ratio,
            "dropout": dropout,
            "attention_dropout": attention_dropout,
            "norm_layer": norm,
        }
        last, number, width = sum(depths) - 1, 0, embed_dim
        for stage, (depth, heads) in enumerate(zip(depths, num_heads, strict=True)):
            if stage > 0:
                layers.append(downsample_layer(width, norm))
                width *= 2
            blocks: list[nn.Module] = []
            for index in range(depth):
                chance = stochastic_depth_prob * float(number) / last
                shift = [0 if index % 2 == 0 else each // 2 for each in window_size]
                blocks.append(
                    block(
                        width, heads, window_size=window_size, shift_size=shift,
                        stochastic_depth_prob=chance, **options,
                    )
                )  # fmt: skip
                number += 1
            layers.append(nn.Sequential(*blocks))
        self.features = nn.Sequential(*layers)
        self.norm = norm(width)
        self.permute = Permute([0, 3, 1, 2])
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten(1)
        self.head = nn.Linear(width, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores (N, `num_classes`) of images (N, 3, H, W)."""
        x = self.permute(self.norm(self.features(x)))
        return self.head(self.flatten(self.avgpool(x)))


_SHAPES = {  # channels, blocks and heads
    "t": (96, [2, 2, 6, 2], [3, 6, 12, 24]),
    "s": (96, [2, 2, 18, 2], [3, 6, 12, 24]),
    "b": (128, [2, 2, 18, 2], [4, 8, 16, 32]),
}


def _swin_transformer(
    patch_size: list[int],
    embed_dim: int,
    depths: list[int],
    num_heads: list[int],
    window_size: list[int],
    stochastic_depth_prob: float,
    weights: WeightsEnum | None,
    progress: bool,
    **kwargs: Any,
) -> SwinTransformer:
    shape = (patch_size, embed_dim, depths, num_heads, window_size)
    kwargs["stochastic_depth_prob"] = stochastic_depth_prob
    return built(SwinTransformer, weights, progress, *shape, **kwargs)


def _first(
    size: str, chance: float, weights: WeightsEnum | None, progress: bool, **kwargs: Any
) -> SwinTransformer:
    """A network of the first version."""
    chance = kwargs.pop("stochastic_depth_prob", chance)
    return _swin_transformer([4, 4], *_SHAPES[size], [7, 7], chance, weights, progress, **kwargs)


def _second(
    size: str, chance: float, weights: WeightsEnum | None, progress: bool, **kwargs: Any
) -> SwinTransformer:
    """A network of the second version."""
    kwargs.setdefault("block", SwinTransformerBlockV2)
    kwargs.setdefault("downsample_layer", PatchMergingV2)
    chance = kwargs.pop("stochastic_depth_prob", chance)
    return _swin_transformer([4, 4], *_SHAPES[size], [8, 8], chance, weights, progress, **kwargs)


class Swin_T_Weights(WeightsEnum):
    """Weights of :func:`swin_t`."""

    IMAGENET1K_V1 = published("Swin_T_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class Swin_S_Weights(WeightsEnum):
    """Weights of :func:`swin_s`."""

    IMAGENET1K_V1 = published("Swin_S_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class Swin_B_Weights(WeightsEnum):
    """Weights of :func:`swin_b`."""

    IMAGENET1K_V1 = published("Swin_B_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class Swin_V2_T_Weights(WeightsEnum):
    """Weights of :func:`swin_v2_t`."""

    IMAGENET1K_V1 = published("Swin_V2_T_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class Swin_V2_S_Weights(WeightsEnum):
    """Weights of :func:`swin_v2_s`."""

    IMAGENET1K_V1 = published("Swin_V2_S_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


class Swin_V2_B_Weights(WeightsEnum):
    """Weights of :func:`swin_v2_b`."""

    IMAGENET1K_V1 = published("Swin_V2_B_Weights.IMAGENET1K_V1")
    DEFAULT = IMAGENET1K_V1


@classifier(Swin_T_Weights)
def swin_t(
    *, weights: Swin_T_Weights | None = None, progress: bool = True, **kwargs: Any
) -> SwinTransformer:
    """The tiny Swin transformer; keyword arguments go to :class:`SwinTransformer`.

    >>> swin_t(num_classes=10)(rl.zeros(2, 3, 32, 32)).shape
    rushlight.Size([2, 10])
    """
    return _first("t", 0.2, weights, progress, **kwargs)


@classifier(Swin_S_Weights)
def swin_s(
    *, weights: Swin_S_Weights | None = None, progress: bool = True, **kwargs: Any
) -> SwinTransformer:
    """The small Swin transformer; keyword arguments go to :class:`SwinTransformer`."""
    return _first("s", 0.3, weights, progress, **kwargs)


@classifier(Swin_B_Weights)
def swin_b(
    *, weights: Swin_B_Weights | None = None, progress: bool = True, **kwargs: Any
) -> SwinTransformer:
    """The base Swin transformer; keyword arguments go to :class:`SwinTransformer`."""
    return _first("b", 0.5, weights, progress, **kwargs)


@classifier(Swin_V2_T_Weights)
def swin_v2_t(
    *, weights: Swin_V2_T_Weights | None = None, progress: bool = True, **kwargs: Any
) -> SwinTransformer:
    """The tiny Swin V2 transformer; keyword arguments go to :class:`SwinTransformer`."""
    return _second("t", 0.2, weights, progress, **kwargs)


@classifier(Swin_V2_S_Weights)
def swin_v2_s(
    *, weights: Swin_V2_S_Weights | None = None, progress: bool = True, **kwargs: Any
) -> SwinTransformer:
    """The small Swin V2 transformer; keyword arguments go to :class:`SwinTransformer`."""
    return _second("s", 0.3, weights, progress, **kwargs)


@classifier(Swin_V2_B_Weights)
def swin_v2_b(
    *, weights: Swin_V2_B_Weights | None = None, progress: bool = True, **kwargs: Any
) -> SwinTransformer:
    """The base Swin V2 transformer; keyword arguments go to :class:`SwinTransformer`."""
    return _second("b", 0.5, weights, progress, **kwargs)

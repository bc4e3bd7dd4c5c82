"""Swin transformers of videos (Liu et al., Video Swin Transformer, 2021)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import rushlight as rl
from rushlight import fx, nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._utils import built, classifier
from rushlight_vision.models._windows import into_windows, out_of_windows, scores_apart
from rushlight_vision.models.swin_transformer import PatchMerging, SwinTransformerBlock

__all__ = [
    "Swin3D_B_Weights",
    "Swin3D_S_Weights",
    "Swin3D_T_Weights",
    "SwinTransformer3d",
    "swin3d_b",
    "swin3d_s",
    "swin3d_t",
]

F = nn.functional


def _get_window_and_shift_size(
    shift_size: list[int], size_dhw: list[int], window_size: list[int]
) -> tuple[list[int], list[int]]:
    """Windows not longer than the video, which are not shifted where they are as long."""
    triples = list(zip(size_dhw, window_size, shift_size, strict=True))
    windows = [min(side, window) for side, window, _ in triples]
    return windows, [0 if side <= window else shift for side, window, shift in triples]


def _get_relative_position_bias(
    relative_position_bias_table: rl.Tensor,
    relative_position_index: rl.Tensor,
    window_size: list[int],
) -> rl.Tensor:
    """What is added to the scores (1, heads, volume, volume), by the distance of two positions."""
    volume = math.prod(window_size)
    index = relative_position_index[:volume, :volume].flatten()
    bias = relative_position_bias_table[index].view(volume, volume, -1)
    return bias.permute(2, 0, 1).unsqueeze(0).contiguous()


def _compute_pad_size_3d(size_dhw: Sequence[int], patch_size: Sequence[int]) -> tuple[int, ...]:
    """What is missing to multiples of a patch."""
    return tuple(-side % patch for side, patch in zip(size_dhw, patch_size, strict=True))


fx.wrap("_get_window_and_shift_size")
fx.wrap("_get_relative_position_bias")


def shifted_window_attention_3d(
    input: rl.Tensor,
    qkv_weight: rl.Tensor,
    proj_weight: rl.Tensor,
    relative_position_bias: rl.Tensor,
    window_size: list[int],
    num_heads: int,
    shift_size: list[int],
    attention_dropout: float = 0.0,
    dropout: float = 0.0,
    qkv_bias: rl.Tensor | None = None,
    proj_bias: rl.Tensor | None = None,
    training: bool = True,
) -> rl.Tensor:
    """Attention between the positions of each window of videos (N, T, H, W, C).

    As :func:`~rushlight_vision.models.swin_transformer.shifted_window_attention` of images.
    """
    n, *sides, channels = input.shape
    time, down, across = _compute_pad_size_3d(sides, window_size)
    x = F.pad(input, (0, 0, 0, across, 0, down, 0, time))
    padded = x.shape
    shifted = sum(shift_size) > 0
    if shifted:
        x = rl.roll(x, shifts=tuple(-each for each in shift_size), dims=(1, 2, 3))
    x = into_windows(x, window_size)
    count, volume = x.shape[:2]
    qkv = F.linear(x, qkv_weight, qkv_bias)
    qkv = qkv.reshape(count, volume, 3, num_heads, channels // num_heads).permute(2, 0, 3, 1, 4)
    scores = (qkv[0] * (channels // num_heads) ** -0.5).matmul(qkv[1].transpose(-2, -1))
    scores = scores + relative_position_bias
    if shifted:
        apart = scores_apart(padded[1:4], window_size, shift_size, x)
        scores = scores.view(n, count // n, num_heads, volume, volume)
        scores = (scores + apart.unsqueeze(1).unsqueeze(0)).view(-1, num_heads, volume, volume)
    scores = F.dropout(F.softmax(scores, dim=-1), p=attention_dropout, training=training)
    x = scores.matmul(qkv[2]).transpose(1, 2).reshape(count, volume, channels)
    x = F.dropout(F.linear(x, proj_weight, proj_bias), p=dropout, training=training)
    x = out_of_windows(x, padded, window_size)
    if shifted:
        x = rl.roll(x, shifts=tuple(shift_size), dims=(1, 2, 3))
    return x[:, : sides[0], : sides[1], : sides[2], :].contiguous()


fx.wrap("shifted_window_attention_3d")


class ShiftedWindowAttention3d(nn.Module):
    """:func:`shifted_window_attention_3d` with its weights, and a bias for each distance.

    Parameters
    ----------
    dim : int
        Channels of input and output (N, T, H, W, `dim`).
    window_size, shift_size : list of three int
    num_heads : int
    qkv_bias, proj_bias : bool, default True
    attention_dropout, dropout : float, default 0.0
    """

    def __init__(
        self,
        dim: int,
        window_size: list[int],
        shift_size: list[int],
        num_heads: int,
        qkv_bias: bool = True,
        proj_bias: bool = True,
        attention_dropout: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if len(window_size) != 3 or len(shift_size) != 3:
            raise ValueError("window_size and shift_size must be of length 3")
        self.window_size = window_size
        self.shift_size = shift_size
        self.num_heads = num_heads
        self.attention_dropout = attention_dropout
        self.dropout = dropout
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        self.define_relative_position_bias_table()
        self.define_relative_position_index()

    def define_relative_position_bias_table(self) -> None:
        """A bias for every distance and head."""
        count = math.prod(2 * side - 1 for side in self.window_size)
        self.relative_position_bias_table = nn.Parameter(rl.zeros(count, self.num_heads))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def define_relative_position_index(self) -> None:
        """Where the distance of two positions stands in the table."""
        axes = rl.meshgrid(*(rl.arange(side) for side in self.window_size), indexing="ij")
        index: Any = 0
        for axis, side in zip(axes, self.window_size, strict=True):
            axis = axis.flatten()
            index = index * (2 * side - 1) + (axis[:, None] - axis[None, :] + side - 1)
        self.register_buffer("relative_position_index", index)

    def get_relative_position_bias(self, window_size: list[int]) -> rl.Tensor:
        """What is added to the scores (1, heads, volume, volume)."""
        return _get_relative_position_bias(
            self.relative_position_bias_table, self.relative_position_index, window_size
        )

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The positions (N, T, H, W, `dim`)."""
        _, t, h, w, _ = x.shape
        window, shift = _get_window_and_shift_size(
            self.shift_size.copy(), [t, h, w], self.window_size.copy()
        )
        return shifted_window_attention_3d(
            x, self.qkv.weight, self.proj.weight, self.get_relative_position_bias(window), window,
            self.num_heads, shift_size=shift, attention_dropout=self.attention_dropout,
            dropout=self.dropout, qkv_bias=self.qkv.bias, proj_bias=self.proj.bias,
            training=self.training,
        )  # fmt: skip


class PatchEmbed3d(nn.Module):
    """Patches of videos (N, C, T, H, W), padded where they are not whole, as (N, T, H, W,
    `embed_dim`)."""

    def __init__(
        self,
        patch_size: list[int],
        in_channels: int = 3,
        embed_dim: int = 96,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        size = (patch_size[0], patch_size[1], patch_size[2])
        self.tuple_patch_size = size
        self.proj = nn.Conv3d(in_channels, embed_dim, kernel_size=size, stride=size)
        self.norm = nn.Identity() if norm_layer is None else norm_layer(embed_dim)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The patches."""
        _, _, t, h, w = x.shape
        time, down, across = _compute_pad_size_3d((t, h, w), self.tuple_patch_size)
        x = self.proj(F.pad(x, (0, across, 0, down, 0, time)))
        return self.norm(x.permute(0, 2, 3, 4, 1))


class SwinTransformer3d(nn.Module):
    """Stages of attention inside of windows, with half the size and twice the channels between.

    Parameters
    ----------
    patch_size, window_size : list of three int
    embed_dim : int
        Channels of the first stage.
    depths, num_heads : list of int
        Blocks and heads of the stages.
    mlp_ratio : float, default 4.0
    dropout, attention_dropout : float, default 0.0
    stochastic_depth_prob : float, default 0.1
        Chance that the last block is left out; it grows from 0 at the first.
    num_classes : int, default 400
    norm_layer : callable, default `nn.LayerNorm` with ``eps=1e-5``
    block, downsample_layer, patch_embed : callable
        Default: `SwinTransformerBlock` with `ShiftedWindowAttention3d`, `PatchMerging` and
        `PatchEmbed3d`.

    Input (N, 3, T, H, W), output (N, `num_classes`).
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
        num_classes: int = 400,
        norm_layer: Callable[..., nn.Module] | None = None,
        block: Callable[..., nn.Module] | None = None,
        downsample_layer: Callable[..., nn.Module] = PatchMerging,
        patch_embed: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        if block is None:
            block = partial(SwinTransformerBlock, attn_layer=ShiftedWindowAttention3d)
        norm = partial(nn.LayerNorm, eps=1e-5) if norm_layer is None else norm_layer
        embed = PatchEmbed3d if patch_embed is None else patch_embed
        self.patch_embed = embed(patch_size=patch_size, embed_dim=embed_dim, norm_layer=norm)
        self.pos_drop = nn.Dropout(p=dropout)
        options: dict[str, Any] = {
            "mlp_ratio": mlp_ratio,
            "dropout": dropout,
            "attention_dropout": attention_dropout,
            "norm_layer": norm,
        }
        layers: list[nn.Module] = []
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
        self.num_features = width
        self.norm = norm(width)
        self.avgpool = nn.AdaptiveAvgPool3d(1)
        self.head = nn.Linear(width, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores of the classes."""
        x = self.norm(self.features(self.pos_drop(self.patch_embed(x))))
        return self.head(self.avgpool(x.permute(0, 4, 1, 2, 3)).flatten(1))


_SHAPES = {  # channels, blocks and heads
    "t": (96, [2, 2, 6, 2], [3, 6, 12, 24]),
    "s": (96, [2, 2, 18, 2], [3, 6, 12, 24]),
    "b": (128, [2, 2, 18, 2], [4, 8, 16, 32]),
}


def _swin_transformer3d(
    patch_size: list[int],
    embed_dim: int,
    depths: list[int],
    num_heads: list[int],
    window_size: list[int],
    stochastic_depth_prob: float,
    weights: WeightsEnum | None,
    progress: bool,
    **kwargs: Any,
) -> SwinTransformer3d:
    shape = (patch_size, embed_dim, depths, num_heads, window_size)
    kwargs["stochastic_depth_prob"] = stochastic_depth_prob
    return built(SwinTransformer3d, weights, progress, *shape, **kwargs)


def _named(
    size: str, weights: WeightsEnum | None, progress: bool, kwargs: dict[str, Any]
) -> SwinTransformer3d:
    settings = {"stochastic_depth_prob": 0.1, **kwargs}
    shape = ([2, 4, 4], *_SHAPES[size], [8, 7, 7])
    return _swin_transformer3d(*shape, weights=weights, progress=progress, **settings)


class Swin3D_T_Weights(WeightsEnum):
    """Weights of :func:`swin3d_t`."""

    KINETICS400_V1 = published("Swin3D_T_Weights.KINETICS400_V1")
    DEFAULT = KINETICS400_V1


class Swin3D_S_Weights(WeightsEnum):
    """Weights of :func:`swin3d_s`."""

    KINETICS400_V1 = published("Swin3D_S_Weights.KINETICS400_V1")
    DEFAULT = KINETICS400_V1


class Swin3D_B_Weights(WeightsEnum):
    """Weights of :func:`swin3d_b`."""

    KINETICS400_V1 = published("Swin3D_B_Weights.KINETICS400_V1")
    KINETICS400_IMAGENET22K_V1 = published("Swin3D_B_Weights.KINETICS400_IMAGENET22K_V1")
    DEFAULT = KINETICS400_V1


@classifier(Swin3D_T_Weights, "KINETICS400_V1")
def swin3d_t(
    *, weights: Swin3D_T_Weights | None = None, progress: bool = True, **kwargs: Any
) -> SwinTransformer3d:
    """The tiny one; keyword arguments go to :class:`SwinTransformer3d`."""
    return _named("t", weights, progress, kwargs)


@classifier(Swin3D_S_Weights, "KINETICS400_V1")
def swin3d_s(
    *, weights: Swin3D_S_Weights | None = None, progress: bool = True, **kwargs: Any
) -> SwinTransformer3d:
    """The small one; keyword arguments go to :class:`SwinTransformer3d`."""
    return _named("s", weights, progress, kwargs)


@classifier(Swin3D_B_Weights, "KINETICS400_V1")
def swin3d_b(
    *, weights: Swin3D_B_Weights | None = None, progress: bool = True, **kwargs: Any
) -> SwinTransformer3d:
    """The base one; keyword arguments go to :class:`SwinTransformer3d`."""
    return _named("b", weights, progress, kwargs)

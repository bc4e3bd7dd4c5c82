"""Multiscale vision transformers (Fan et al., Multiscale vision transformers, 2021; Li et al.,
MViTv2: improved multiscale vision transformers for classification and detection, 2022)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, published
from rushlight_vision.models._utils import _ovewrite_named_param, built, classifier
from rushlight_vision.models.video._multiscale_attention import (
    MultiscaleAttention,
    Pool,
    _prod,
    _unsqueeze,
    halved,
)
from rushlight_vision.ops.misc import MLP
from rushlight_vision.ops.stochastic_depth import StochasticDepth

__all__ = [
    "MViT",
    "MViT_V1_B_Weights",
    "MViT_V2_S_Weights",
    "mvit_v1_b",
    "mvit_v2_s",
]

Size = tuple[int, int, int]
Norm = Callable[..., nn.Module]


@dataclass
class MSBlockConfig:
    """What one block is made of; lists that are empty stand for no pooling."""

    num_heads: int
    input_channels: int
    output_channels: int
    kernel_q: list[int]
    kernel_kv: list[int]
    stride_q: list[int]
    stride_kv: list[int]


class MultiscaleBlock(nn.Module):
    """Attention with pooling and two linear layers, both after normalisation.

    Parameters
    ----------
    input_size : list of int
        Frames, height and width of the positions.
    cnf : MSBlockConfig
    residual_pool, residual_with_cls_embed : bool
        Whether pooled queries are added to the result, and the token of the class among them.
    rel_pos_embed : bool
        Whether scores know distances.
    proj_after_attn : bool
        Whether attention, and not the linear layers, changes the width.
    dropout, stochastic_depth_prob : float, default 0.0
    norm_layer : callable, default `nn.LayerNorm`
    """

    def __init__(
        self,
        input_size: list[int],
        cnf: MSBlockConfig,
        residual_pool: bool,
        residual_with_cls_embed: bool,
        rel_pos_embed: bool,
        proj_after_attn: bool,
        dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        norm_layer: Norm = nn.LayerNorm,
    ) -> None:
        super().__init__()
        self.proj_after_attn = proj_after_attn
        self.pool_skip = None
        if _prod(cnf.stride_q) > 1:
            kernel = [step + 1 if step > 1 else step for step in cnf.stride_q]
            pool = nn.MaxPool3d(kernel, stride=cnf.stride_q, padding=halved(kernel))
            self.pool_skip = Pool(pool, None)
        width = cnf.output_channels if proj_after_attn else cnf.input_channels
        self.norm1 = norm_layer(cnf.input_channels)
        self.norm2 = norm_layer(width)
        self.needs_transposal = isinstance(self.norm1, nn.BatchNorm1d)
        self.attn = MultiscaleAttention(
            input_size, cnf.input_channels, width, cnf.num_heads,
            kernel_q=cnf.kernel_q, kernel_kv=cnf.kernel_kv,
            stride_q=cnf.stride_q, stride_kv=cnf.stride_kv,
            rel_pos_embed=rel_pos_embed, residual_pool=residual_pool,
            residual_with_cls_embed=residual_with_cls_embed, dropout=dropout,
            norm_layer=norm_layer,
        )  # fmt: skip
        self.mlp = MLP(
            width, [4 * width, cnf.output_channels],
            activation_layer=nn.GELU, dropout=dropout, inplace=None,
        )  # fmt: skip
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.project: nn.Module | None = None
        if cnf.input_channels != cnf.output_channels:
            self.project = nn.Linear(cnf.input_channels, cnf.output_channels)

    def _normalized(self, norm: nn.Module, x: rl.Tensor) -> rl.Tensor:
        return norm(x.transpose(1, 2)).transpose(1, 2) if self.needs_transposal else norm(x)

    def forward(self, x: rl.Tensor, thw: Size) -> tuple[rl.Tensor, Size]:
        """The positions (N, 1 + T * H * W, C), the token of the class first, and their size."""
        normalized = self._normalized(self.norm1, x)
        seen, size = self.attn(normalized, thw)
        if self.project is not None and self.proj_after_attn:
            x = self.project(normalized)
        skipped = x if self.pool_skip is None else self.pool_skip(x, thw)[0]
        x = skipped + self.stochastic_depth(seen)
        normalized = self._normalized(self.norm2, x)
        if self.project is not None and not self.proj_after_attn:
            x = self.project(normalized)
        return x + self.stochastic_depth(self.mlp(normalized)), size


class PositionalEncoding(nn.Module):
    """The token of the class in front of all positions, and, unless `rel_pos_embed`, what is added
    to each."""

    def __init__(
        self,
        embed_size: int,
        spatial_size: tuple[int, int],
        temporal_size: int,
        rel_pos_embed: bool,
    ) -> None:
        super().__init__()
        self.spatial_size = spatial_size
        self.temporal_size = temporal_size
        self.class_token = nn.Parameter(rl.zeros(embed_size))
        self.spatial_pos: nn.Parameter | None = None
        self.temporal_pos: nn.Parameter | None = None
        self.class_pos: nn.Parameter | None = None
        if not rel_pos_embed:
            area = spatial_size[0] * spatial_size[1]
            self.spatial_pos = nn.Parameter(rl.zeros(area, embed_size))
            self.temporal_pos = nn.Parameter(rl.zeros(temporal_size, embed_size))
            self.class_pos = nn.Parameter(rl.zeros(embed_size))

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """(N, 1 + T * H * W, C) of positions (N, T * H * W, C)."""
        token = self.class_token.expand(x.shape[0], -1).unsqueeze(1)
        x = rl.cat((token, x), dim=1)
        if self.spatial_pos is None or self.temporal_pos is None or self.class_pos is None:
            return x
        every = (self.temporal_pos[:, None] + self.spatial_pos).flatten(0, 1)
        return x + rl.cat((self.class_pos.unsqueeze(0), every), dim=0).unsqueeze(0)


class MViT(nn.Module):
    """A transformer of videos whose stages have ever fewer positions and more channels.

    Parameters
    ----------
    spatial_size : (int, int)
        Height and width of frames.
    temporal_size : int
        How many frames.
    block_setting : sequence of MSBlockConfig
    residual_pool, residual_with_cls_embed, rel_pos_embed, proj_after_attn : bool
        As of :class:`MultiscaleBlock`.
    dropout : float, default 0.5
        Before the last layer.
    attention_dropout, stochastic_depth_prob : float, default 0.0
    num_classes : int, default 400
    block, norm_layer : callable
        Default: `MultiscaleBlock`, and `nn.LayerNorm` with ``eps=1e-6``.
    patch_embed_kernel, patch_embed_stride, patch_embed_padding : (int, int, int)
        Of the first convolution; default: (3, 7, 7), (2, 4, 4) and (1, 3, 3).

    Input (N, 3, T, H, W), output (N, `num_classes`). Raises ValueError without blocks.
    """

    def __init__(
        self,
        spatial_size: tuple[int, int],
        temporal_size: int,
        block_setting: Sequence[MSBlockConfig],
        residual_pool: bool,
        residual_with_cls_embed: bool,
        rel_pos_embed: bool,
        proj_after_attn: bool,
        dropout: float = 0.5,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        num_classes: int = 400,
        block: Norm | None = None,
        norm_layer: Norm | None = None,
        patch_embed_kernel: Size = (3, 7, 7),
        patch_embed_stride: Size = (2, 4, 4),
        patch_embed_padding: Size = (1, 3, 3),
    ) -> None:
        super().__init__()
        if not block_setting:
            raise ValueError("The configuration parameter can't be empty.")
        make = MultiscaleBlock if block is None else block
        norm = partial(nn.LayerNorm, eps=1e-6) if norm_layer is None else norm_layer
        first = block_setting[0].input_channels
        self.conv_proj = nn.Conv3d(
            3, first, patch_embed_kernel, stride=patch_embed_stride, padding=patch_embed_padding
        )
        whole = (temporal_size, *spatial_size)
        sides = [side // step for side, step in zip(whole, patch_embed_stride, strict=True)]
        self.pos_encoding = PositionalEncoding(first, (sides[1], sides[2]), sides[0], rel_pos_embed)
        self.blocks = nn.ModuleList()
        for number, cnf in enumerate(block_setting):
            chance = stochastic_depth_prob * number / (len(block_setting) - 1.0)
            self.blocks.append(
                make(
                    input_size=sides, cnf=cnf, residual_pool=residual_pool,
                    residual_with_cls_embed=residual_with_cls_embed, rel_pos_embed=rel_pos_embed,
                    proj_after_attn=proj_after_attn, dropout=attention_dropout,
                    stochastic_depth_prob=chance, norm_layer=norm,
                )
            )  # fmt: skip
            if cnf.stride_q:
                sides = [side // step for side, step in zip(sides, cnf.stride_q, strict=True)]
        last = block_setting[-1].output_channels
        self.norm = norm(last)
        self.head = nn.Sequential(nn.Dropout(dropout, inplace=True), nn.Linear(last, num_classes))
        _draw(self)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Scores of the classes."""
        x = self.conv_proj(_unsqueeze(x, 5, 2)[0])
        x = self.pos_encoding(x.flatten(2).transpose(1, 2))
        size: Any = (self.pos_encoding.temporal_size, *self.pos_encoding.spatial_size)
        for block in self.blocks:
            x, size = block(x, size)
        return self.head(self.norm(x)[:, 0])


def _draw(model: nn.Module) -> None:
    """First weights: small ones, cut far out; normalisation as the identity."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.trunc_normal_(module.weight, std=0.02)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.LayerNorm) and module.weight is not None:
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, PositionalEncoding):
            for parameter in module.parameters():
                nn.init.trunc_normal_(parameter, std=0.02)


def _setting(**columns: list[Any]) -> list[MSBlockConfig]:
    """The blocks of a network, given column by column."""
    rows = zip(*columns.values(), strict=True)
    return [MSBlockConfig(**dict(zip(columns, row, strict=True))) for row in rows]


def _mvit(
    block_setting: list[MSBlockConfig],
    stochastic_depth_prob: float,
    weights: WeightsEnum | None,
    progress: bool,
    **kwargs: Any,
) -> MViT:
    if weights is not None:
        _ovewrite_named_param(kwargs, "spatial_size", weights.meta["min_size"])
        _ovewrite_named_param(kwargs, "temporal_size", weights.meta["min_temporal_size"])
    kwargs = {"spatial_size": (224, 224), "temporal_size": 16, **kwargs}
    kwargs["stochastic_depth_prob"] = stochastic_depth_prob
    return built(MViT, weights, progress, block_setting=block_setting, **kwargs)


class MViT_V1_B_Weights(WeightsEnum):
    """Weights of :func:`mvit_v1_b`."""

    KINETICS400_V1 = published("MViT_V1_B_Weights.KINETICS400_V1")
    DEFAULT = KINETICS400_V1


class MViT_V2_S_Weights(WeightsEnum):
    """Weights of :func:`mvit_v2_s`."""

    KINETICS400_V1 = published("MViT_V2_S_Weights.KINETICS400_V1")
    DEFAULT = KINETICS400_V1


_HEADS = [1, 2, 2, *[4] * 11, 8, 8]
_KERNEL, _KEEP, _HALVE = [3, 3, 3], [1, 1, 1], [1, 2, 2]
_STRIDES_KV = [[1, 8, 8], *[[1, 4, 4]] * 2, *[[1, 2, 2]] * 11, *[[1, 1, 1]] * 2]


@classifier(MViT_V1_B_Weights, "KINETICS400_V1")
def mvit_v1_b(
    *, weights: MViT_V1_B_Weights | None = None, progress: bool = True, **kwargs: Any
) -> MViT:
    """The first version, base; keyword arguments go to :class:`MViT`, of which `spatial_size` is
    (224, 224) and `temporal_size` 16 by default."""
    heads = [*_HEADS]
    halving: list[list[int]] = [[] for _ in range(16)]
    kernels: list[list[int]] = [[] for _ in range(16)]
    for number in (1, 3, 14):
        halving[number], kernels[number] = _HALVE, _KERNEL
    setting = _setting(
        num_heads=heads,
        input_channels=[96, *[192] * 2, *[384] * 11, *[768] * 2],
        output_channels=[*[192] * 2, *[384] * 11, *[768] * 3],
        kernel_q=kernels,
        kernel_kv=[_KERNEL] * 16,
        stride_q=halving,
        stride_kv=_STRIDES_KV,
    )
    settings = {
        "residual_pool": False, "residual_with_cls_embed": False, "rel_pos_embed": False,
        "proj_after_attn": False, "stochastic_depth_prob": 0.2, **kwargs,
    }  # fmt: skip
    return _mvit(block_setting=setting, weights=weights, progress=progress, **settings)


@classifier(MViT_V2_S_Weights, "KINETICS400_V1")
def mvit_v2_s(
    *, weights: MViT_V2_S_Weights | None = None, progress: bool = True, **kwargs: Any
) -> MViT:
    """The second version, small; keyword arguments as of :func:`mvit_v1_b`."""
    halving = [_HALVE if number in (1, 3, 14) else _KEEP for number in range(16)]
    setting = _setting(
        num_heads=[*_HEADS],
        input_channels=[*[96] * 2, *[192] * 2, *[384] * 11, 768],
        output_channels=[96, *[192] * 2, *[384] * 11, *[768] * 2],
        kernel_q=[_KERNEL] * 16,
        kernel_kv=[_KERNEL] * 16,
        stride_q=halving,
        stride_kv=_STRIDES_KV,
    )
    settings = {
        "residual_pool": True, "residual_with_cls_embed": False, "rel_pos_embed": True,
        "proj_after_attn": True, "stochastic_depth_prob": 0.2, **kwargs,
    }  # fmt: skip
    return _mvit(block_setting=setting, weights=weights, progress=progress, **settings)

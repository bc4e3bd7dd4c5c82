"""The layers of MaxViT: inverted residuals, and attention inside of windows and along a grid."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.ops.misc import Conv2dNormActivation, SqueezeExcitation
from rushlight_vision.ops.stochastic_depth import StochasticDepth


def _get_relative_position_index(height: int, width: int) -> rl.Tensor:
    """Where the distance of two pixels of a window stands in a table: (area, area)."""
    rows, columns = rl.meshgrid(rl.arange(height), rl.arange(width), indexing="ij")
    rows, columns = rows.flatten(), columns.flatten()
    down = rows[:, None] - rows[None, :] + height - 1
    across = columns[:, None] - columns[None, :] + width - 1
    return down * (2 * width - 1) + across


class MBConv(nn.Module):
    """Wider by 1x1, filtered channel by channel, channels scaled, narrow again by 1x1, after
    normalisation; and the input, pooled and by a convolution where its shape differs."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        expansion_ratio: float,
        squeeze_ratio: float,
        stride: int,
        activation_layer: Callable[..., nn.Module],
        norm_layer: Callable[..., nn.Module],
        p_stochastic_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        skipped: list[nn.Module] = []
        if stride == 2:
            skipped.append(nn.AvgPool2d(kernel_size=3, stride=stride, padding=1))
        if stride != 1 or in_channels != out_channels:
            skipped.append(nn.Conv2d(in_channels, out_channels, kernel_size=1, bias=True))
        self.proj = nn.Sequential(*skipped) if skipped else nn.Identity()
        between = int(out_channels * expansion_ratio)
        squeezed = int(out_channels * squeeze_ratio)
        self.stochastic_depth = _stochastic(p_stochastic_dropout)
        shared: dict[str, Any] = {
            "activation_layer": activation_layer, "norm_layer": norm_layer, "inplace": None,
        }  # fmt: skip
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        layers["pre_norm"] = norm_layer(in_channels)
        layers["conv_a"] = Conv2dNormActivation(in_channels, between, kernel_size=1, **shared)
        layers["conv_b"] = Conv2dNormActivation(
            between, between, kernel_size=3, stride=stride, groups=between, **shared
        )
        layers["squeeze_excitation"] = SqueezeExcitation(between, squeezed, activation=nn.SiLU)
        layers["conv_c"] = nn.Conv2d(between, out_channels, kernel_size=1, bias=True)
        self.layers = nn.Sequential(layers)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The maps (N, `out_channels`, H, W)."""
        return self.proj(x) + self.stochastic_depth(self.layers(x))


def _stochastic(chance: float) -> nn.Module:
    return StochasticDepth(chance, mode="row") if chance else nn.Identity()


class RelativePositionalMultiHeadAttention(nn.Module):
    """Attention between the pixels (N, groups, area, `feat_dim`) of each group, with a bias for
    each distance.

    `max_seq_len` is the area, a square number; `head_dim` divides `feat_dim`.
    """

    def __init__(self, feat_dim: int, head_dim: int, max_seq_len: int) -> None:
        super().__init__()
        if feat_dim % head_dim != 0:
            raise ValueError(f"feat_dim: {feat_dim} must be divisible by head_dim: {head_dim}")
        self.n_heads = feat_dim // head_dim
        self.head_dim = head_dim
        self.size = round(max_seq_len**0.5)
        self.max_seq_len = max_seq_len
        self.to_qkv = nn.Linear(feat_dim, self.n_heads * self.head_dim * 3)
        # By all features, not by those of one head: the published weights were trained so.
        self.scale_factor = feat_dim**-0.5
        self.merge = nn.Linear(self.head_dim * self.n_heads, feat_dim)
        distances = (2 * self.size - 1) ** 2
        self.relative_position_bias_table = nn.Parameter(rl.empty(distances, self.n_heads))
        self.register_buffer(
            "relative_position_index", _get_relative_position_index(self.size, self.size)
        )
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def get_relative_positional_bias(self) -> rl.Tensor:
        """What is added to the scores (1, heads, area, area)."""
        index = self.relative_position_index.view(-1)
        bias = self.relative_position_bias_table[index]
        bias = bias.view(self.max_seq_len, self.max_seq_len, -1)
        return bias.permute(2, 0, 1).contiguous().unsqueeze(0)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The pixels, mixed within their groups."""
        n, groups, area, width = x.shape
        heads = (n, groups, area, self.n_heads, self.head_dim)
        q, k, v = rl.chunk(self.to_qkv(x), 3, dim=-1)
        q = q.reshape(heads).permute(0, 1, 3, 2, 4)
        k = k.reshape(heads).permute(0, 1, 3, 2, 4)
        v = v.reshape(heads).permute(0, 1, 3, 2, 4)
        k = k * self.scale_factor
        scores = rl.matmul(q, k.transpose(-2, -1))
        scores = nn.functional.softmax(scores + self.get_relative_positional_bias(), dim=-1)
        out = rl.matmul(scores, v).permute(0, 1, 3, 2, 4).reshape(n, groups, area, width)
        return self.merge(out)


class SwapAxes(nn.Module):
    """Dimensions `a` and `b` exchanged."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__()
        self.a = a
        self.b = b

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The view."""
        return rl.swapaxes(x, self.a, self.b)


class WindowPartition(nn.Module):
    """Images (N, C, H, W) as the pixels (N, windows, area, C) of windows of `p` x `p`."""

    def forward(self, x: rl.Tensor, p: int) -> rl.Tensor:
        """The windows, row by row."""
        n, channels, height, width = x.shape
        x = x.reshape(n, channels, height // p, p, width // p, p).permute(0, 2, 4, 3, 5, 1)
        return x.reshape(n, (height // p) * (width // p), p * p, channels)


class WindowDepartition(nn.Module):
    """Pixels (N, windows, area, C) of windows of `p` x `p` as images (N, C, H, W)."""

    def forward(self, x: rl.Tensor, p: int, h_partitions: int, w_partitions: int) -> rl.Tensor:
        """The images."""
        n, _, _, channels = x.shape
        x = x.reshape(n, h_partitions, w_partitions, p, p, channels).permute(0, 5, 1, 3, 2, 4)
        return x.reshape(n, channels, h_partitions * p, w_partitions * p)


class PartitionAttentionLayer(nn.Module):
    """Attention and two linear layers, both after normalisation, for pixels of the same group.

    Groups are windows of `partition_size`, or, with ``partition_type="grid"``, pixels that stand in
    the same place of windows, of which there are `partition_size` in each direction.
    """

    def __init__(
        self,
        in_channels: int,
        head_dim: int,
        partition_size: int,
        partition_type: str,
        grid_size: tuple[int, int],
        mlp_ratio: int,
        activation_layer: Callable[..., nn.Module],
        norm_layer: Callable[..., nn.Module],
        attention_dropout: float,
        mlp_dropout: float,
        p_stochastic_dropout: float,
    ) -> None:
        super().__init__()
        if partition_type not in ("grid", "window"):
            raise ValueError("partition_type must be either 'grid' or 'window'")
        self.n_heads = in_channels // head_dim
        self.head_dim = head_dim
        self.n_partitions = grid_size[0] // partition_size
        self.partition_type = partition_type
        self.grid_size = grid_size
        window = partition_type == "window"
        sizes = (partition_size, self.n_partitions)
        self.p, self.g = sizes if window else sizes[::-1]
        self.partition_op = WindowPartition()
        self.departition_op = WindowDepartition()
        self.partition_swap = nn.Identity() if window else SwapAxes(-2, -3)
        self.departition_swap = nn.Identity() if window else SwapAxes(-2, -3)
        self.attn_layer = nn.Sequential(
            norm_layer(in_channels),
            RelativePositionalMultiHeadAttention(in_channels, head_dim, partition_size**2),
            nn.Dropout(attention_dropout),
        )
        self.mlp_layer = nn.Sequential(
            nn.LayerNorm(in_channels),
            nn.Linear(in_channels, in_channels * mlp_ratio),
            activation_layer(),
            nn.Linear(in_channels * mlp_ratio, in_channels),
            nn.Dropout(mlp_dropout),
        )
        self.stochastic_dropout = StochasticDepth(p_stochastic_dropout, mode="row")

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The maps (N, C, H, W) of `grid_size`."""
        rows, columns = self.grid_size[0] // self.p, self.grid_size[1] // self.p
        rl._assert(
            self.grid_size[0] % self.p == 0 and self.grid_size[1] % self.p == 0,
            f"Grid size must be divisible by partition size. Got grid size of {self.grid_size} and "
            f"partition size of {self.p}",
        )
        x = self.partition_swap(self.partition_op(x, self.p))
        x = x + self.stochastic_dropout(self.attn_layer(x))
        x = x + self.stochastic_dropout(self.mlp_layer(x))
        return self.departition_op(self.departition_swap(x), self.p, rows, columns)

"""Conformer layers with relative positions, as ESPnet's synthesisers have them: normalised behind
each step, with convolutions for feed-forward steps."""

from __future__ import annotations

import math
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional

__all__ = ["RelativeConformer"]


class _Attention(nn.Module):
    """Attention whose scores add up content and distance (Dai et al., Transformer-XL, 2019)."""

    def __init__(self, width: int, heads: int, dropout: float):
        super().__init__()
        self.heads = heads
        self.linear_q = nn.Linear(width, width)
        self.linear_k = nn.Linear(width, width)
        self.linear_v = nn.Linear(width, width)
        self.linear_out = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)
        self.linear_pos = nn.Linear(width, width, bias=False)
        self.pos_bias_u = nn.Parameter(rl.zeros(heads, width // heads))
        self.pos_bias_v = nn.Parameter(rl.zeros(heads, width // heads))

    def _heads(self, x: rl.Tensor) -> rl.Tensor:
        return x.view(*x.shape[:2], self.heads, -1)

    def forward(self, x: rl.Tensor, positions: rl.Tensor, mask: rl.Tensor | None) -> rl.Tensor:
        """``[B, T, D]`` of the same; `positions` ``[1, 2 T - 1, D]`` fall from T - 1; `mask`
        ``[B, T]`` is true at padding."""
        query = self._heads(self.linear_q(x))
        key = self._heads(self.linear_k(x)).transpose(1, 2)
        value = self._heads(self.linear_v(x)).transpose(1, 2)
        place = self._heads(self.linear_pos(positions)).transpose(1, 2)
        content = (query + self.pos_bias_u).transpose(1, 2) @ key.transpose(2, 3)
        distance = (query + self.pos_bias_v).transpose(1, 2) @ place.transpose(2, 3)
        scores = (content + _shifted(distance)) / math.sqrt(key.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask[:, None, None, :], -float("inf"))
        mixed = self.dropout(rl.softmax(scores, dim=-1)) @ value
        return self.linear_out(mixed.transpose(1, 2).reshape(x.shape))


def _shifted(scores: rl.Tensor) -> rl.Tensor:
    """Scores ``[B, heads, T, T]`` by key of scores ``[B, heads, T, 2 T - 1]`` by distance."""
    batch, heads, length, distances = scores.shape
    padded = functional.pad(scores, (1, 0)).view(batch, heads, distances + 1, length)
    return padded[:, :, 1:].reshape(scores.shape)[..., :length]


class _Convolutions(nn.Module):
    """Two convolutions over time with a ReLU between them."""

    def __init__(self, width: int, inner: int, kernel: int, dropout: float):
        super().__init__()
        self.conv1 = nn.Conv1d(width, inner, kernel, padding=(kernel - 1) // 2)
        self.conv2 = nn.Conv1d(inner, width, kernel, padding=(kernel - 1) // 2)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, T, D]`` of the same."""
        inner = self.dropout(functional.relu(self.conv1(x.transpose(1, 2))))
        return self.conv2(inner).transpose(1, 2)


class _ConvolutionModule(nn.Module):
    """A gated pointwise and a depthwise convolution over time."""

    def __init__(self, width: int, kernel: int, bias: bool):
        super().__init__()
        pad = (kernel - 1) // 2
        self.pointwise_conv1 = nn.Conv1d(width, 2 * width, 1, bias=bias)
        self.depthwise_conv = nn.Conv1d(width, width, kernel, padding=pad, groups=width, bias=bias)
        self.norm = nn.BatchNorm1d(width)
        self.pointwise_conv2 = nn.Conv1d(width, width, 1, bias=bias)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, T, D]`` of the same."""
        inner = functional.glu(self.pointwise_conv1(x.transpose(1, 2)), dim=1)
        inner = functional.silu(self.norm(self.depthwise_conv(inner)))
        return self.pointwise_conv2(inner).transpose(1, 2)


class _Layer(nn.Module):
    """Half a feed-forward step, attention, a convolution, the other half."""

    def __init__(
        self, width: int, heads: int, inner: int, kernels: tuple[int, int], dropout: float,
        attention_dropout: float, bias: bool,
    ):  # fmt: skip
        super().__init__()
        self.self_attn = _Attention(width, heads, attention_dropout)
        self.feed_forward = _Convolutions(width, inner, kernels[0], dropout)
        self.feed_forward_macaron = _Convolutions(width, inner, kernels[0], dropout)
        self.ff_macaron_layer_norm = nn.LayerNorm(width)
        self.conv_module = _ConvolutionModule(width, kernels[1], bias)
        self.conv_layer_norm = nn.LayerNorm(width)
        self.final_layer_norm = nn.LayerNorm(width)
        self.ff_layer_norm = nn.LayerNorm(width)
        self.self_attn_layer_norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: rl.Tensor, positions: rl.Tensor, mask: rl.Tensor | None) -> rl.Tensor:
        """``[B, T, D]`` of the same."""
        x = self.ff_macaron_layer_norm(x + 0.5 * self.dropout(self.feed_forward_macaron(x)))
        x = self.self_attn_layer_norm(x + self.dropout(self.self_attn(x, positions, mask)))
        x = self.conv_layer_norm(x + self.dropout(self.conv_module(x)))
        x = self.ff_layer_norm(x + 0.5 * self.dropout(self.feed_forward(x)))
        return self.final_layer_norm(x)


class RelativeConformer(nn.Module):
    """Layers over symbols, if there are `symbols` of them, or over vectors."""

    def __init__(
        self, width: int, heads: int, layers: int, inner: int, kernels: tuple[int, int],
        dropout: float, attention_dropout: float, positional_dropout: float, bias: bool = True,
        symbols: int | None = None,
    ):  # fmt: skip
        super().__init__()
        self.embed = None if symbols is None else nn.Embedding(symbols, width, padding_idx=0)
        self.positional_dropout = positional_dropout
        self.conformer_layers = nn.ModuleList(
            _Layer(width, heads, inner, kernels, dropout, attention_dropout, bias)
            for _ in range(layers)
        )

    def forward(self, x: rl.Tensor, mask: rl.Tensor | None = None) -> rl.Tensor:
        """``[B, T, D]`` of symbols ``[B, T]`` or of vectors ``[B, T, D]``; `mask` ``[B, T]`` is
        true at padding."""
        x = x if self.embed is None else self.embed(x)
        positions = _positions(x)
        scale: Any = math.sqrt(x.shape[-1])
        x = self._dropped(scale * x)
        positions = self._dropped(positions)
        for layer in self.conformer_layers:
            x = layer(x, positions, mask)
        return x

    def _dropped(self, x: rl.Tensor) -> rl.Tensor:
        return functional.dropout(x, self.positional_dropout, self.training)


def _positions(x: rl.Tensor) -> rl.Tensor:
    """Sines and cosines in turn of distances that fall from T - 1, ``[1, 2 T - 1, D]``."""
    _, length, width = x.shape
    distance = rl.arange(length - 1, -length, -1, dtype=x.dtype, device=x.device).unsqueeze(1)
    step = rl.arange(0, width, 2, dtype=x.dtype, device=x.device)
    angles = distance * rl.exp(-math.log(10000.0) / width * step)
    both = rl.stack([angles.sin(), angles.cos()], dim=2)
    return both.view(1, 2 * length - 1, width)

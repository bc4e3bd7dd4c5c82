"""Conformer (Gulati et al., Conformer: convolution-augmented transformer for speech recognition,
2020).

Names of parameters and their shapes are torchaudio's, so that state dicts go both ways.
"""

from __future__ import annotations

import rushlight as rl
from rushlight import nn
from rushlight_audio.models._lengths import padding_mask

__all__ = ["Conformer", "ConformerLayer"]


class _ConvolutionModule(nn.Module):
    """A gated pointwise and a depthwise convolution over time."""

    def __init__(
        self,
        input_dim: int,
        num_channels: int,
        depthwise_kernel_size: int,
        dropout: float = 0.0,
        bias: bool = False,
        use_group_norm: bool = False,
    ) -> None:
        super().__init__()
        if depthwise_kernel_size % 2 == 0:
            raise ValueError(
                "Conformer(): depthwise_kernel_size must be odd, so that as many frames come out "
                f"as go in; got {depthwise_kernel_size}"
            )
        norm = nn.GroupNorm(1, num_channels) if use_group_norm else nn.BatchNorm1d(num_channels)
        self.layer_norm = nn.LayerNorm(input_dim)
        self.sequential = nn.Sequential(
            nn.Conv1d(input_dim, 2 * num_channels, 1, bias=bias),
            nn.GLU(dim=1),
            nn.Conv1d(
                num_channels,
                num_channels,
                depthwise_kernel_size,
                padding=depthwise_kernel_size // 2,
                groups=num_channels,
                bias=bias,
            ),
            norm,
            nn.SiLU(),
            nn.Conv1d(num_channels, input_dim, 1, bias=bias),
            nn.Dropout(dropout),
        )

    def forward(self, input: rl.Tensor) -> rl.Tensor:
        """``[B, T, D]`` of the same."""
        return self.sequential(self.layer_norm(input).transpose(1, 2)).transpose(1, 2)


class _FeedForwardModule(nn.Module):
    """Layer normalization and two linear layers."""

    def __init__(self, input_dim: int, hidden_dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.sequential = nn.Sequential(
            nn.LayerNorm(input_dim),
            nn.Linear(input_dim, hidden_dim, bias=True),
            nn.SiLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden_dim, input_dim, bias=True),
            nn.Dropout(dropout),
        )

    def forward(self, input: rl.Tensor) -> rl.Tensor:
        """``[*, D]`` of the same."""
        return self.sequential(input)


class ConformerLayer(nn.Module):
    """Half a feed-forward step, attention, a convolution, the other half, normalization.

    Args:
        input_dim: width D.
        ffn_dim: width inside of the feed-forward steps.
        num_attention_heads: heads.
        depthwise_conv_kernel_size: odd kernel of the depthwise convolution.
        dropout: share dropped in training.
        use_group_norm: group normalization in place of batch normalization.
        convolution_first: the convolution before the attention.
    """

    def __init__(
        self,
        input_dim: int,
        ffn_dim: int,
        num_attention_heads: int,
        depthwise_conv_kernel_size: int,
        dropout: float = 0.0,
        use_group_norm: bool = False,
        convolution_first: bool = False,
    ) -> None:
        super().__init__()
        self.ffn1 = _FeedForwardModule(input_dim, ffn_dim, dropout=dropout)
        self.self_attn_layer_norm = nn.LayerNorm(input_dim)
        self.self_attn = nn.MultiheadAttention(input_dim, num_attention_heads, dropout=dropout)
        self.self_attn_dropout = nn.Dropout(dropout)
        self.conv_module = _ConvolutionModule(
            input_dim=input_dim,
            num_channels=input_dim,
            depthwise_kernel_size=depthwise_conv_kernel_size,
            dropout=dropout,
            bias=True,
            use_group_norm=use_group_norm,
        )
        self.ffn2 = _FeedForwardModule(input_dim, ffn_dim, dropout=dropout)
        self.final_layer_norm = nn.LayerNorm(input_dim)
        self.convolution_first = convolution_first

    def _convolved(self, x: rl.Tensor) -> rl.Tensor:
        return x + self.conv_module(x.transpose(0, 1)).transpose(0, 1)

    def forward(self, input: rl.Tensor, key_padding_mask: rl.Tensor | None) -> rl.Tensor:
        """``[T, B, D]`` of the same; `key_padding_mask` ``[B, T]`` is true at padding."""
        x = input + 0.5 * self.ffn1(input)
        if self.convolution_first:
            x = self._convolved(x)
        normed = self.self_attn_layer_norm(x)
        attended, _ = self.self_attn(
            normed, normed, normed, key_padding_mask=key_padding_mask, need_weights=False
        )
        x = x + self.self_attn_dropout(attended)
        if not self.convolution_first:
            x = self._convolved(x)
        x = x + 0.5 * self.ffn2(x)
        return self.final_layer_norm(x)


class Conformer(nn.Module):
    """Layers of attention and convolution over frames.

    Args:
        input_dim: width D.
        num_heads: heads of the attention.
        ffn_dim: width inside of the feed-forward steps.
        num_layers: layers.
        depthwise_conv_kernel_size: odd kernel of the depthwise convolutions.
        dropout: share dropped in training.
        use_group_norm: group normalization in place of batch normalization.
        convolution_first: the convolution before the attention.

    >>> model = Conformer(8, num_heads=2, ffn_dim=16, num_layers=1, depthwise_conv_kernel_size=3)
    >>> frames, lengths = model(rl.zeros(2, 5, 8), rl.tensor([5, 3]))
    >>> frames.shape
    rushlight.Size([2, 5, 8])
    """

    def __init__(
        self,
        input_dim: int,
        num_heads: int,
        ffn_dim: int,
        num_layers: int,
        depthwise_conv_kernel_size: int,
        dropout: float = 0.0,
        use_group_norm: bool = False,
        convolution_first: bool = False,
    ):
        super().__init__()
        self.conformer_layers = nn.ModuleList(
            ConformerLayer(
                input_dim,
                ffn_dim,
                num_heads,
                depthwise_conv_kernel_size,
                dropout=dropout,
                use_group_norm=use_group_norm,
                convolution_first=convolution_first,
            )
            for _ in range(num_layers)
        )

    def forward(self, input: rl.Tensor, lengths: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
        """Frames ``[B, T, D]`` of frames of the same shape, and the `lengths` ``[B]``, of which
        the greatest is T."""
        mask = padding_mask(lengths)
        x = input.transpose(0, 1)
        for layer in self.conformer_layers:
            x = layer(x, mask)
        return x.transpose(0, 1), lengths

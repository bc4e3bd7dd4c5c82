"""Parts of wav2vec 2.0, HuBERT and WavLM: feature extractor and transformer encoder.

Names of parameters and their shapes are torchaudio's, so that state dicts go both ways.
"""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional
from rushlight_audio.models._lengths import padding_mask
from rushlight_audio.models.wav2vec2.hubert import GradMultiply, LogitGenerator, MaskGenerator

__all__ = [
    "ConvLayerBlock",
    "ConvolutionalPositionalEmbedding",
    "Encoder",
    "EncoderLayer",
    "FeatureExtractor",
    "FeatureProjection",
    "FeedForward",
    "GradMultiply",
    "LayerNorm",
    "LogitGenerator",
    "MaskGenerator",
    "SelfAttention",
    "Transformer",
]

HIDDEN = -10000.0  # what is added to the scores of padding


class LayerNorm(nn.LayerNorm):
    """Layer normalization of ``[..., C, T]`` over the channels."""

    def forward(self, input: rl.Tensor) -> rl.Tensor:
        """``[..., C, T]`` of the same."""
        features = input.transpose(-2, -1)
        found = functional.layer_norm(
            features, self.normalized_shape, self.weight, self.bias, self.eps
        )
        return found.transpose(-2, -1)


class ConvLayerBlock(nn.Module):
    """A convolution without padding, a norm if there is one, GELU."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int,
        bias: bool,
        layer_norm: nn.Module | None,
    ):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.layer_norm = layer_norm
        self.conv = nn.Conv1d(in_channels, out_channels, kernel_size, stride=stride, bias=bias)

    def forward(self, x: rl.Tensor, length: rl.Tensor | None) -> tuple[rl.Tensor, rl.Tensor | None]:
        """``[B, C', T']`` of ``[B, C, T]``, and lengths behind the convolution."""
        x = self.conv(x)
        if self.layer_norm is not None:
            x = self.layer_norm(x)
        if length is not None:
            steps = rl.div(length - self.kernel_size, self.stride, rounding_mode="floor")
            length = (steps + 1).clamp(min=0)
        return functional.gelu(x), length


class FeatureExtractor(nn.Module):
    """Convolutions from a waveform to features of frames."""

    def __init__(self, conv_layers: nn.ModuleList):
        super().__init__()
        self.conv_layers = conv_layers

    def forward(self, x: rl.Tensor, length: rl.Tensor | None) -> tuple[rl.Tensor, rl.Tensor | None]:
        """``[B, T', C]`` of waveforms ``[B, T]``, and their lengths in frames."""
        if x.ndim != 2:
            raise ValueError(
                f"FeatureExtractor: expected waveforms of shape [batch, time], got {list(x.shape)}"
            )
        x = x.unsqueeze(1)
        for layer in self.conv_layers:
            x, length = layer(x, length)
        return x.transpose(1, 2), length


class FeatureProjection(nn.Module):
    """Normalised features, projected to the width of the encoder."""

    def __init__(self, in_features: int, out_features: int, dropout: float):
        super().__init__()
        self.layer_norm = nn.LayerNorm(in_features)
        self.projection = nn.Linear(in_features, out_features)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, T, out_features]`` of ``[B, T, in_features]``."""
        return self.dropout(self.projection(self.layer_norm(x)))


class ConvolutionalPositionalEmbedding(nn.Module):
    """Relative positions by a wide grouped convolution with weight normalization."""

    def __init__(self, embed_dim: int, kernel_size: int, groups: int):
        super().__init__()
        self.embed_dim = embed_dim
        self.kernel_size = kernel_size
        conv = nn.Conv1d(embed_dim, embed_dim, kernel_size, padding=kernel_size // 2, groups=groups)
        self.conv = nn.utils.parametrizations.weight_norm(conv, name="weight", dim=2)
        self.num_remove = 1 if kernel_size % 2 == 0 else 0

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, T, D]`` of the same."""
        x = self.conv(x.transpose(-2, -1))
        x = x[..., : x.shape[-1] - self.num_remove]
        return functional.gelu(x).transpose(-2, -1)


class SelfAttention(nn.Module):
    """Attention of several heads."""

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(
                f"SelfAttention(): embed_dim={embed_dim} is no multiple of num_heads={num_heads}"
            )
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.head_dim = embed_dim // num_heads
        self.scaling = self.head_dim**-0.5
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=True)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=True)
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=True)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=True)

    def _heads(self, x: rl.Tensor) -> rl.Tensor:
        return x.view(x.shape[0], x.shape[1], self.num_heads, self.head_dim).transpose(2, 1)

    def forward(
        self,
        x: rl.Tensor,
        attention_mask: rl.Tensor | None = None,
        position_bias: rl.Tensor | None = None,
        key_padding_mask: rl.Tensor | None = None,
    ) -> tuple[rl.Tensor, rl.Tensor | None]:
        """``[B, T, D]`` of the same, and None, which stands for positions as of WavLM.

        `attention_mask` ``[B, 1, T, T]`` is added to the scores.
        """
        expected = [x.shape[0], 1, x.shape[1], x.shape[1]]
        if x.ndim != 3 or x.shape[2] != self.embed_dim:
            raise ValueError(
                f"SelfAttention: expected shape [batch, time, {self.embed_dim}], got "
                f"{list(x.shape)}"
            )
        if attention_mask is not None and list(attention_mask.shape) != expected:
            raise ValueError(
                f"SelfAttention: expected attention_mask of shape {expected}, got "
                f"{list(attention_mask.shape)}"
            )
        mixed = functional.scaled_dot_product_attention(
            self._heads(self.q_proj(x)),
            self._heads(self.k_proj(x)),
            self._heads(self.v_proj(x)),
            attn_mask=attention_mask,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=False,
        )
        return self.out_proj(mixed.transpose(1, 2).reshape(x.shape)), None


class FeedForward(nn.Module):
    """Two linear layers with GELU between them."""

    def __init__(
        self,
        io_features: int,
        intermediate_features: int,
        intermediate_dropout: float,
        output_dropout: float,
    ):
        super().__init__()
        self.intermediate_dense = nn.Linear(io_features, intermediate_features)
        self.intermediate_dropout = nn.Dropout(intermediate_dropout)
        self.output_dense = nn.Linear(intermediate_features, io_features)
        self.output_dropout = nn.Dropout(output_dropout)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, T, D]`` of the same."""
        x = self.intermediate_dropout(functional.gelu(self.intermediate_dense(x)))
        return self.output_dropout(self.output_dense(x))


class EncoderLayer(nn.Module):
    """Attention and a feed-forward step, each beside the way past it."""

    def __init__(
        self,
        attention: nn.Module,
        dropout: float,
        layer_norm_first: bool,
        feed_forward: nn.Module,
    ):
        super().__init__()
        width: int = attention.embed_dim
        self.attention = attention
        self.dropout = nn.Dropout(dropout)
        self.layer_norm = nn.LayerNorm(width)
        self.layer_norm_first = layer_norm_first
        self.feed_forward = feed_forward
        self.final_layer_norm = nn.LayerNorm(width)

    def forward(
        self,
        x: rl.Tensor,
        attention_mask: rl.Tensor | None = None,
        position_bias: rl.Tensor | None = None,
        key_padding_mask: rl.Tensor | None = None,
    ) -> tuple[rl.Tensor, rl.Tensor | None]:
        """``[B, T, D]`` of the same, and the bias of positions for the next layer."""
        attended, position_bias = self.attention(
            self.layer_norm(x) if self.layer_norm_first else x,
            attention_mask=attention_mask,
            position_bias=position_bias,
            key_padding_mask=key_padding_mask,
        )
        x = x + self.dropout(attended)
        if self.layer_norm_first:
            return x + self.feed_forward(self.final_layer_norm(x)), position_bias
        x = self.layer_norm(x)
        return self.final_layer_norm(x + self.feed_forward(x)), position_bias


class Transformer(nn.Module):
    """Positions and layers; in training each layer is skipped with probability `layer_drop`."""

    def __init__(
        self,
        pos_conv_embed: nn.Module,
        dropout: float,
        layers: nn.ModuleList,
        layer_norm_first: bool,
        layer_drop: float,
    ):
        super().__init__()
        width: int = pos_conv_embed.embed_dim
        self.pos_conv_embed = pos_conv_embed
        self.layer_norm = nn.LayerNorm(width)
        self.layer_norm_first = layer_norm_first
        self.layer_drop = layer_drop
        self.dropout = nn.Dropout(dropout)
        self.layers = layers

    def _preprocess(self, x: rl.Tensor) -> rl.Tensor:
        x = x + self.pos_conv_embed(x)
        return self.dropout(self.layer_norm(x) if self.layer_norm_first else x)

    def forward(
        self,
        x: rl.Tensor,
        attention_mask: rl.Tensor | None = None,
        position_bias: rl.Tensor | None = None,
    ) -> rl.Tensor:
        """``[B, T, D]`` of the same."""
        x = self._preprocess(x)
        for layer in self.layers:
            if not (self.training and rl.rand(1).item() <= self.layer_drop):
                x, position_bias = layer(x, attention_mask, position_bias=position_bias)
        return x if self.layer_norm_first else self.layer_norm(x)

    def get_intermediate_outputs(
        self,
        x: rl.Tensor,
        attention_mask: rl.Tensor | None = None,
        num_layers: int | None = None,
    ) -> list[rl.Tensor]:
        """What each of the first `num_layers` layers made; none is skipped."""
        if num_layers is not None and not 0 < num_layers <= len(self.layers):
            raise ValueError(
                f"num_layers must be between [1, {len(self.layers)}], got {num_layers}"
            )
        found: list[rl.Tensor] = []
        position_bias = None
        x = self._preprocess(x)
        for layer in self.layers[:num_layers]:
            x, position_bias = layer(x, attention_mask, position_bias=position_bias)
            found.append(x)
        return found


class Encoder(nn.Module):
    """Projection and transformer."""

    def __init__(self, feature_projection: nn.Module, transformer: nn.Module):
        super().__init__()
        self.feature_projection = feature_projection
        self.transformer = transformer

    def _preprocess(
        self, features: rl.Tensor, lengths: rl.Tensor | None = None
    ) -> tuple[rl.Tensor, rl.Tensor | None]:
        """Projected features, zero at padding, and what is added to scores."""
        x = self.feature_projection(features)
        if lengths is None:
            return x, None
        batch, length, _ = x.shape
        mask = padding_mask(lengths, length)
        hidden = HIDDEN * mask[:, None, None, :].to(x.dtype)
        return x.masked_fill(mask.unsqueeze(2), 0.0), hidden.expand(batch, 1, length, length)

    def forward(self, features: rl.Tensor, lengths: rl.Tensor | None = None) -> rl.Tensor:
        """``[B, T, D]`` of features ``[B, T, C]``."""
        x, mask = self._preprocess(features, lengths)
        return self.transformer(x, attention_mask=mask)

    def extract_features(
        self,
        features: rl.Tensor,
        lengths: rl.Tensor | None = None,
        num_layers: int | None = None,
    ) -> list[rl.Tensor]:
        """What each of the first `num_layers` layers made."""
        x, mask = self._preprocess(features, lengths)
        return self.transformer.get_intermediate_outputs(
            x, attention_mask=mask, num_layers=num_layers
        )


def _get_feature_extractor(
    norm_mode: str, shapes: list[tuple[int, int, int]], bias: bool
) -> FeatureExtractor:
    """Convolutions of `shapes` (channels, kernel, stride).

    `norm_mode` is ``"group_norm"``, which the first alone has, or ``"layer_norm"``.
    """
    if norm_mode not in ("group_norm", "layer_norm"):
        raise ValueError(f'extractor_mode is "group_norm" or "layer_norm", got {norm_mode!r}')
    blocks = []
    before = 1
    for number, (channels, kernel, stride) in enumerate(shapes):
        norm: nn.Module | None = None
        if norm_mode == "layer_norm":
            norm = LayerNorm(channels, elementwise_affine=True)
        elif number == 0:
            norm = nn.GroupNorm(channels, channels, affine=True)
        blocks.append(ConvLayerBlock(before, channels, kernel, stride, bias, norm))
        before = channels
    return FeatureExtractor(nn.ModuleList(blocks))


def _get_encoder(
    in_features: int,
    embed_dim: int,
    dropout_input: float,
    pos_conv_kernel: int,
    pos_conv_groups: int,
    num_layers: int,
    num_heads: int,
    attention_dropout: float,
    ff_interm_features: int,
    ff_interm_dropout: float,
    dropout: float,
    layer_norm_first: bool,
    layer_drop: float,
    make_attention: Any = None,
) -> Encoder:
    """The encoder of these sizes; `make_attention` makes the attention of a layer by its number."""
    projection = FeatureProjection(in_features, embed_dim, dropout_input)
    pos_conv = ConvolutionalPositionalEmbedding(embed_dim, pos_conv_kernel, pos_conv_groups)
    layers = []
    for number in range(num_layers):
        if make_attention is None:
            attention = SelfAttention(embed_dim, num_heads, attention_dropout)
        else:
            attention = make_attention(number)
        feed_forward = FeedForward(embed_dim, ff_interm_features, ff_interm_dropout, dropout)
        layers.append(EncoderLayer(attention, dropout, layer_norm_first, feed_forward))
    # Layers that normalise what they are given leave their sum to be normalised behind the last;
    # the others want it normalised before the first.
    transformer = Transformer(
        pos_conv, dropout, nn.ModuleList(layers), not layer_norm_first, layer_drop
    )
    return Encoder(projection, transformer)

"""The encoder of vision transformers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._initialize import draw_perceptron
from rushlight_vision.ops.misc import MLP

LAYER_NORM: Callable[..., nn.Module] = partial(nn.LayerNorm, eps=1e-6)


def _check_sequence(input: rl.Tensor) -> None:
    rl._assert(input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")


class MLPBlock(MLP):
    """Two linear layers with GELU between them, and dropout after both."""

    # Before version 2 the layers were attributes with names of their own.
    _version = 2

    def __init__(self, in_dim: int, mlp_dim: int, dropout: float) -> None:
        super().__init__(
            in_dim, [mlp_dim, in_dim], activation_layer=nn.GELU, inplace=None, dropout=dropout
        )
        draw_perceptron(self)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        """Take the names of the first version, too."""
        version = local_metadata.get("version")
        if version is None or version < 2:
            for old, new in (("linear_1", "0"), ("linear_2", "3")):
                for kind in ("weight", "bias"):
                    if f"{prefix}{old}.{kind}" in state_dict:
                        value = state_dict.pop(f"{prefix}{old}.{kind}")
                        state_dict[f"{prefix}{new}.{kind}"] = value
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class EncoderBlock(nn.Module):
    """Attention between all positions and two linear layers, both after normalisation."""

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Callable[..., nn.Module] = LAYER_NORM,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(
            hidden_dim, num_heads, dropout=attention_dropout, batch_first=True
        )
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input: rl.Tensor) -> rl.Tensor:
        """Positions (N, L, `hidden_dim`)."""
        _check_sequence(input)
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """What is learnt about positions added, blocks, and normalisation."""

    def __init__(
        self,
        seq_length: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Callable[..., nn.Module] = LAYER_NORM,
    ) -> None:
        super().__init__()
        self.pos_embedding = nn.Parameter(rl.empty(1, seq_length, hidden_dim).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        shape = (num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer)
        self.layers = nn.Sequential(
            OrderedDict((f"encoder_layer_{i}", EncoderBlock(*shape)) for i in range(num_layers))
        )
        self.ln = norm_layer(hidden_dim)

    def forward(self, input: rl.Tensor) -> rl.Tensor:
        """Positions (N, `seq_length`, `hidden_dim`)."""
        _check_sequence(input)
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))

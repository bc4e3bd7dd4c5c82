"""The layers of RoBERTa's encoder."""

from __future__ import annotations

import re
from typing import Any

import rushlight as rl
from rushlight import nn

__all__ = ["PositionalEmbedding", "TransformerEncoder"]

# Names of the parts of a layer in checkpoints of 2022, and today's.
_FORMER = {
    "attention.input_projection.weight": "self_attn.in_proj_weight",
    "attention.input_projection.bias": "self_attn.in_proj_bias",
    "attention.output_projection.weight": "self_attn.out_proj.weight",
    "attention.output_projection.bias": "self_attn.out_proj.bias",
    "residual_mlp.mlp.0.weight": "linear1.weight",
    "residual_mlp.mlp.0.bias": "linear1.bias",
    "residual_mlp.mlp.3.weight": "linear2.weight",
    "residual_mlp.mlp.3.bias": "linear2.bias",
    "attention_layer_norm.weight": "norm1.weight",
    "attention_layer_norm.bias": "norm1.bias",
    "final_layer_norm.weight": "norm2.weight",
    "final_layer_norm.bias": "norm2.bias",
}


class PositionalEmbedding(nn.Module):
    """Learnt vectors of positions; counting begins after the padding's id, padding has its own.

    Args:
        num_embeddings: number of rows; `pad_index` + 1 of them are not positions.
        embedding_dim: length of a row.
        pad_index: id of padding.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, pad_index: int):
        super().__init__()
        self.embedding = nn.Embedding(num_embeddings, embedding_dim, pad_index)
        self.pad_index = pad_index

    def forward(self, input: rl.Tensor) -> rl.Tensor:
        """``[B, T, E]`` of ids ``[B, T]``."""
        real = input.ne(self.pad_index).long()
        return self.embedding(rl.cumsum(real, 1) * real + self.pad_index)

    def max_positions(self) -> int:
        """The longest sequence that has positions."""
        return self.embedding.num_embeddings - self.pad_index - 1


class TransformerEncoder(nn.Module):
    """Embeddings, their norm, and a stack of layers.

    Args:
        vocab_size, embedding_dim, padding_idx: of the table of tokens.
        max_seq_len: rows of the table of positions.
        num_encoder_layers, num_attention_heads: of the stack.
        ffn_dimension: width inside of a layer; default: 4 times `embedding_dim`.
        dropout: in training.
        normalize_before: norms before attention and before the rest, and one at the end.
        scaling: accepted for torchtext's sake, where it has no effect either.
        return_all_layers: give the list of what every layer made.
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_dim: int,
        padding_idx: int,
        max_seq_len: int,
        num_encoder_layers: int,
        num_attention_heads: int,
        ffn_dimension: int | None = None,
        dropout: float = 0.1,
        normalize_before: bool = False,
        scaling: float | None = None,
        return_all_layers: bool = False,
    ):
        super().__init__()
        self.padding_idx = padding_idx
        self.token_embedding = nn.Embedding(vocab_size, embedding_dim, padding_idx)
        layer = nn.TransformerEncoderLayer(
            embedding_dim,
            num_attention_heads,
            ffn_dimension or 4 * embedding_dim,
            dropout,
            activation="gelu",
            batch_first=True,
            norm_first=normalize_before,
        )
        self.layers = nn.TransformerEncoder(layer, num_encoder_layers)
        self.positional_embedding = PositionalEmbedding(max_seq_len, embedding_dim, padding_idx)
        self.embedding_layer_norm = nn.LayerNorm(embedding_dim)
        self.dropout = nn.Dropout(dropout)
        self.normalize_before = normalize_before
        self.return_all_layers = return_all_layers

    def forward(
        self, tokens: rl.Tensor, attn_mask: rl.Tensor | None = None
    ) -> rl.Tensor | list[rl.Tensor]:
        """``[T, B, E]`` of ids ``[B, T]``; with `return_all_layers` a list of them.

        attn_mask: bool or float ``[T, T]``.
        """
        padding = tokens == self.padding_idx
        encoded = self.token_embedding(tokens) + self.positional_embedding(tokens)
        if not self.normalize_before:
            encoded = self.embedding_layer_norm(encoded)
        encoded = self.dropout(encoded)
        states = [encoded]
        for layer in self.layers.layers:
            encoded = layer(encoded, src_mask=attn_mask, src_key_padding_mask=padding)
            states.append(encoded)
        if not self.return_all_layers:
            states = states[-1:]
        if self.normalize_before:
            states = [self.embedding_layer_norm(state) for state in states]
        states = [state.transpose(0, 1) for state in states]
        return states if self.return_all_layers else states[0]

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Take the names of parts that former checkpoints have, too."""
        for key in list(state_dict):
            found = re.fullmatch(re.escape(prefix) + r"layers\.(\d+)\.(.*)", key)
            if found and found[2] in _FORMER:
                new = f"{prefix}layers.layers.{found[1]}.{_FORMER[found[2]]}"
                state_dict[new] = state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, *rest)

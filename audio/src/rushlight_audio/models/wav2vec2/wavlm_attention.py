"""The attention of WavLM (Chen et al., WavLM: large-scale self-supervised pre-training for full
stack speech processing, 2021): relative positions in buckets, behind a gate."""

from __future__ import annotations

import math

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional

__all__ = ["WavLMSelfAttention"]


class WavLMSelfAttention(nn.Module):
    """Attention to whose scores a gated bias of relative positions is added.

    The first layer has the table of biases and hands it on.

    Args:
        embed_dim: width D.
        num_heads: heads.
        dropout: share of weights dropped in training.
        bias: the projections have a bias.
        has_relative_attention_bias: this layer has the table.
        num_buckets: rows of it.
        max_distance: from which on all positions share a bucket.
        gru_rel_pos: the bias goes through a gate.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        has_relative_attention_bias: bool = False,
        num_buckets: int = 32,
        max_distance: int = 128,
        gru_rel_pos: bool = True,
    ):
        super().__init__()
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.has_relative_attention_bias = has_relative_attention_bias
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.rel_attn_embed = (
            nn.Embedding(num_buckets, num_heads) if has_relative_attention_bias else None
        )
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise ValueError(
                f"WavLMSelfAttention(): embed_dim={embed_dim} is no multiple of "
                f"num_heads={num_heads}"
            )
        self.dropout = dropout
        self.attention = nn.MultiheadAttention(
            embed_dim, num_heads, dropout=dropout, bias=bias, batch_first=True
        )
        self.gru_rel_pos = gru_rel_pos
        if gru_rel_pos:
            self.gru_rel_pos_linear = nn.Linear(self.head_dim, 8)
            self.gru_rel_pos_const = nn.Parameter(rl.ones(1, num_heads, 1, 1))

    def compute_bias(self, query_length: int, key_length: int) -> rl.Tensor:
        """The bias ``[heads, query_length, key_length]`` before the gate."""
        if self.rel_attn_embed is None:
            raise RuntimeError("WavLMSelfAttention: this layer has no table of biases")
        device = self.rel_attn_embed.weight.device
        query = rl.arange(query_length, device=device).unsqueeze(1)
        key = rl.arange(key_length, device=device).unsqueeze(0)
        return self.rel_attn_embed(self._buckets(key - query)).permute(2, 0, 1)

    def _buckets(self, distances: rl.Tensor) -> rl.Tensor:
        """Each small distance has a bucket, greater ones share them by their logarithm; half of
        the buckets are for keys behind the query."""
        half = self.num_buckets // 2
        exact = half // 2
        size = distances.abs()
        share = (size.to(rl.float32) / exact).log() / math.log(self.max_distance / exact)
        far = (exact + share * (half - exact)).to(rl.int64).clamp(max=half - 1)
        return half * (distances > 0) + rl.where(size < exact, size, far)

    def _gated(self, query: rl.Tensor, position_bias: rl.Tensor) -> rl.Tensor:
        """The bias as each query wants it."""
        if not self.gru_rel_pos:
            return position_bias
        batch, length, _ = query.shape
        heads = query.view(batch, length, self.num_heads, -1).permute(0, 2, 1, 3)
        gates = self.gru_rel_pos_linear(heads).unflatten(-1, (2, 4)).sum(-1).sigmoid()
        update, reset = gates.chunk(2, dim=-1)
        return (update * (reset * self.gru_rel_pos_const - 1.0) + 2.0) * position_bias

    def forward(
        self,
        query: rl.Tensor,
        key_padding_mask: rl.Tensor | None = None,
        attention_mask: rl.Tensor | None = None,
        position_bias: rl.Tensor | None = None,
    ) -> tuple[rl.Tensor, rl.Tensor | None]:
        """``[B, T, D]`` of the same, and the bias of positions for the next layer.

        `key_padding_mask` ``[B, T]`` is true at padding; `attention_mask` ``[B, 1, T, T]`` is added
        to the scores.
        """
        batch, length, width = query.shape
        if self.rel_attn_embed is not None and position_bias is None:
            position_bias = self.compute_bias(length, length).expand(batch, -1, -1, -1)
        mask = None if position_bias is None else self._gated(query, position_bias)
        if attention_mask is not None:
            mask = attention_mask if mask is None else mask + attention_mask
        if key_padding_mask is not None:
            hidden = key_padding_mask[:, None, None, :]
            added = rl.zeros(1, dtype=query.dtype, device=query.device)
            added = added.expand(hidden.shape).masked_fill(hidden, -float("inf"))
            mask = added if mask is None else mask + added
        own = self.attention
        parts = functional.linear(query, own.in_proj_weight, own.in_proj_bias)
        shape = (batch, length, self.num_heads, self.head_dim)
        q, k, v = (each.reshape(shape).transpose(1, 2) for each in parts.chunk(3, -1))
        mixed = functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, dropout_p=self.dropout if self.training else 0.0
        )
        return own.out_proj(mixed.transpose(1, 2).reshape(batch, length, width)), position_bias

"""Attention put together from parts that can be exchanged: projections, heads, dot product."""

from __future__ import annotations

import rushlight as rl
import rushlight.nn.functional as F
from rushlight import nn

__all__ = [
    "InProjContainer",
    "MultiheadAttentionContainer",
    "ScaledDotProduct",
    "generate_square_subsequent_mask",
]

Pair = tuple[rl.Tensor, rl.Tensor]


class InProjContainer(nn.Module):
    """Three layers, one each for query, key and value.

    Args:
        query_proj, key_proj, value_proj: modules from ``[..., E]`` to ``[..., E']``.
    """

    def __init__(self, query_proj: nn.Module, key_proj: nn.Module, value_proj: nn.Module):
        super().__init__()
        self.query_proj = query_proj
        self.key_proj = key_proj
        self.value_proj = value_proj

    def forward(
        self, query: rl.Tensor, key: rl.Tensor, value: rl.Tensor
    ) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
        """The three projected."""
        return self.query_proj(query), self.key_proj(key), self.value_proj(value)


class ScaledDotProduct(nn.Module):
    """Softmax of scaled products of queries and keys, times values.

    Args:
        dropout: share of the weights dropped in training.
        batch_first: the heads are the third last dim, the sequence the second last.
    """

    def __init__(self, dropout: float = 0.0, batch_first: bool = False):
        super().__init__()
        self.dropout = dropout
        self.batch_first = batch_first

    def forward(
        self,
        query: rl.Tensor,
        key: rl.Tensor,
        value: rl.Tensor,
        attn_mask: rl.Tensor | None = None,
        bias_k: rl.Tensor | None = None,
        bias_v: rl.Tensor | None = None,
    ) -> Pair:
        """Output and weights.

        Args:
            query: ``[..., L, N * H, E / H]``.
            key, value: ``[..., S, N * H, E / H]``; heads may be 1, to be broadcast.
            attn_mask: bool ``[N * H, L, S]``; True where attention is not allowed.
            bias_k, bias_v: ``[1, 1 or N * H, E / H]``, one more key and value at the end.

        Returns:
            ``[..., L, N * H, E / H]`` and ``[N * H, L, S]``.
        """
        if bias_k is not None and bias_v is not None:
            key, value, attn_mask = self._with_bias(key, value, attn_mask, bias_k, bias_v)
        if not self.batch_first:
            query, key, value = (each.transpose(-3, -2) for each in (query, key, value))
        self._check(query, key, value, attn_mask)
        scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-2, -1)
        if attn_mask is not None:
            scores = scores.masked_fill(attn_mask, -1e8)
        weights = F.dropout(scores.softmax(-1), self.dropout, self.training)
        output = weights @ value
        return (output if self.batch_first else output.transpose(-3, -2)), weights

    def _with_bias(self, key, value, attn_mask, bias_k, bias_v):
        dim = -2 if self.batch_first else -3
        for name, bias, other in (("bias_k", bias_k, key), ("bias_v", bias_v, value)):
            heads = bias.shape[-3 if self.batch_first else -2]
            expected = other.shape[-3 if self.batch_first else -2]
            if bias.shape[-1] != other.shape[-1] or heads not in (1, expected):
                raise AssertionError(
                    f"Shape of {name} is not supported: {list(bias.shape)} beside "
                    f"{list(other.shape)}"
                )

        def longer(sequence, bias):
            shape = list(sequence.shape)
            shape[dim] = 1
            return rl.cat([sequence, bias.expand(shape)], dim=dim)

        mask = attn_mask if attn_mask is None else F.pad(attn_mask, (0, 1))
        return longer(key, bias_k), longer(value, bias_v), mask

    def _check(self, query, key, value, attn_mask):
        if not query.shape[-1] == key.shape[-1] == value.shape[-1]:
            raise AssertionError("The feature dim of query, key, value must be equal.")
        if key.shape != value.shape:
            raise AssertionError("Shape of key, value must match")
        if attn_mask is None:
            return
        if attn_mask.dim() != 3:
            raise RuntimeError("attn_mask must be a 3D tensor.")
        expected = [query.shape[-2], key.shape[-2]]
        if list(attn_mask.shape[-2:]) != expected or attn_mask.shape[0] not in (1, query.shape[-3]):
            raise RuntimeError(
                f"The size of the attn_mask is not correct: {list(attn_mask.shape)}, expected "
                f"{[query.shape[-3], *expected]}"
            )
        if attn_mask.dtype != rl.bool:
            raise RuntimeError("Only bool tensor is supported for attn_mask")


class MultiheadAttentionContainer(nn.Module):
    """Project, cut into heads, attend, join, project.

    Args:
        nhead: number of heads; divides the projected sizes.
        in_proj_container: query, key and value to their projections.
        attention_layer: as :class:`ScaledDotProduct`.
        out_proj: the last layer.
        batch_first: inputs are ``[..., N, L, E]`` instead of ``[..., L, N, E]``.
    """

    def __init__(
        self,
        nhead: int,
        in_proj_container: nn.Module,
        attention_layer: nn.Module,
        out_proj: nn.Module,
        batch_first: bool = False,
    ):
        super().__init__()
        self.nhead = nhead
        self.in_proj_container = in_proj_container
        self.attention_layer = attention_layer
        self.out_proj = out_proj
        self.batch_first = batch_first

    def forward(
        self,
        query: rl.Tensor,
        key: rl.Tensor,
        value: rl.Tensor,
        attn_mask: rl.Tensor | None = None,
        bias_k: rl.Tensor | None = None,
        bias_v: rl.Tensor | None = None,
    ) -> Pair:
        """Output ``[..., L, N, E]`` and weights ``[N * H, L, S]``; arguments as of the attention
        layer, before projection."""
        if self.batch_first:
            query, key, value = (each.transpose(-3, -2) for each in (query, key, value))
        length, batch, size = query.shape[-3], query.shape[-2], query.shape[-1]
        query, key, value = self.in_proj_container(query, key, value)
        for name, each in (("query", query), ("key", key), ("value", value)):
            if each.shape[-1] % self.nhead:
                raise AssertionError(f"{name}'s embed_dim must be divisible by the number of heads")
        heads = [self._heads(each) for each in (query, key, value)]
        layer_first = getattr(self.attention_layer, "batch_first", False)
        if layer_first:
            heads = [each.transpose(-3, -2) for each in heads]
        output, weights = self.attention_layer(
            *heads, attn_mask=attn_mask, bias_k=bias_k, bias_v=bias_v
        )
        if layer_first:
            output = output.transpose(-3, -2)
        output = self.out_proj(output.reshape(*output.shape[:-3], length, batch, size))
        return (output.transpose(-3, -2) if self.batch_first else output), weights

    def _heads(self, x: rl.Tensor) -> rl.Tensor:
        return x.reshape(*x.shape[:-2], x.shape[-2] * self.nhead, x.shape[-1] // self.nhead)


def generate_square_subsequent_mask(nbatch: int, sz: int) -> rl.Tensor:
    """Bool ``[nbatch, sz, sz]``, True on and below the diagonal."""
    return rl.ones(sz, sz, dtype=rl.bool).tril().expand(nbatch, sz, sz).clone()

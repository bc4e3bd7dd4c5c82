"""Attention of several heads by ATen ops, for archives: the function that the layer calls."""

# ruff: noqa: UP006, UP007, UP035 - annotations that TorchScript has had from its start
from __future__ import annotations

from typing import List, Tuple

from rushlight.dtypes import bool_
from rushlight.jit.dispatch import aten
from rushlight.jit.forms.functional import _form
from rushlight.tensor.tensor import Tensor


def _projected(
    input: Tensor, packed: Tensor | None, own: Tensor | None, bias: Tensor | None, part: int
) -> Tensor:
    """Projected queries (part 0), keys (1) or values (2), by one weight for all or by their own."""
    inner: Tensor | None = None
    if bias is not None:
        inner = aten.chunk(bias, 3)[part]
    if packed is not None:
        return aten.linear(input, aten.chunk(packed, 3)[part], inner)
    if own is None:
        raise RuntimeError("multi_head_attention_forward needs in_proj_weight or three weights")
    return aten.linear(input, own, inner)


def _as_heads(projected: Tensor, rows: int, width: int) -> Tensor:
    """(N * heads, length, width) of (length, N, heads * width)."""
    return aten.transpose(aten.reshape(projected, [projected.size(0), rows, width]), 0, 1)


def _longer(mask: Tensor | None, count: int) -> Tensor | None:
    """A mask whose last dimension has so many positions more, which it lets through."""
    if mask is None or count == 0:
        return mask
    return aten.constant_pad_nd(mask, [0, count], 0)


def _masked(scores: Tensor, mask: Tensor) -> Tensor:
    if mask.dtype == bool_:
        return aten.masked_fill(scores, mask, float("-inf"))
    return scores + mask


def _hidden(
    scores: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, heads: int
) -> Tensor:
    """Scores (N * heads, length, sources) behind both masks."""
    if attn_mask is not None:
        scores = _masked(scores, attn_mask)
    if key_padding_mask is not None:
        sources = scores.size(2)
        padding = aten.reshape(key_padding_mask, [-1, 1, 1, sources])
        padding = aten.expand(padding, [-1, heads, -1, -1])
        scores = _masked(scores, aten.reshape(padding, [-1, 1, sources]))
    return scores


@_form
def _multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Tuple[Tensor, Tensor | None]:
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    batched = query.dim() == 3
    if not batched:
        query, key = aten.unsqueeze(query, 1), aten.unsqueeze(key, 1)
        value = aten.unsqueeze(value, 1)
    packed: Tensor | None = None
    if not use_separate_proj_weight:
        packed = in_proj_weight
    q = _projected(query, packed, q_proj_weight, in_proj_bias, 0)
    k = _projected(key, packed, k_proj_weight, in_proj_bias, 1)
    v = _projected(value, packed, v_proj_weight, in_proj_bias, 2)
    length, count, embedding = query.size(0), query.size(1), query.size(2)
    width, rows, more = embedding // num_heads, count * num_heads, 0
    if bias_k is not None and bias_v is not None:
        k = aten.cat([k, aten.repeat(bias_k, [1, count, 1])])
        v = aten.cat([v, aten.repeat(bias_v, [1, count, 1])])
        more = 1
    q = _as_heads(q, rows, width)
    k = static_k if static_k is not None else _as_heads(k, rows, width)
    v = static_v if static_v is not None else _as_heads(v, rows, width)
    if add_zero_attn:
        size: List[int] = [rows, 1, width]
        zero = aten.zeros(size, dtype=k.dtype, device=k.device)
        k, v, more = aten.cat([k, zero], 1), aten.cat([v, zero], 1), more + 1
    scores = aten.bmm(q, aten.transpose(k, 1, 2)) / float(width) ** 0.5
    scores = _hidden(scores, _longer(attn_mask, more), _longer(key_padding_mask, more), num_heads)
    shares = aten.dropout(aten.softmax(scores, -1), dropout_p, training)
    out = aten.transpose(aten.bmm(shares, v), 0, 1)
    out = aten.linear(aten.reshape(out, [length, count, embedding]), out_proj_weight, out_proj_bias)
    if not batched:
        out = aten.squeeze(out, 1)
    if not need_weights:
        return out, None
    shares = aten.reshape(shares, [count, num_heads, length, shares.size(2)])
    if average_attn_weights:
        shares = aten.mean(shares, [1])
    if not batched:
        shares = aten.squeeze(shares, 0)
    return out, shares

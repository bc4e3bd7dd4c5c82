"""`scaled_dot_product_attention`, as core ATen graphs have it."""

from __future__ import annotations

import math

from rushlight.dtypes import bool_
from rushlight.fx.experimental.core_parts.exact_calls import exact
from rushlight.fx.experimental.core_parts.fixed_sizes import is_fixed
from rushlight.fx.experimental.core_parts.numbers import chosen, number, scaled
from rushlight.fx.experimental.core_parts.shapes import lower_triangle
from rushlight.library.operators import lookup


def _attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None,
               enable_gqa=False):  # fmt: skip
    if min(query.dim(), key.dim(), value.dim()) < 3:
        return NotImplemented
    if scale is None and not is_fixed(query.shape[-1]):
        return NotImplemented  # the scale would depend on it
    if enable_gqa:
        key, value = (_repeated(each, query.shape[-3]) for each in (key, value))
    factor = math.sqrt(1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    bias = _bias(query, key, attn_mask, is_causal)
    scores = scaled(query, factor) @ scaled(key.transpose(-2, -1), factor)
    if bias is not None:
        scores = scores + bias
    weights = _softmax(scores)
    if dropout_p:
        weights = exact(lookup("aten").native_dropout.default, weights, dropout_p, True)[0]
    found = weights @ value
    plain = not dropout_p and query.dim() == 4 and query.shape[-1] == value.shape[-1]
    return _rows_first(found) if plain else found


def _rows_first(input):
    """The same with the strides of the fused op, whose memory has rows before heads."""
    permute, aten = lookup("aten").permute.default, lookup("aten")
    return permute(exact(aten.clone.default, permute(input, [2, 0, 1, 3])), [1, 2, 0, 3])


def _softmax(scores):
    """The softmax of rows; of one that is masked as a whole, zeros."""
    aten = lookup("aten")
    weights = scores.softmax(-1)
    shown = aten.any.dim(aten.logical_not.default(scores == -math.inf), -1, True)
    masked = aten.logical_not.default(shown)
    return aten.where.self(masked, aten.full_like.default(weights, 0), weights)


def _bias(query, key, mask, is_causal):
    """What is added to scores: zero where the mask is set, and minus infinity where it is not."""
    if is_causal:
        sizes, aten = [query.shape[-2], key.shape[-2]], lookup("aten")
        mask = lower_triangle(aten.full.default(sizes, True, dtype=bool_, device=query.device))
    if mask is None or mask.dtype is not bool_:
        return mask
    return chosen(mask, number(0.0, query), number(-math.inf, query))


def _repeated(input, heads):
    """Each head as often as queries need it."""
    aten, shape = lookup("aten"), list(input.shape)
    times = heads // shape[-3]
    wide = input.unsqueeze(input.dim() - 2).expand(*shape[:-2], times, *shape[-2:])
    wide = exact(aten.clone.default, wide)
    return wide.reshape(*shape[:-3], heads, *shape[-2:])


def parts() -> dict:
    """Overloads -> their parts."""
    return {lookup("aten").scaled_dot_product_attention.default: _attention}

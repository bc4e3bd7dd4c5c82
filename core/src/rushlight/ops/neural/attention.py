"""Scaled dot products and multi-head attention with its projections (Vaswani et al., 2017)."""

from __future__ import annotations

import math
import warnings

from rushlight.dtypes import BOOL, FLOAT, bfloat16, float16, float32
from rushlight.dtypes import bool_ as bool_dtype
from rushlight.errors import shape_text
from rushlight.kernels.attention import products as kernels
from rushlight.machine.arrays import dtype_of
from rushlight.machine.meta_array import meta_array
from rushlight.ops._calls.direct import on_arrays, on_gpu, tensors_of, translated, unrecorded
from rushlight.ops._table.op import composite, op
from rushlight.ops._table.rules import floating_only
from rushlight.ops.creation.tensors import ones, zeros
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.linalg.products import baddbmm, bmm, linear
from rushlight.ops.neural import attention_calls, saved_values
from rushlight.ops.neural.dropout import dropout
from rushlight.ops.neural.padding import pad
from rushlight.ops.neural.softmax import softmax
from rushlight.ops.shape.joining import cat
from rushlight.tensor.dispatch import readable, stack
from rushlight.tensor.overriding import overridable
from rushlight.tensor.tensor import EXACT, Tensor


def _check(query, key, value, attn_mask, is_causal, enable_gqa):
    def shapes():
        return (
            f"query {shape_text(query.shape)}, key {shape_text(key.shape)}, value "
            f"{shape_text(value.shape)}"
        )

    asks, keys, values = query.shape, key.shape, value.shape
    if min(len(asks), len(keys), len(values)) < 2:
        raise RuntimeError(
            "scaled_dot_product_attention: Expected query, key, and value to all be at least 2 "
            f"dimensional, but got {shapes()}"
        )
    if not query._dtype is key._dtype is value._dtype:
        raise RuntimeError(
            "scaled_dot_product_attention: Expected query, key, and value to have the same dtype, "
            f"but got query.dtype: {query.dtype} key.dtype: {key.dtype} and value.dtype: "
            f"{value.dtype} instead."
        )
    if asks[-1] != keys[-1] or keys[-2] != values[-2]:
        raise RuntimeError(
            "scaled_dot_product_attention: query and key must agree in their last size, key and "
            f"value in the one before it, but got {shapes()}"
        )
    if attn_mask is not None:
        if is_causal:
            raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
        if attn_mask._dtype.category != BOOL and attn_mask._dtype is not query._dtype:
            raise RuntimeError(
                "Expected attn_mask dtype to be bool or to match query dtype, but got attn_mask."
                f"dtype: {attn_mask.dtype} and query.dtype: {query.dtype} instead."
            )
    if enable_gqa and (asks[-3] % keys[-3] or asks[-3] % values[-3]):
        raise RuntimeError(
            "scaled_dot_product_attention: with enable_gqa the heads of key and value (dimension "
            f"-3) must divide those of query, but got {shapes()}"
        )


def _attention_weights(scores, attn_mask):
    """Softmax of the masked scores; a row that may look at nothing gets zeros."""
    if attn_mask is None:
        return softmax(scores, -1)
    if attn_mask._dtype.category == BOOL:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    else:
        scores = scores + attn_mask
    if scores.is_meta:
        return softmax(scores, -1)
    blind = (scores.detach() == -math.inf).all(-1, keepdim=True)
    if readable(blind) and not bool(blind.any()):
        return softmax(scores, -1)
    return softmax(scores.masked_fill(blind, 0.0), -1).masked_fill(blind, 0.0)


def _attention_samples(make):
    mask = make(2, 1, 5, 4).detach()
    heads = [(2, 2, 5, 3), (2, 2, 4, 3), (2, 2, 4, 6)]
    shared = [(1, 4, 3, 2), (1, 2, 3, 2), (1, 2, 3, 2)]
    return [
        ((*(make(*s) for s in heads), None, False, 0.5), {}),
        ((*(make(*s) for s in heads), mask, False, 0.6), {}),
        ((*(make(*s) for s in shared), None, True, 0.7), {}),
        ((*(make(*s) for s in heads), mask, False, 0.5, make(2, 2, 5, 4).detach()), {}),
    ]


def _attention_meta(query, key, value, *_options):
    sums = dtype_of(query) if query.dtype.itemsize > 2 else float32
    found = kernels.result_like(query, query.shape[1], value.shape[3], meta_array)
    found = found if dtype_of(query) is float32 else (found.shape, dtype_of(query))
    return [found, (query.shape[:3], sums)]


@op(
    method=False,
    meta=_attention_meta,
    samples=_attention_samples,
    rule=floating_only,
    node="ScaledDotProductFlashAttentionForCpu",
    batching="attention",
    runs_as="scaled_dot_product_attention _scaled_dot_product_flash_attention_for_cpu"
    " _scaled_dot_product_flash_attention _scaled_dot_product_efficient_attention",
    **saved_values.ATTENTION,
)
def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    causal,
    scale,
    kept: Tensor | None = None,
    planes=3,
):
    """Attention over (B, H, L, E) by one kernel; also each row's logarithm of the sum of
    exponentials. Key and value may have fewer heads; the mask is floating and is added; `kept` is
    what dropout multiplies the probabilities (B, H, L, S) by; `planes` of bfloat16 make up each
    operand exactly, fewer than three where they were of low precision."""
    if planes != 3:
        return kernels.attention_forward(query, key, value, mask, causal, scale, kept, planes)
    if kept is None:
        return kernels.attention_forward(query, key, value, mask, causal, scale)
    return kernels.attention_forward(query, key, value, mask, causal, scale, kept)


def _attention_backward(grad, *arrays):
    return kernels.attention_backward(grad, *arrays)


@_attention.gradients("query", "key", "value")
def _attention_gradient(grad, query, key, value, mask, causal, scale, kept, out0, out1, needs):
    if on_arrays(grad, query, key, value, mask, kept):
        bias, factors = (None if t is None else t._array for t in (mask, kept))
        arrays = (query._array, key._array, value._array, bias, out0._array, out1._array)
        found = kernels.attention_backward(grad._array, *arrays, causal, scale, factors)
        return tensors_of(found)
    if kept is None and on_gpu(grad, query, key, value, mask):
        bias = None if mask is None else mask._array
        arrays = (query._array, key._array, value._array, bias, out0._array, out1._array)
        return tensors_of(translated(_attention_backward)(grad._array, *arrays, causal, scale))
    return gradients_by_formula(grad, query, key, value, mask, causal, scale, kept)


def gradients_by_formula(grad, query, key, value, mask, causal, scale, kept):
    """Gradients of attention's query, key and value by ops, which can be differentiated again."""
    heads, length, keys = query.shape[1], query.shape[2], key.shape[2]
    k, v = _repeated(key, heads), _repeated(value, heads)
    if causal:
        mask = ones(length, keys, dtype=bool_dtype, device=query.device).tril()
    weights = _attention_weights((query * scale) @ k.transpose(-2, -1), mask)
    change, used = grad @ v.transpose(-2, -1), weights
    if kept is not None:
        change, used = change * kept, weights * kept
    change = weights * (change - (change * weights).sum(-1, True)) * scale
    dk, dv = change.transpose(-2, -1) @ query, used.transpose(-2, -1) @ grad
    if heads != key.shape[1]:
        dk, dv = (t.reshape(t.shape[0], key.shape[1], -1, *t.shape[2:]).sum(2) for t in (dk, dv))
    return change @ k, dk, dv


_PLANES = {bfloat16: 1, float16: 2}  # of values of these dtypes


def _fits_kernel(query, key, value, mask, dropout_p, enable_gqa):
    """Whether :func:`_attention` can take a call: plain tensors of one batch, and a mask that wants
    no gradient; with dropout, outside of function transforms. On GPUs in low precision too."""
    low = query._dtype.category == FLOAT and query.element_size() == 2
    if not (query._dtype is float32 or low and query.is_cuda):
        return False
    asks, keys, values = query.shape, key.shape, value.shape
    if not len(asks) == len(keys) == 4 or not query._dtype is key._dtype is value._dtype:
        return False
    if dropout_p > 0.0 and (stack.levels or query.is_meta or keys[2] == 0):
        return False
    if type(query) not in EXACT or type(key) not in EXACT or type(value) not in EXACT:
        return False
    if asks[0] != keys[0] or keys[:2] != values[:2]:
        return False
    if not enable_gqa and asks[1] != keys[1]:
        return False
    if mask is None:
        return True
    if type(mask) not in EXACT or mask._node is not None or mask.dim() > 4:
        return False
    whole = (*asks[:3], keys[2])
    pairs = zip(mask.shape[::-1], whole[::-1], strict=False)
    return all(have in (1, want) for have, want in pairs)


@composite(
    schemas=(
        "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? "
        "attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool "
        "enable_gqa=False) -> Tensor",
    ),
    method=False,
    oracle="nn.functional",
    samples=lambda make: [
        (make(2, 3, 4), make(2, 5, 4), make(2, 5, 4)),
        (make(1, 3, 2), make(1, 3, 2), make(1, 3, 2), make.mask(3, 3)),
        (make(2, 3, 4), make(2, 3, 4), make(2, 3, 2), None, 0.0, True, {"scale": 0.5}),
    ],
    autocast="lower",
    aten="default",
    flops="attention",
)
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p=0.0,
    is_causal=False,
    *,
    scale=None,
    enable_gqa=False,
):
    """``softmax(query @ key.T * scale + mask) @ value`` over the last two dimensions.

    `query` (..., L, E), `key` (..., S, E) and `value` (..., S, V) give (..., L, V). A bool
    `attn_mask` keeps what is true, a float one is added; `is_causal` lets position i see the first
    i + 1; `enable_gqa` repeats the heads (dimension -3) of key and value. `scale` is
    ``1 / sqrt(E)`` by default. Dropout acts whenever `dropout_p` is positive.

    >>> q = rushlight.ones(1, 2, 4)
    >>> rushlight.nn.functional.scaled_dot_product_attention(q, q, q).shape
    rushlight.Size([1, 2, 4])
    """
    if dropout_p == 0.0 and unrecorded(query, key, value, attn_mask):
        found = attention_calls.of_arrays(
            query, key, value, attn_mask, is_causal, scale, enable_gqa
        )
        if found is not None:
            return found
    _check(query, key, value, attn_mask, is_causal, enable_gqa)
    scale = 1 / math.sqrt(query.shape[-1] or 1) if scale is None else scale
    dtype = query.dtype
    fits = _fits_kernel(query, key, value, attn_mask, dropout_p, enable_gqa)
    if not fits and query._dtype.category == FLOAT and query.element_size() < 4:
        query, key, value = query.float(), key.float(), value.float()
        if attn_mask is not None and attn_mask._dtype.category == FLOAT:
            attn_mask = attn_mask.float()
        fits = _fits_kernel(query, key, value, attn_mask, dropout_p, enable_gqa)
    if fits:
        if attn_mask is not None and attn_mask._dtype.category == BOOL:
            attn_mask = where(attn_mask, 0.0, -math.inf).to(float32)
        options = attn_mask, is_causal, float(scale)
        if dropout_p > 0.0 and query.is_cuda:
            from rushlight.ops.neural.attention_dropout import attention_with_dropout

            return attention_with_dropout(query, key, value, *options, float(dropout_p))[0]
        kept = None
        if dropout_p > 0.0:  # the numbers that dropout of the probabilities would draw
            sizes = (*query.shape[:3], key.shape[2])
            kept = dropout(ones(sizes, device=query._device), dropout_p)
        planes = 3 if query.is_cuda else _PLANES.get(dtype, 3)
        out = _attention(query, key, value, *options, kept, planes)[0]
        return out if out.dtype == dtype else out.to(dtype)
    if enable_gqa:
        key = _repeated(key, query.shape[-3])
        value = _repeated(value, query.shape[-3])
    if is_causal:
        sizes = query.shape[-2], key.shape[-2]
        attn_mask = ones(sizes, dtype=bool_dtype, device=query._device).tril()
    weights = _attention_weights((query * scale) @ key.transpose(-2, -1), attn_mask)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    out = weights @ value
    return out if out.dtype == dtype else out.to(dtype)


def _repeated(tensor, heads):
    have = tensor.shape[-3]
    return tensor if have == heads else tensor.repeat_interleave(heads // have, -3)


# ------------------------------------------------------------------------------------- multi-head
def _additive(mask, name, other, other_name, dtype, check_other=True):
    """A mask as a float tensor that is added to scores."""
    if mask is None:
        return None
    if mask._dtype.category not in (BOOL, FLOAT):
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if check_other and other is not None and other.dtype != mask.dtype:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both "
            "instead.",
            stacklevel=5,
        )
    if mask._dtype.category == FLOAT:
        return mask
    return zeros(tuple(mask.shape), dtype=dtype, device=mask.device).masked_fill(mask, -math.inf)


def _check_heads(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether the call is batched; shapes that do not belong together are refused."""
    batched = query.dim() == 3
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query "
            "tensor"
        )
    for name, other in (("key", key), ("value", value)):
        if other.dim() != query.dim():
            raise AssertionError(
                f"For {query.dim()}-D query expected {name} to be {query.dim()}-D, but found "
                f"{other.dim()}-D"
            )
    if key_padding_mask is not None and key_padding_mask.dim() != (2 if batched else 1):
        raise AssertionError(
            f"For {query.dim()}-D query expected key_padding_mask to be None or "
            f"{2 if batched else 1}-D but found {key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(
                f"expected attn_mask to be None, 2-D or 3-D but found {attn_mask.dim()}-D"
            )
        if not batched and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            if tuple(attn_mask.shape) != expected:
                raise AssertionError(
                    f"Expected `attn_mask` shape to be {expected} but got {tuple(attn_mask.shape)}"
                )
    return batched


def _projected(query, key, value, weight, bias, separate):
    """Query, key and value by the packed weight (3E, E), or by three separate ones."""
    embed = query.shape[-1]
    if weight is None:
        biases = (None,) * 3 if bias is None else bias.chunk(3)
        pairs = zip((query, key, value), separate, biases, strict=True)
        return [_linear_as_stored(x, w, b) for x, w, b in pairs]
    if key is value and query is key:
        return list(_linear_as_stored(query, weight, bias).chunk(3, -1))
    if key is value:
        parts = [None, None] if bias is None else [bias[:embed], bias[embed:]]
        q = _linear_as_stored(query, weight[:embed], parts[0])
        return [q, *_linear_as_stored(key, weight[embed:], parts[1]).chunk(2, -1)]
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return [
        _linear_as_stored(x, w, b)
        for x, w, b in zip((query, key, value), weight.chunk(3), biases, strict=True)
    ]


def _is_batch_first(tensor):
    """Whether an (L, N, E) tensor is in memory as (N, L, E)."""
    return not tensor.is_contiguous() and tensor.transpose(0, 1).is_contiguous()


def _linear_as_stored(input, weight, bias):
    """:func:`linear` of (L, N, E); where it is batch first, so is the result: no copies."""
    if _is_batch_first(input):
        return linear(input.transpose(0, 1), weight, bias).transpose(0, 1)
    return linear(input, weight, bias)


def _packed_weight(use_separate, in_proj_weight, separate):
    """The weight of all three projections, or None where there are three."""
    if use_separate:
        if any(w is None for w in separate):
            raise AssertionError(
                "use_separate_proj_weight is True but one of q_proj_weight, k_proj_weight, "
                "v_proj_weight is None"
            )
        return None
    if in_proj_weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    return in_proj_weight


def _expected_mask(attn_mask, length, sources, rows):
    """A mask as (1 or N * H, L, S)."""
    if attn_mask.dim() == 2:
        if tuple(attn_mask.shape) != (length, sources):
            raise RuntimeError(
                f"The shape of the 2D attn_mask is {tuple(attn_mask.shape)}, but should be "
                f"{(length, sources)}."
            )
        return attn_mask.unsqueeze(0)
    if tuple(attn_mask.shape) != (rows, length, sources):
        raise RuntimeError(
            f"The shape of the 3D attn_mask is {tuple(attn_mask.shape)}, but should be "
            f"{(rows, length, sources)}."
        )
    return attn_mask


def _extended(k, v, extra_k, extra_v, dim, masks):
    """One more source position, which no mask hides."""
    grown = [None if m is None else pad(m, (0, 1)) for m in masks]
    return cat((k, extra_k), dim), cat((v, extra_v), dim), grown


def _merged(attn_mask, padding, batch, heads):
    """Both masks as one of shape (1 or N * H, 1 or L, S), or None."""
    if padding is None:
        return attn_mask
    sources = padding.shape[1]
    padding = padding.reshape(batch, 1, 1, sources).expand(batch, heads, 1, sources)
    padding = padding.reshape(batch * heads, 1, sources)
    return padding if attn_mask is None else attn_mask + padding


def _check_embedding(query, key, value, embed_dim_to_check, num_heads, separate):
    embed = query.shape[-1]
    if embed != embed_dim_to_check:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed}"
        )
    if embed % num_heads:
        raise AssertionError(f"embed_dim {embed} not divisible by num_heads {num_heads}")
    if separate:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's "
                f"{value.shape[:2]}"
            )
    elif key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def _as_heads(x, given, batch, heads, width, name):
    """(S, N, E) as (N * H, S, D); or the given tensor of that shape."""
    if given is None:
        return x.reshape(x.shape[0], batch * heads, width).transpose(0, 1)
    if given.shape[0] != batch * heads or given.shape[2] != width:
        raise AssertionError(
            f"expecting {name} of shape ({batch * heads}, *, {width}), but got {tuple(given.shape)}"
        )
    return given


def _as_batch(query, key, value):
    """Inputs of one example as those of a batch of one; the same tensor stays the same."""
    same = (query is key, key is value)
    query = query.unsqueeze(1)
    key = query if same[0] else key.unsqueeze(1)
    return query, key, key if same[1] else value.unsqueeze(1)


def _added_masks(key_padding_mask, attn_mask, is_causal, need_weights, dtype):
    """The masks as what is added to scores, and whether the hint stands for the second one."""
    padding = _additive(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and padding is None and not need_weights:
        return padding, None, is_causal  # the hint says it all
    attn_mask = _additive(attn_mask, "attn_mask", None, "", dtype, False)
    return padding, attn_mask, is_causal and padding is None


def _check_bias(bias_k, bias_v, static_k, static_v):
    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v must be given together")
    if bias_k is not None and (static_k is not None or static_v is not None):
        raise AssertionError("bias cannot be added to static key or value.")


@overridable
def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """Attention of several heads with projections; the output (L, N, E) and the weights or None.

    `query` is (L, N, E), `key` and `value` (S, N, E); N may be missing. Masks: `key_padding_mask`
    (N, S), `attn_mask` (L, S) or (N * H, L, S); true (bool) hides, floats are added.
    """
    batched = _check_heads(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = _as_batch(query, key, value)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, embed = query.shape
    padding, attn_mask, is_causal = _added_masks(
        key_padding_mask, attn_mask, is_causal, need_weights, query.dtype
    )
    _check_embedding(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    width = embed // num_heads
    separate = (q_proj_weight, k_proj_weight, v_proj_weight)
    packed = _packed_weight(use_separate_proj_weight, in_proj_weight, separate)
    q, k, v = _projected(query, key, value, packed, in_proj_bias, separate)
    if attn_mask is not None:
        attn_mask = _expected_mask(attn_mask, length, key.shape[0], batch * num_heads)
    _check_bias(bias_k, bias_v, static_k, static_v)
    if bias_k is not None:
        extra = bias_k.repeat(1, batch, 1), bias_v.repeat(1, batch, 1)
        k, v, (attn_mask, padding) = _extended(k, v, *extra, 0, (attn_mask, padding))
    plain = bias_k is None and static_k is None and static_v is None and not add_zero_attn
    if plain and not need_weights:
        mask = _whole_mask(attn_mask, padding, batch, num_heads, k.shape[0])
        dropout_p = dropout_p if training else 0.0
        out = _attend_in_place(q, k, v, mask, dropout_p, is_causal, num_heads)
        if training:
            out = out.contiguous()  # dropout that follows draws in the order of memory: PyTorch's
        out = _linear_as_stored(out, out_proj_weight, out_proj_bias)
        return out if batched else out.squeeze(1), None
    q = q.reshape(length, batch * num_heads, width).transpose(0, 1)
    k = _as_heads(k, static_k, batch, num_heads, width, "static_k")
    v = _as_heads(v, static_v, batch, num_heads, width, "static_v")
    if add_zero_attn:
        extra = zeros((batch * num_heads, 1, width), dtype=k.dtype, device=k.device)
        k, v, (attn_mask, padding) = _extended(k, v, extra, extra, 1, (attn_mask, padding))
    mask = _whole_mask(attn_mask, padding, batch, num_heads, k.shape[1])
    dropout_p = dropout_p if training else 0.0
    attend = _attend_with_weights if need_weights else _attend
    out, weights = attend(q, k, v, mask, dropout_p, is_causal, (batch, num_heads))
    out = linear(out, out_proj_weight, out_proj_bias).view(length, batch, len(out_proj_weight))
    if weights is not None and average_attn_weights:
        weights = weights.mean(1)
    if not batched:
        return out.squeeze(1), None if weights is None else weights.squeeze(0)
    return out, weights


def _whole_mask(attn_mask, padding, batch, heads, sources):
    """Both masks in one, the size of `padding` checked."""
    if padding is not None and tuple(padding.shape) != (batch, sources):
        raise AssertionError(
            f"expecting key_padding_mask shape of {(batch, sources)}, but got "
            f"{tuple(padding.shape)}"
        )
    return _merged(attn_mask, padding, batch, heads)


def _attend_in_place(q, k, v, mask, dropout_p, is_causal, heads):
    """Outputs (L, N, E) of projections (L, N, E), whose heads are views of them."""
    width = q.shape[2] // heads
    q, k, v = (t.reshape(*t.shape[:2], heads, width).permute(1, 2, 0, 3) for t in (q, k, v))
    if mask is not None:
        alone = mask.shape[0] == 1
        mask = mask.unsqueeze(0) if alone else mask.reshape(*q.shape[:2], *mask.shape[1:])
    out = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    batch_first = out.transpose(1, 2)  # (N, L, H, D)
    if batch_first.is_contiguous():
        return batch_first.flatten(2).transpose(0, 1)
    return out.permute(2, 0, 1, 3).flatten(2)


def _attend_with_weights(q, k, v, mask, dropout_p, is_causal, sizes):
    """Outputs (L * N, E) of heads (N * H, L, D), and the weights (N, H, L, S)."""
    if is_causal and mask is None:
        raise AssertionError("FIXME: is_causal not implemented for need_weights")
    scaled, turned = q * math.sqrt(1.0 / q.shape[-1]), k.transpose(-2, -1)
    scores = bmm(scaled, turned) if mask is None else baddbmm(mask, scaled, turned)
    weights = softmax(scores, -1)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    rows, length, width = q.shape
    out = bmm(weights, v).transpose(0, 1).reshape(length * sizes[0], sizes[1] * width)
    return out, weights.reshape(*sizes, length, k.shape[1])


def _attend(q, k, v, mask, dropout_p, is_causal, sizes):
    rows, length, width = q.shape
    q, k, v = (t.reshape(*sizes, t.shape[1], width) for t in (q, k, v))
    if mask is not None:
        alone = mask.shape[0] == 1
        mask = mask.unsqueeze(0) if alone else mask.reshape(*sizes, *mask.shape[1:])
    out = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    return out.permute(2, 0, 1, 3).reshape(length * sizes[0], sizes[1] * width), None

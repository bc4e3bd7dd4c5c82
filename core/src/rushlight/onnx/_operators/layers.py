"""Convolutions, normalization, attention."""

from __future__ import annotations

import math

import rushlight as rl
import rushlight.nn.functional as F  # noqa: N812 - the usual name
from rushlight.onnx._operators.arranging import _padded
from rushlight.onnx._operators.registry import ints, operator

_CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def pads_of(auto_pad, pads, sizes, kernel, strides, dilations):
    """Padding before and after each dimension."""
    rank = len(kernel)
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        before, after = [], []
        for size, k, step, gap in zip(sizes, kernel, strides, dilations, strict=True):
            total = max(0, (-(-size // step) - 1) * step + gap * (k - 1) + 1 - size)
            small, large = total // 2, total - total // 2
            before.append(small if auto_pad == "SAME_UPPER" else large)
            after.append(large if auto_pad == "SAME_UPPER" else small)
        return before, after
    pads = pads if pads and auto_pad != "VALID" else [0] * (2 * rank)
    return list(pads[:rank]), list(pads[rank:])


@operator()
def Conv(
    x,
    weight,
    bias=None,
    auto_pad="NOTSET",
    dilations=None,
    group=1,
    kernel_shape=None,
    pads=None,
    strides=None,
):
    rank = weight.ndim - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    before, after = pads_of(auto_pad, pads, x.shape[2:], weight.shape[2:], strides, dilations)
    if before != after:
        for dim, (low, high) in enumerate(zip(before, after, strict=True), 2):
            x = _padded(x, dim, low, high, "constant", 0)
        before = [0] * rank
    return _CONVOLUTIONS[rank](
        x, weight, bias, tuple(strides), tuple(before), tuple(dilations), group
    )


@operator()
def ConvTranspose(
    x, weight, bias=None, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None,
    output_padding=None, output_shape=None, pads=None, strides=None,
):  # fmt: skip
    rank = weight.ndim - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    extra = output_padding or [0] * rank
    found = _TRANSPOSED[rank](x, weight, None, tuple(strides), 0, 0, group, tuple(dilations))
    for dim, more in enumerate(extra, 2):
        found = _padded(found, dim, 0, more, "constant", 0)
    whole = list(found.shape[2:])
    before, after = _cuts(auto_pad, pads, whole, x.shape[2:], strides, output_shape)
    for dim, (low, high) in enumerate(zip(before, after, strict=True), 2):
        found = _padded(found, dim, -low, -high, "constant", 0)
    return found if bias is None else found + bias.reshape(-1, *[1] * rank)


def _cuts(auto_pad, pads, whole, sizes, strides, output_shape):
    """What is cut off the full result, before and after each dimension."""
    rank = len(whole)
    if output_shape is not None:
        wanted = list(output_shape[-rank:])
    elif auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [size * step for size, step in zip(sizes, strides, strict=True)]
    else:
        pads = pads or [0] * (2 * rank)
        return list(pads[:rank]), list(pads[rank:])
    totals = [w - s for w, s in zip(whole, wanted, strict=True)]
    small = [t // 2 for t in totals]
    large = [t - s for t, s in zip(totals, small, strict=True)]
    return (
        (large, small)
        if auto_pad == "SAME_LOWER" or output_shape and auto_pad != "SAME_UPPER"
        else (small, large)
    )


@operator()
def DeformConv(
    x, weight, offset, bias=None, mask=None, dilations=None, group=1, kernel_shape=None,
    offset_group=1, pads=None, strides=None,
):  # fmt: skip
    raise NotImplementedError("onnx.load: DeformConv is not available; use rushlight_vision.ops")


@operator()
def BatchNormalization(
    x, scale, bias, mean, var, epsilon=1e-5, momentum=0.9, training_mode=0, outputs=1, spatial=1,
    consumed_inputs=None, is_test=None,
):  # fmt: skip
    if not training_mode:
        return F.batch_norm(x, mean, var, scale, bias, False, 0.0, epsilon)
    dims = [d for d in range(x.ndim) if d != 1]
    now_mean, now_var = x.mean(dims), x.var(dims, correction=0)
    found = F.batch_norm(x, now_mean, now_var, scale, bias, False, 0.0, epsilon)
    running = [
        old * momentum + new * (1 - momentum) for old, new in ((mean, now_mean), (var, now_var))
    ]
    return (found, *running) if outputs > 1 else found


@operator()
def InstanceNormalization(x, scale, bias, epsilon=1e-5):
    return F.instance_norm(x, weight=scale, bias=bias, eps=epsilon)


@operator()
def LayerNormalization(x, scale, bias=None, axis=-1, epsilon=1e-5, stash_type=1, outputs=1):
    dims = list(range(axis % x.ndim, x.ndim))
    values = x.float() if x.dtype in (rl.float16, rl.bfloat16) else x
    mean = values.mean(dims, keepdim=True)
    deviation = values - mean
    inverse = 1 / (deviation.square().mean(dims, keepdim=True) + epsilon).sqrt()
    found = (deviation * inverse).to(x.dtype) * scale
    found = found if bias is None else found + bias
    return (found, mean, inverse)[:outputs] if outputs > 1 else found


@operator()
def RMSNormalization(x, scale, axis=-1, epsilon=1e-5, stash_type=1):
    dims = list(range(axis % x.ndim, x.ndim))
    values = x.float() if x.dtype in (rl.float16, rl.bfloat16) else x
    power = values.square().mean(dims, keepdim=True)
    return (values / (power + epsilon).sqrt()).to(x.dtype) * scale


@operator()
def GroupNormalization(x, scale, bias, num_groups, epsilon=1e-5, stash_type=1, opset=21):
    if opset < 21 and scale.numel() == num_groups:
        times = x.shape[1] // num_groups
        scale, bias = scale.repeat_interleave(times), bias.repeat_interleave(times)
    return F.group_norm(x, num_groups, scale, bias, epsilon)


@operator()
def LpNormalization(x, axis=-1, p=2):
    length = (
        x.abs().sum(axis, keepdim=True) if p == 1 else x.square().sum(axis, keepdim=True).sqrt()
    )
    return rl.where(length == 0, rl.zeros_like(x), x / length)


@operator()
def MeanVarianceNormalization(x, axes=(0, 2, 3)):
    mean = x.mean(axes, keepdim=True)
    deviation = (x.square().mean(axes, keepdim=True) - mean.square()).sqrt()
    return (x - mean) / (deviation + 1e-9)


@operator()
def LRN(x, size, alpha=1e-4, beta=0.75, bias=1.0):
    return F.local_response_norm(x, size, alpha, beta, bias)


@operator()
def Dropout(x, ratio=None, training_mode=None, seed=None, outputs=1, **attributes):
    share = float(attributes.get("ratio", 0.5 if ratio is None else ratio))
    if not training_mode or share == 0:
        mask = rl.ones_like(x, dtype=rl.bool)
        return (x, mask) if outputs > 1 else x
    mask = rl.rand(x.shape) >= share
    found = x * mask / (1 - share)
    return (found, mask) if outputs > 1 else found


@operator()
def RotaryEmbedding(
    x, cos, sin, positions=None, interleaved=0, num_heads=0, rotary_embedding_dim=0
):
    single = x.ndim == 3
    if single:
        batch, length, width = x.shape
        x = x.reshape(batch, length, num_heads, width // num_heads)
    else:
        x = x.transpose(1, 2)
    size = rotary_embedding_dim or x.shape[-1]
    turned, rest = x[..., :size], x[..., size:]
    if positions is not None:
        cos, sin = cos[positions.long()], sin[positions.long()]
    cos, sin = cos[:, :, None, : size // 2], sin[:, :, None, : size // 2]
    if interleaved:
        first, second = turned[..., 0::2], turned[..., 1::2]
    else:
        first, second = turned[..., : size // 2], turned[..., size // 2 :]
    real, imaginary = cos * first - sin * second, sin * first + cos * second
    if interleaved:
        joined = rl.stack([real, imaginary], -1).flatten(-2)
    else:
        joined = rl.cat([real, imaginary], -1)
    found = rl.cat([joined, rest], -1) if rest.shape[-1] else joined
    return found.flatten(2) if single else found.transpose(1, 2)


@operator()
def Attention(
    query, key, value, mask=None, past_key=None, past_value=None, nonpad=None, is_causal=0,
    kv_num_heads=0, q_num_heads=0, qk_matmul_output_mode=0, scale=None, softcap=0.0,
    softmax_precision=None, left_window_size=-1, right_window_size=-1, outputs=1,
):  # fmt: skip
    single = query.ndim == 3
    if single:
        query, key, value = (
            x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)
            for x, heads in ((query, q_num_heads), (key, kv_num_heads), (value, kv_num_heads))
        )
    if past_key is not None:
        key, value = rl.cat([past_key, key], 2), rl.cat([past_value, value], 2)
    present = key, value
    times = query.shape[1] // key.shape[1]
    if times > 1:
        key, value = (v.repeat_interleave(times, 1) for v in (key, value))
    root = math.sqrt(1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    scores = (query * root) @ (key * root).mT
    shown = [scores]
    scores = softcap * rl.tanh(scores / softcap) if softcap else scores
    hidden = _hidden(
        query, key, mask, is_causal, past_key, nonpad, left_window_size, right_window_size
    )
    biased = scores if hidden is None else scores + hidden
    shown += [scores if softcap else biased, biased]
    shares = _shares(biased, hidden, softmax_precision).to(query.dtype)
    found = shares.to(value.dtype) @ value
    found = found.transpose(1, 2).flatten(2) if single else found
    shown.append(shares)
    return (found, *present, shown[qk_matmul_output_mode])[:outputs] if outputs > 1 else found


def _shares(scores, hidden, precision):
    """The softmax of scores, 0 in rows in which nothing is seen."""
    from rushlight.onnx._operators.dtypes import dtype_of

    kind = scores.dtype if precision is None else dtype_of(precision)
    shares = scores.to(kind).softmax(-1)
    if hidden is None:
        return shares
    blind = hidden.amax(-1, keepdim=True) == -math.inf
    return rl.where(blind, rl.zeros((), dtype=kind), shares)


def _hidden(query, key, mask, is_causal, past_key, nonpad, left, right):
    """What is added to scores, minus infinity where nothing is seen; None where all is."""
    rows, columns = query.shape[-2], key.shape[-2]
    total = None
    if mask is not None:
        total = _minus_infinity(~mask, query.dtype) if mask.dtype is rl.bool else mask
        if total.shape[-1] < columns:
            total = F.pad(total, (0, columns - total.shape[-1]), value=-math.inf)
    behind = _behind(rows, past_key, nonpad)
    gaps = rl.arange(columns) - rl.arange(rows)[:, None] - behind
    unseen = []
    if is_causal:
        unseen.append(gaps > 0)
    if left >= 0:
        unseen.append(gaps < -left)
    if right >= 0:
        unseen.append(gaps > right)
    if nonpad is not None:
        unseen.append(rl.arange(columns) >= nonpad.reshape(-1, 1, 1, 1))
    for one in unseen:
        more = _minus_infinity(one, query.dtype)
        total = more if total is None else total + more
    return total


def _behind(rows, past_key, nonpad):
    """How many keys come before the first query."""
    if past_key is not None:
        return past_key.shape[2]
    if nonpad is not None:
        return (nonpad.reshape(-1, 1, 1, 1) - rows).long()
    return 0


def _minus_infinity(where, dtype):
    return rl.zeros(where.shape, dtype=dtype).masked_fill(where, -math.inf)


@operator()
def GridSample(x, grid, align_corners=0, mode="bilinear", padding_mode="zeros"):
    modes = {"linear": "bilinear", "cubic": "bicubic"}
    return F.grid_sample(x, grid, modes.get(mode, mode), padding_mode, bool(align_corners))


@operator(static=(1,))
def AffineGrid(theta, size, align_corners=0):
    return F.affine_grid(theta, ints(size), bool(align_corners))

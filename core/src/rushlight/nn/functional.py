"""The functions behind the layers (public as ``nn.functional``)."""

import importlib

from rushlight.ops.activation import (
    celu,
    elu,
    gelu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    logsigmoid,
    mish,
    relu,
    relu6,
    selu,
    silu,
    softplus,
    softshrink,
    softsign,
    tanhshrink,
    threshold,
)
from rushlight.ops.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from rushlight.ops.dropout import alpha_dropout, dropout1d, dropout2d, dropout3d
from rushlight.ops.dropout import dropout as dropout
from rushlight.ops.embedding import embedding, embedding_bag, one_hot
from rushlight.ops.exponential import sigmoid
from rushlight.ops.losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cosine_similarity,
    cross_entropy,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    nll_loss,
    pairwise_distance,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
)
from rushlight.ops.matrix import bilinear, linear
from rushlight.ops.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    normalize,
    rms_norm,
)
from rushlight.ops.padding import pad
from rushlight.ops.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from rushlight.ops.softmax import log_softmax, softmax, softmin
from rushlight.ops.trigonometric import tanh


def _forms(function, name):
    """A function with PyTorch's ``inplace`` argument over an op that has an in-place variant."""

    def call(input, *args, inplace=False, **kwargs):
        if len(args) > limit:
            inplace, args = args[limit], args[:limit]
        return (function.op.inplace if inplace else function)(input, *args, **kwargs)

    limit = function.op.positional - 1
    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


relu, leaky_relu, elu = _forms(relu, "relu"), _forms(leaky_relu, "leaky_relu"), _forms(elu, "elu")
selu, celu, silu = _forms(selu, "selu"), _forms(celu, "celu"), _forms(silu, "silu")
mish, relu6 = _forms(mish, "mish"), _forms(relu6, "relu6")
hardtanh, hardswish = _forms(hardtanh, "hardtanh"), _forms(hardswish, "hardswish")
hardsigmoid, threshold = _forms(hardsigmoid, "hardsigmoid"), _forms(threshold, "threshold")


def glu(input, dim=-1):
    """The first half along `dim` times the sigmoid of the second. (Dauphin et al., 2016.)"""
    if input.shape[dim] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim} is size {input.shape[dim]}"
        )
    a, b = input.chunk(2, dim)
    return a * b.sigmoid()


def prelu(input, weight):
    """`input` where positive, else ``weight * input``; `weight` has one value or one a channel."""
    from rushlight.ops.comparison import where

    if weight.numel() > 1:
        weight = weight.reshape(*(-1 if i == 1 else 1 for i in range(input.dim())))
    return where(input > 0, input, weight * input)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """:func:`leaky_relu` with a random slope in training, their mean otherwise."""
    from rushlight.ops.comparison import where
    from rushlight.ops.random import rand_like

    if not training:
        return leaky_relu(input, (lower + upper) / 2)
    slope = rand_like(input.detach()) * (upper - lower) + lower
    return where(input >= 0, input, input * slope)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """Samples of the relaxed categorical distribution; `hard` ones are one-hot in forward."""
    noise = -logits.detach().clone().exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    from rushlight.ops.creation import zeros_like

    index = soft.detach().argmax(dim, keepdim=True)
    one = zeros_like(soft.detach()).scatter(dim, index, 1.0)
    return one - soft.detach() + soft


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """``softmax(query @ key.T * scale + mask) @ value`` over the last two dimensions.

    (Vaswani et al., 2017.) A bool mask keeps what is true; a float mask is added.
    """
    import math

    from rushlight.ops.creation import ones

    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * scale) @ key.transpose(-2, -1)
    if is_causal:
        if attn_mask is not None:
            raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
        attn_mask = ones(query.shape[-2], key.shape[-2]).bool().tril()
    if attn_mask is not None and attn_mask.dtype.name == "bool":
        scores = scores.masked_fill(~attn_mask, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    weights = softmax(scores, -1)
    return (dropout(weights, dropout_p) if dropout_p else weights) @ value


# Functions that few programs use: their families are imported at the first look-up.
_RARE = {
    "affine_grid": "sampling",
    "channel_shuffle": "pixels",
    "fold": "folding",
    "grid_sample": "sampling",
    "interpolate": "interpolation",
    "native_channel_shuffle": "pixels",
    "pixel_shuffle": "pixels",
    "pixel_unshuffle": "pixels",
    "unfold": "folding",
    "upsample": "interpolation",
    "upsample_bilinear": "interpolation",
    "upsample_nearest": "interpolation",
}


def __getattr__(name):
    family = _RARE.get(name)
    if family is None:
        raise AttributeError(f"module 'rushlight.nn.functional' has no attribute '{name}'")
    found = globals()[name] = getattr(importlib.import_module("rushlight.ops." + family), name)
    return found


def __dir__():
    return sorted({*globals(), *_RARE})


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "embedding",
    "embedding_bag",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mish",
    "mse_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "rms_norm",
    "rrelu",
    "scaled_dot_product_attention",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "triplet_margin_loss",
    *_RARE,
]

"""The functions behind the layers (public as ``nn.functional``)."""

import importlib

from rushlight.ops.elementwise.activation import (
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
from rushlight.ops.elementwise.exponential import sigmoid
from rushlight.ops.elementwise.trigonometric import tanh
from rushlight.ops.linalg.products import bilinear, linear
from rushlight.ops.losses.class_losses import nll_loss
from rushlight.ops.losses.pointwise_losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cosine_similarity,
    cross_entropy,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    pairwise_distance,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
)
from rushlight.ops.losses.squared_errors import gaussian_nll_loss, mse_loss
from rushlight.ops.neural.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from rushlight.ops.neural.dropout import (
    alpha_dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from rushlight.ops.neural.dropout import dropout as dropout
from rushlight.ops.neural.embedding import embedding, embedding_bag, one_hot
from rushlight.ops.neural.group_normalization import group_norm, instance_norm
from rushlight.ops.neural.normalization import batch_norm, layer_norm, normalize, rms_norm
from rushlight.ops.neural.padding import pad
from rushlight.ops.neural.pooling import (
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
from rushlight.ops.neural.response_normalization import local_response_norm
from rushlight.ops.neural.softmax import log_softmax, softmax, softmin
from rushlight.tensor.overriding import by_override
from rushlight.tensor.tensor import EXACT, Tensor

relu_, leaky_relu_, elu_ = relu.op.inplace, leaky_relu.op.inplace, elu.op.inplace
selu_, celu_ = selu.op.inplace, celu.op.inplace
hardtanh_, threshold_ = hardtanh.op.inplace, threshold.op.inplace


def _forms(function):
    """A function with PyTorch's ``inplace`` argument over an op that has an in-place variant."""

    def call(input, *args, inplace=False, **kwargs):
        if len(args) > limit:
            inplace, args = args[limit], args[:limit]
        if type(input) is not Tensor and type(input) not in EXACT:
            found = by_override(call, _by_name(call, function, (input, *args), kwargs, inplace))
            if found is not NotImplemented:
                return found
        return (function.op.inplace if inplace else function)(input, *args, **kwargs)

    limit = function.op.positional - 1
    call.__name__ = call.__qualname__ = function.op.name
    call.__doc__ = function.__doc__
    return call


def _by_name(call, function, args, kwargs, inplace):
    """The arguments of a function with ``inplace`` behind those of its op."""
    import inspect

    own = inspect.signature(function.__wrapped__)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    flag = inspect.Parameter("inplace", kind, default=False)
    call.__signature__ = own.replace(parameters=[*own.parameters.values(), flag])
    bound = call.__signature__.bind(*args, **kwargs, inplace=inplace)
    bound.apply_defaults()
    return bound.arguments


relu, leaky_relu, elu = _forms(relu), _forms(leaky_relu), _forms(elu)
selu, celu, silu = _forms(selu), _forms(celu), _forms(silu)
mish, relu6 = _forms(mish), _forms(relu6)
hardtanh, hardswish = _forms(hardtanh), _forms(hardswish)
hardsigmoid, threshold = _forms(hardsigmoid), _forms(threshold)


# Functions that few programs use: their families are imported at the first look-up.
_RARE = {
    "adaptive_max_pool1d_with_indices": "neural.unpooling",
    "adaptive_max_pool2d_with_indices": "neural.unpooling",
    "adaptive_max_pool3d_with_indices": "neural.unpooling",
    "affine_grid": "neural.grid_sampling",
    "channel_shuffle": "neural.pixels",
    "conv_tbc": "neural.convolution",
    "ctc_loss": "losses.alignment_loss",
    "fold": "neural.folding",
    "fractional_max_pool2d": "neural.unpooling",
    "fractional_max_pool2d_with_indices": "neural.unpooling",
    "fractional_max_pool3d": "neural.unpooling",
    "fractional_max_pool3d_with_indices": "neural.unpooling",
    "glu": "elementwise.gates",
    "grid_sample": "neural.grid_sampling",
    "grouped_mm": "linalg.grouped_products",
    "gumbel_softmax": "elementwise.gates",
    "interpolate": "neural.interpolation",
    "linear_cross_entropy": "losses.margin_losses",
    "lp_pool1d": "neural.unpooling",
    "lp_pool2d": "neural.unpooling",
    "lp_pool3d": "neural.unpooling",
    "max_pool1d_with_indices": "neural.unpooling",
    "max_pool2d_with_indices": "neural.unpooling",
    "max_pool3d_with_indices": "neural.unpooling",
    "max_unpool1d": "neural.unpooling",
    "max_unpool2d": "neural.unpooling",
    "max_unpool3d": "neural.unpooling",
    "multi_head_attention_forward": "neural.attention",
    "multi_margin_loss": "losses.margin_losses",
    "multilabel_margin_loss": "losses.margin_losses",
    "multilabel_soft_margin_loss": "losses.margin_losses",
    "native_channel_shuffle": "neural.pixels",
    "pdist": "linalg.distances",
    "pixel_shuffle": "neural.pixels",
    "pixel_unshuffle": "neural.pixels",
    "prelu": "elementwise.gates",
    "rrelu": "elementwise.gates",
    "rrelu_": "elementwise.gates",
    "scaled_dot_product_attention": "neural.attention",
    "scaled_grouped_mm": "linalg.grouped_products",
    "scaled_mm": "linalg.grouped_products",
    "ScalingType": "linalg.grouped_products",
    "SwizzleType": "linalg.grouped_products",
    "triplet_margin_with_distance_loss": "losses.margin_losses",
    "unfold": "neural.folding",
    "upsample": "neural.interpolation",
    "upsample_bilinear": "neural.interpolation",
    "upsample_nearest": "neural.interpolation",
}


# Helpers of PyTorch's own layers, which subclasses of them import.
_PRIVATE = frozenset("""
    _canonical_mask _get_softmax_dim _in_projection _in_projection_packed _list_with_default
    _mha_shape_check _none_or_dtype _pair _single _triple _verify_batch_size _verify_spatial_size
    GRID_SAMPLE_INTERPOLATION_MODES GRID_SAMPLE_PADDING_MODES
""".split())  # fmt: skip


def __getattr__(name):
    if name in _PRIVATE:
        return getattr(importlib.import_module("rushlight.nn.private_names"), name)
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
    "celu_",
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
    "elu_",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "gaussian_nll_loss",
    "gelu",
    "group_norm",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "local_response_norm",
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
    "relu",
    "relu6",
    "relu_",
    "rms_norm",
    "selu",
    "selu_",
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
    "threshold_",
    "triplet_margin_loss",
    *_RARE,
]

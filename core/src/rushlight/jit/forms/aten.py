"""ATen signatures that are not those of a public function.

Most ATen ops take the arguments of the public function of their name, and are found by
:mod:`rushlight.library.aten`. Here stand those that programs alone name: losses with a number for
the reduction, pooling and padding by dimension, resampling, fused attention.
"""

from __future__ import annotations

import operator

import rushlight
from rushlight import devices, dtypes
from rushlight.jit import runtime
from rushlight.nn import functional as F  # noqa: N812 - the usual name
from rushlight.nn.utils import rnn
from rushlight.ops.neural.unpooling import put_back
from rushlight.tensor.tensor import Tensor

_REDUCTIONS = ("none", "mean", "sum")
FORMS: dict = {}


def _form(function, name=None):
    FORMS[name or function.__name__] = function
    return function


def _named(make, names, behind=""):
    for name in names.split():
        _form(make(name), name + behind)


# ------------------------------------------------------------------------------------ conversions
@_form
def to(self, *args, **kwargs):
    """``to(dtype)``, ``to(device, dtype)``, ``to(other)``, with numbers for dtypes."""
    values = [v for v in args if v is not None]
    found: dict = {k: v for k, v in kwargs.items() if v is not None}
    flags = iter(("non_blocking", "copy"))
    for value in values:
        if isinstance(value, bool):
            found[next(flags)] = value
        elif isinstance(value, Tensor):
            found.setdefault("device", value.device)
            found.setdefault("dtype", value.dtype)
        elif isinstance(value, devices.device | str):
            found["device"] = value
        elif isinstance(value, dtypes.dtype) or "dtype" not in found and len(found) < 2:
            found["dtype"] = runtime.as_dtype(value)
        else:
            found["memory_format"] = runtime.as_format(value)
    if found.get("memory_format") is runtime.FORMATS[1]:
        found.pop("memory_format")
    return self.to(**found)


def _cast(dtype):
    def call(self, non_blocking=False):
        return self.to(dtype)

    return call


def _casts(**names):
    for name, dtype in names.items():
        _form(_cast(dtype), "_cast_" + name)


_casts(Byte=dtypes.uint8, Char=dtypes.int8, Short=dtypes.int16, Int=dtypes.int32)
_casts(Long=dtypes.int64, Half=dtypes.float16, Float=dtypes.float32, Double=dtypes.float64)


@_form
def scalar_tensor(value, **options):
    """A tensor of one number, of the number's dtype (``prim::NumToTensor``)."""
    return rushlight.tensor(value, **options)


_form(rushlight.tensor, "tensor")
_form(operator.and_, "__and__")
_form(operator.or_, "__or__")
_form(operator.xor, "__xor__")
_form(operator.lshift, "__lshift__")
_form(operator.rshift, "__rshift__")
_form(lambda self: self.T, "numpy_T")
_form(lambda self: self.mT, "mT")
_form(lambda self: self.H, "matrix_H")
_form(lambda self: self.is_leaf, "is_leaf")
_form(lambda self: self, "lift_fresh")
_form(lambda self: self, "lift")
_form(lambda self: self.detach(), "data")
_form(lambda self: rushlight.tensor(list(self.shape)), "_shape_as_tensor")
_form(lambda self, size, **_: self.view(size), "_reshape_alias")
_form(lambda value: rushlight.set_grad_enabled(value) and None, "set_grad_enabled")


@_form
def einsum(equation, *tensors, path=None):
    """``einsum`` of a list of tensors, or of several; the path is a hint."""
    if isinstance(tensors[0], list | tuple):
        tensors = tensors[0]
    return rushlight.einsum(equation, *tensors)


def _spread(name):
    return lambda tensors, **options: getattr(rushlight, name)(*tensors, **options)


_named(_spread, "broadcast_tensors block_diag cartesian_prod")


@_form
def stft(self, n_fft, hop_length=None, win_length=None, window=None, *rest, **options):
    """``stft``: without padding, or with ``center, pad_mode`` before the rest."""
    options.pop("align_to_window", None)
    names = ["normalized", "onesided", "return_complex"]
    if len(rest) > 1 and isinstance(rest[1], str) or "center" in options:
        names = ["center", "pad_mode", *names]
    else:
        options["center"] = False
    options.update(zip(names, rest, strict=False))
    return rushlight.stft(self, n_fft, hop_length, win_length, window, **options)


@_form
def tensordot(self, other, dims_self, dims_other):
    """``tensordot`` with the dimensions of both."""
    return rushlight.tensordot(self, other, (dims_self, dims_other))


@_form
def index(self, indices):
    """``self[indices]``; None stands for a whole dimension."""
    return self[tuple(slice(None) if i is None else i for i in indices)]


@_form
def index_put_(self, indices, values, accumulate=False):
    """``self[indices] = values``; None stands for a whole dimension."""
    if not accumulate and any(i is None for i in indices):
        self[tuple(slice(None) if i is None else i for i in indices)] = values
        return self
    return self.index_put_(tuple(indices), values, accumulate)


def _slice(self, dim=0, start=None, end=None, step=1):
    whole = (slice(None),) * (dim % self.dim())
    return self[(*whole, slice(start, end, step))]


_form(_slice, "slice")


@_form
def expand(self, *size, implicit=False):
    """``expand``; `implicit` is for the tracer."""
    return self.expand(*(size[0] if isinstance(size[0], list | tuple) else size))


@_form
def random_(self, *ends, generator=None):
    """Whole numbers in place, from one end to another, or up to one."""
    return self.random_(*ends, generator=generator)


@_form
def _unique2(self, sorted=True, return_inverse=False, return_counts=False):  # noqa: A002
    """Distinct elements, where each stands, how often."""
    return rushlight.unique(self, sorted=sorted, return_inverse=True, return_counts=True)


# ---------------------------------------------------------------------------------------- layers
def _functional(name):
    return lambda *args, **kwargs: getattr(F, name)(*args, **kwargs)


_named(
    _functional,
    "adaptive_avg_pool2d adaptive_avg_pool3d avg_pool2d avg_pool3d one_hot pad "
    "scaled_dot_product_attention elu_ hardtanh_ leaky_relu_ celu_ selu_ relu_",
)


def _inplace(name):
    return lambda self, *args, **kwargs: getattr(F, name)(self, *args, inplace=True, **kwargs)


_named(_inplace, "relu6 silu mish hardswish hardsigmoid", behind="_")


def _with_indices(name, fixed):
    def call(self, *args, **kwargs):
        return getattr(F, name)(self, *args, return_indices=True, **kwargs)

    return _form(call, fixed)


_with_indices("max_pool2d", "max_pool2d_with_indices")
_with_indices("max_pool3d", "max_pool3d_with_indices")
_with_indices("adaptive_max_pool2d", "adaptive_max_pool2d")
_with_indices("adaptive_max_pool3d", "adaptive_max_pool3d")


def _padding(mode):
    return lambda self, padding: F.pad(self, list(padding), mode)


def _pads(*counts):
    for count in counts:
        _form(_padding("reflect"), f"reflection_pad{count}d")
        _form(_padding("replicate"), f"replication_pad{count}d")


_pads(1, 2, 3)


def _convolved(self, weight, bias, stride, padding, dilation, transposed, output_padding, groups,
               *settings):  # fmt: skip
    count = weight.dim() - 2
    if transposed:
        function = getattr(F, f"conv_transpose{count}d")
        return function(self, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(F, f"conv{count}d")(self, weight, bias, stride, padding, dilation, groups)


_form(_convolved, "_convolution")
_form(_convolved, "convolution")


@_form
def _convolution_mode(self, weight, bias, stride, padding, dilation, groups):
    """A convolution with ``padding="same"`` or ``"valid"``."""
    function = getattr(F, f"conv{weight.dim() - 2}d")
    return function(self, weight, bias, stride, padding, dilation, groups)


def _resampled(mode, count):
    corners = mode not in ("nearest", "nearest-exact")

    def call(self, output_size=None, *rest):
        values = list(rest)
        align = values.pop(0) if corners else None
        scales = values[0] if len(values) == 1 else None
        if output_size is not None:
            return F.interpolate(self, list(output_size), mode=mode, align_corners=align)
        return F.interpolate(
            self, scale_factor=list(scales), mode=mode, align_corners=align,
            recompute_scale_factor=False,
        )  # fmt: skip

    name = {"nearest-exact": "_upsample_nearest_exact"}.get(mode, "upsample_" + mode)
    return _form(call, f"{name}{count}d")


def _upsampling(mode, *counts):
    for count in counts:
        _resampled(mode, count)


_upsampling("nearest", 1, 2, 3)
_upsampling("nearest-exact", 1, 2, 3)
_upsampling("linear", 1)
_upsampling("bilinear", 2)
_upsampling("bicubic", 2)
_upsampling("trilinear", 3)


@_form
def im2col(self, kernel_size, dilation, padding, stride):
    """``unfold``."""
    return F.unfold(self, kernel_size, dilation, padding, stride)


@_form
def col2im(self, output_size, kernel_size, dilation, padding, stride):
    """``fold``."""
    return F.fold(self, output_size, kernel_size, dilation, padding, stride)


@_form
def embedding_bag(
    weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False,
    per_sample_weights=None, include_last_offset=False, padding_idx=None,
):  # fmt: skip
    """Sums, means or maxima of rows, with three tensors for the backward pass, empty here."""
    out = F.embedding_bag(
        indices, weight, offsets, None, 2.0, scale_grad_by_freq, ("sum", "mean", "max")[mode],
        sparse, per_sample_weights, include_last_offset, padding_idx,
    )  # fmt: skip
    nothing = rushlight.empty(0, dtype=rushlight.int64)
    return out, nothing, nothing, nothing


# ---------------------------------------------------------------------------------------- losses
def _weighted(name, *options):
    """A loss with a weight, ``reduction`` by number, and options behind it."""

    def call(self, target, weight=None, reduction=1, *rest):
        named = dict(zip(options, rest, strict=False))
        return getattr(F, name)(self, target, weight, reduction=_REDUCTIONS[reduction], **named)

    return call


def _plain(name, *options):
    """A loss with ``reduction`` by number, and options behind it."""

    def call(self, target, reduction=1, *rest):
        named = dict(zip(options, rest, strict=False))
        return getattr(F, name)(self, target, reduction=_REDUCTIONS[reduction], **named)

    return call


_form(_weighted("cross_entropy", "ignore_index", "label_smoothing"), "cross_entropy_loss")
_form(_weighted("nll_loss", "ignore_index"), "nll_loss")
_form(_weighted("nll_loss", "ignore_index"), "nll_loss_nd")
_form(_weighted("nll_loss", "ignore_index"), "nll_loss2d")
_form(_weighted("binary_cross_entropy"), "binary_cross_entropy")
_form(_plain("huber_loss", "delta"), "huber_loss")
_form(_plain("smooth_l1_loss", "beta"), "smooth_l1_loss")
_form(_plain("soft_margin_loss"), "soft_margin_loss")
_form(_plain("multilabel_margin_loss"), "multilabel_margin_loss")


@_form
def multi_margin_loss(self, target, p=1, margin=1, weight=None, reduction=1):
    """The loss with a number for the reduction."""
    return F.multi_margin_loss(
        self, target, p, margin, weight, reduction=_REDUCTIONS[reduction]
    )  # fmt: skip


def _averaged(name, position):
    """A public function whose reduction is "none" where it is left out; ATen's is "mean"."""

    def call(*args, **kwargs):
        if len(args) <= position:
            kwargs.setdefault("reduction", 1)
        return getattr(rushlight, name)(*args, **kwargs)

    return call


_form(_averaged("kl_div", 2), "kl_div")
_form(_averaged("binary_cross_entropy_with_logits", 4), "binary_cross_entropy_with_logits")
_form(_averaged("cosine_embedding_loss", 4), "cosine_embedding_loss")
_form(_averaged("hinge_embedding_loss", 3), "hinge_embedding_loss")
_form(_averaged("margin_ranking_loss", 4), "margin_ranking_loss")
_form(_averaged("triplet_margin_loss", 7), "triplet_margin_loss")
_form(_averaged("ctc_loss", 5), "ctc_loss")


# ------------------------------------------------------------------------------------- attention
@_form
def _native_multi_head_attention(
    query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias,
    mask=None, need_weights=True, average_attn_weights=True, mask_type=None,
):  # fmt: skip
    """Attention of batch-first inputs; the weights are None where they are not needed."""
    padding, attention = (mask, None) if mask_type == 1 else (None, mask)
    swapped = [t.transpose(0, 1) for t in (query, key, value)]
    out, weights = F.multi_head_attention_forward(
        *swapped, embed_dim, num_head, qkv_weight, qkv_bias, None, None, False, 0.0, proj_weight,
        proj_bias, training=False, key_padding_mask=padding, need_weights=need_weights,
        attn_mask=attention, average_attn_weights=average_attn_weights,
    )  # fmt: skip
    return out.transpose(0, 1), weights


@_form
def _transformer_encoder_layer_fwd(
    src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first,
    eps, norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1,
    ffn_weight_2, ffn_bias_2, mask=None, mask_type=None,
):  # fmt: skip
    """One layer of a transformer's encoder in evaluation."""
    attention = (qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type)
    activation = F.gelu if use_gelu else F.relu

    def attend(x):
        return _native_multi_head_attention(x, x, x, embed_dim, num_heads, *attention)[0]

    def feed(x):
        inner = activation(F.linear(x, ffn_weight_1, ffn_bias_1))
        return F.linear(inner, ffn_weight_2, ffn_bias_2)

    def first(x):
        return F.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def second(x):
        return F.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = src + attend(first(src))
        return x + feed(second(x))
    x = first(src + attend(src))
    return second(x + feed(x))


@_form
def _lu_with_info(self, pivot=True, check_errors=True):
    return tuple(rushlight.linalg.lu_factor_ex(self, pivot=pivot, check_errors=check_errors))


@_form
def max_unpool2d(self, indices, output_size):
    """The operator says the sizes of the result."""
    return put_back("max_unpool2d", self, indices, tuple(output_size))


@_form
def max_unpool3d(self, indices, output_size, stride, padding):
    """The operator says the sizes of the result."""
    return put_back("max_unpool3d", self, indices, tuple(output_size))


def _fractional(count):
    function = getattr(F, f"fractional_max_pool{count}d")

    def call(self, kernel_size, output_size, random_samples):
        return tuple(
            function(self, kernel_size, output_size, None, True, _random_samples=random_samples)
        )

    return call


_form(_fractional(2), "fractional_max_pool2d")
_form(_fractional(3), "fractional_max_pool3d")


@_form
def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """A function of `nn.utils.rnn` here."""
    return rnn.pad_sequence(sequences, batch_first, padding_value, padding_side)

"""Functions of `nn.functional` by ATen ops, for archives: what :func:`save` writes for a call.

When a compiled program runs, the public function is called; these say the same in the operators
that PyTorch's archives know. They are compiled like any function.
"""

# ruff: noqa: UP006, UP007, UP035 - annotations that TorchScript has had from its start
from __future__ import annotations

import importlib
from typing import List

from rushlight.jit.dispatch import aten
from rushlight.nn import functional as F  # noqa: N812 - the usual name
from rushlight.tensor.tensor import Tensor

FORMS: dict = {}


def _form(function):
    function.__name__ = function.__qualname__ = function.__name__.lstrip("_")
    function.__module__ = "torch.nn.functional"
    FORMS[getattr(F, function.__name__)] = function
    return function


def form_for(python):
    """The form of a public function; None if it has none."""
    for more in ("heads", "losses", "pooling"):
        importlib.import_module("rushlight.jit.forms." + more)
    return FORMS.get(python)


def giving(python, call):
    """A public function, or what gives positions too where a call of it asks for them."""
    other = getattr(F, f"{getattr(python, '__name__', '')}_with_indices", None)
    asked = call.kwargs.get("return_indices", *call.args[4:5])  # of fractional pooling
    return other if other is not None and getattr(asked, "value", False) else python


# ------------------------------------------------------------------------------------ activations
@_form
def _relu(input: Tensor, inplace: bool = False) -> Tensor:
    return aten.relu_(input) if inplace else aten.relu(input)


@_form
def _relu6(input: Tensor, inplace: bool = False) -> Tensor:
    return aten.relu6_(input) if inplace else aten.relu6(input)


@_form
def _selu(input: Tensor, inplace: bool = False) -> Tensor:
    return aten.selu_(input) if inplace else aten.selu(input)


@_form
def _silu(input: Tensor, inplace: bool = False) -> Tensor:
    return aten.silu_(input) if inplace else aten.silu(input)


@_form
def _mish(input: Tensor, inplace: bool = False) -> Tensor:
    return aten.mish_(input) if inplace else aten.mish(input)


@_form
def _hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    return aten.hardswish_(input) if inplace else aten.hardswish(input)


@_form
def _hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    return aten.hardsigmoid_(input) if inplace else aten.hardsigmoid(input)


@_form
def _leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.leaky_relu_(input, negative_slope)
    return aten.leaky_relu(input, negative_slope)


@_form
def _elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return aten.elu_(input, alpha) if inplace else aten.elu(input, alpha)


@_form
def _celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return aten.celu_(input, alpha) if inplace else aten.celu(input, alpha)


@_form
def _hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    if inplace:
        return aten.hardtanh_(input, min_val, max_val)
    return aten.hardtanh(input, min_val, max_val)


@_form
def _threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.threshold_(input, threshold, value)
    return aten.threshold(input, threshold, value)


@_form
def _logsigmoid(input: Tensor) -> Tensor:
    return aten.log_sigmoid(input)


@_form
def _softsign(input: Tensor) -> Tensor:
    return input / (aten.abs(input) + 1)


@_form
def _tanhshrink(input: Tensor) -> Tensor:
    return input - aten.tanh(input)


@_form
def _softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None
) -> Tensor:
    if dim is None:
        dim = 0 if input.dim() in [0, 1, 3] else 1
    return aten.softmax(input, dim, dtype)


@_form
def _log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None
) -> Tensor:
    if dim is None:
        dim = 0 if input.dim() in [0, 1, 3] else 1
    return aten.log_softmax(input, dim, dtype)


@_form
def _softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None
) -> Tensor:
    if dim is None:
        dim = 0 if input.dim() in [0, 1, 3] else 1
    return aten.softmax(aten.neg(input), dim, dtype)


@_form
def _dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:  # fmt: skip
    return aten.dropout_(input, p, training) if inplace else aten.dropout(input, p, training)


@_form
def _alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    if inplace:
        return aten.alpha_dropout_(input, p, training)
    return aten.alpha_dropout(input, p, training)


@_form
def _dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:  # fmt: skip
    if inplace:
        return aten.feature_dropout_(input, p, training)
    return aten.feature_dropout(input, p, training)


@_form
def _dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:  # fmt: skip
    rows = aten.unsqueeze(input, 0) if input.dim() == 2 else input
    found = aten.feature_dropout(rows, p, training)
    if inplace:
        return aten.copy_(input, aten.reshape(found, input.size()))
    return aten.reshape(found, input.size())


@_form
def _dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:  # fmt: skip
    if inplace:
        return aten.feature_dropout_(input, p, training)
    return aten.feature_dropout(input, p, training)


@_form
def _feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    if inplace:
        return aten.feature_alpha_dropout_(input, p, training)
    return aten.feature_alpha_dropout(input, p, training)


@_form
def _gumbel_softmax(
    logits: Tensor, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    noise = aten.neg(aten.log(aten.exponential_(aten.zeros_like(logits))))
    soft = aten.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = aten.argmax(soft, dim, True)
    one = aten.scatter(aten.zeros_like(logits), dim, index, 1.0)
    return one - aten.detach(soft) + soft


# ----------------------------------------------------------------------------------------- layers
@_form
def _batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    return aten.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, True
    )


@_form
def _instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    return aten.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True
    )


@_form
def _layer_norm(
    input: Tensor,
    normalized_shape: List[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    return aten.layer_norm(input, normalized_shape, weight, bias, eps, True)


@_form
def _group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    return aten.group_norm(input, num_groups, weight, bias, eps, True)


@_form
def _normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    length = aten.clamp_min(aten.norm(input, p, [dim], True), eps)
    return input / aten.expand_as(length, input)


@_form
def _embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    if max_norm is not None:
        raise NotImplementedError("embedding: max_norm cannot be used in an archive")
    padding = -1
    if padding_idx is not None:
        padding = padding_idx if padding_idx >= 0 else weight.size(0) + padding_idx
    return aten.embedding(weight, input, padding, scale_grad_by_freq, sparse)


@_form
def _embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    if max_norm is not None:
        raise NotImplementedError("embedding_bag: max_norm cannot be used in an archive")
    kind = 0 if mode == "sum" else 1 if mode == "mean" else 2
    if offsets is not None:
        begins, elements, weights = offsets, input, per_sample_weights
    else:
        begins = aten.arange(
            0, input.numel(), input.size(1), dtype=input.dtype, device=input.device
        )  # fmt: skip
        elements, weights = aten.reshape(input, [-1]), per_sample_weights
        if weights is not None:
            weights = aten.reshape(weights, [-1])
    return aten.embedding_bag(
        weight, elements, begins, scale_grad_by_freq, kind, sparse, weights, include_last_offset,
        padding_idx,
    )[0]  # fmt: skip


@_form
def _local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    if input.dim() < 3:
        raise ValueError("local_response_norm: expected an input of at least 3 dimensions")
    around = [0 for i in range(2 * (input.dim() - 2))] + [size // 2, (size - 1) // 2]
    squares = aten.constant_pad_nd(input * input, around, 0.0)
    total = aten.narrow(squares, 1, 0, input.size(1))
    for i in range(1, size):
        total = total + aten.narrow(squares, 1, i, input.size(1))
    return input / aten.pow(total * (alpha / float(size)) + k, beta)


@_form
def _unfold(
    input: Tensor,
    kernel_size: List[int],
    dilation: List[int] = [1, 1],  # noqa: B006 - read, never written
    padding: List[int] = [0, 0],  # noqa: B006
    stride: List[int] = [1, 1],  # noqa: B006
) -> Tensor:
    return aten.im2col(input, kernel_size, dilation, padding, stride)


def _by_area(input: Tensor, size: List[int] | None, scale_factor: List[float] | None) -> Tensor:
    target: List[int] = []
    if size is not None:
        target = size
    elif scale_factor is not None:
        for i in range(len(scale_factor)):
            target.append(int(float(input.size(i + 2)) * scale_factor[i]))
    if input.dim() == 3:
        return aten.adaptive_avg_pool1d(input, target)
    if input.dim() == 4:
        return aten.adaptive_avg_pool2d(input, target)
    return aten.adaptive_avg_pool3d(input, target)


@_form
def _interpolate(
    input: Tensor,
    size: List[int] | None = None,
    scale_factor: List[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    corners = align_corners is not None and align_corners
    if antialias or (recompute_scale_factor is not None and recompute_scale_factor):
        raise NotImplementedError("interpolate: antialias and recompute_scale_factor cannot be "
                                  "used in an archive")  # fmt: skip
    if mode == "nearest":
        if input.dim() == 3:
            return aten.upsample_nearest1d(input, size, scale_factor)
        if input.dim() == 4:
            return aten.upsample_nearest2d(input, size, scale_factor)
        return aten.upsample_nearest3d(input, size, scale_factor)
    if mode == "linear":
        return aten.upsample_linear1d(input, size, corners, scale_factor)
    if mode == "bilinear":
        return aten.upsample_bilinear2d(input, size, corners, scale_factor)
    if mode == "bicubic":
        return aten.upsample_bicubic2d(input, size, corners, scale_factor)
    if mode == "trilinear":
        return aten.upsample_trilinear3d(input, size, corners, scale_factor)
    if mode == "area":
        return _by_area(input, size, scale_factor)
    raise NotImplementedError("interpolate: this mode cannot be used in an archive")


@_form
def _upsample(
    input: Tensor,
    size: List[int] | None = None,
    scale_factor: List[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    return F.interpolate(input, size, scale_factor, mode, align_corners)


@_form
def _upsample_nearest(
    input: Tensor, size: List[int] | None = None, scale_factor: List[float] | None = None
) -> Tensor:
    return F.interpolate(input, size, scale_factor, "nearest")


@_form
def _upsample_bilinear(
    input: Tensor, size: List[int] | None = None, scale_factor: List[float] | None = None
) -> Tensor:
    return F.interpolate(input, size, scale_factor, "bilinear", True)

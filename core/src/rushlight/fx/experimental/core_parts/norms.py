"""Norms of rows, channels and batches, as core ATen graphs have them."""

from __future__ import annotations

from rushlight.dtypes import finfo, float32
from rushlight.fx.experimental.core_parts.exact_calls import exact
from rushlight.fx.experimental.core_parts.numbers import shifted, widened
from rushlight.library.operators import lookup


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05, cudnn_enable=True):
    """The first result of the native op, which gives mean and deviation too."""
    native = lookup("aten").native_layer_norm.default
    return native(input, normalized_shape, weight, bias, eps)[0]


def _batch_norm(input, weight, bias, running_mean, running_var, training, *factors):
    aten, (momentum, eps, *_) = lookup("aten"), factors
    if not training:
        native = aten._native_batch_norm_legit_no_training.default
        return native(input, weight, bias, running_mean, running_var, momentum, eps)[0]
    if running_mean is not None:
        return NotImplemented
    return exact(aten._native_batch_norm_legit.no_stats, input, weight, bias, True, momentum, eps)[
        0
    ]


def _instance_norm(input, *given):
    *vectors, use_input_stats, momentum, eps, _ = given  # weight, bias, running mean and variance
    if use_input_stats and vectors[-1] is not None:
        return NotImplemented
    batch, channels, *sizes = input.shape
    vectors = [None if each is None else each.repeat(batch) for each in vectors]
    rows = input.reshape(1, batch * channels, *sizes)
    return _batch_norm(rows, *vectors, use_input_stats, momentum, eps).reshape(*input.shape)


@widened
def _rms_norm(input, normalized_shape, weight=None, eps=None):
    ndim = input.dim()
    if eps is None:
        eps = finfo(input.dtype if input.dtype.is_floating_point else float32).eps
    dims = list(range(ndim - len(normalized_shape), ndim))
    out = input * shifted((input**2).mean(dims, keepdim=True), eps).rsqrt()
    return out if weight is None else out * weight


def parts() -> dict:
    """Overloads -> their parts."""
    aten = lookup("aten")
    return {
        aten.layer_norm.default: layer_norm,
        aten.batch_norm.default: _batch_norm,
        aten.instance_norm.default: _instance_norm,
        aten.rms_norm.default: _rms_norm,
    }

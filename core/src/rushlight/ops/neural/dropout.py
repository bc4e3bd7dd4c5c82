"""Dropout in its forms. (Srivastava et al., 2014.)"""

from __future__ import annotations

import importlib
import math

from rushlight import devices
from rushlight.dtypes import bool_ as bool_dtype
from rushlight.dtypes import float32
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.aten import in_aten
from rushlight.ops._table.op import op
from rushlight.ops.creation.tensors import empty
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.random import compiled_sampling as drawing
from rushlight.ops.random.generators import default_generator, generator_of
from rushlight.tensor.dispatch import stack
from rushlight.tensor.memory_format import iterated
from rushlight.tensor.overriding import by_override, overridable
from rushlight.tensor.tensor import EXACT, Tensor


def _check(p):
    if not 0.0 <= p <= 1.0:
        kind = RuntimeError if math.isnan(p) else ValueError  # as the layers in PyTorch do
        raise kind(f"dropout probability has to be between 0 and 1, but got {p}")


def _noise(input, shape, p):
    """Kept elements as 1 / (1 - p), dropped ones as 0; drawn as PyTorch draws them: in the order
    of the input's memory, which a transposed input shows."""
    if p == 1:
        return empty(shape, dtype=input.dtype, device=input.device).zero_()
    if input._dtype is float32 and not stack.levels and input._device is devices.cpu:
        if tuple(input.shape) != shape or input._array.flags.c_contiguous:
            noise = drawing.kept(shape, p)
            if noise is not None:
                return noise
    if input.is_contiguous() or tuple(input.shape) != shape:
        return _drawn(input, shape, p)
    order = iterated(shape, (input.stride(),))
    noise = _drawn(input, tuple(shape[d] for d in order), p)
    return noise.permute([order.index(d) for d in range(len(shape))])


@op(
    method=False,
    samples=lambda make: [],
    tested_by="tests/cuda/test_tensors.py",
    meta=lambda input, p: [(input.shape, dtype_of(input)), (input.shape, bool_dtype)],
)
def _dropped(input: Tensor, p):
    """Dropout and its mask in one: on GPUs, by one kernel. (On the CPU, numbers are drawn in the
    order of memory, and the noise is multiplied in.)"""
    engine = default_generator.engine
    with engine.lock:
        kept = engine.bernoulli(input.size, 1 - p).reshape(input.shape).astype(bool)
    return [np.where(kept, input / input.dtype.type(1 - p), input.dtype.type(0)), kept]


def _dropped_on_gpu(input, p):
    kernels = importlib.import_module("rushlight.kernels.random.cuda")
    state = generator_of(input.home).engine.state()
    return kernels.dropout_forward(input, p, state)


_dropped.cuda(_dropped_on_gpu)
_dropped.gradient(input=lambda grad, p, out1: where(out1, grad * (1 / (1 - p)), 0.0))


def _apply(input, shape, p, training, inplace):
    _check(p)
    if not training or p == 0 or not input.numel():
        return input
    plain = input.is_cuda and tuple(input.shape) == shape and not stack.levels
    if plain and p != 1 and not inplace and input.is_floating_point():
        return _dropped(input, p)[0]
    noise = _noise(input, shape, p)
    return input.mul_(noise) if inplace else input * noise


def _drawn(input, shape, p):
    return _kept(input, shape, p).div_(1 - p)


def _kept(input, shape, p):
    """1 with probability ``1 - p``, else 0; inside of `vmap` each example has its own."""
    if stack.levels:
        batching = importlib.import_module("rushlight.ops._transforms.batching_random")
        return batching.kept(shape, 1 - p, input.dtype, input.device)
    return empty(shape, dtype=input.dtype, device=input.device).bernoulli_(1 - p)


def _form(name, trains):
    """ATen's form of a dropout: `train` has no default there, and in place is a name of its own."""

    def call(input, p=0.5, training=trains, inplace=False):
        own = "self" if inplace else "input"
        return name + "_" * inplace, {own: input, "p": p, "train": training}

    return call


@in_aten(
    "dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
    call=_form("dropout", True),
)
def dropout(input, p=0.5, training=True, inplace=False):
    """In training each element is zeroed with probability `p`, the others divided by ``1 - p``."""
    if type(input) not in EXACT:
        found = by_override(dropout, locals())
        if found is not NotImplemented:
            return found
        if input.is_nested:
            return input.with_elements(dropout(input._elements, p, training, inplace))
    return _apply(input, tuple(input.shape), p, training, inplace)


def _channel_shape(input):
    return (*input.shape[:2], *(1,) * (input.dim() - 2))


def _channels(input, p, training, inplace):
    return _apply(input, _channel_shape(input), p, training, inplace)


@in_aten(
    "feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
    call=_form("feature_dropout", True),
)
def dropout1d(input, p=0.5, training=True, inplace=False):
    """:func:`dropout` of whole channels of (N, C, L) or (C, L)."""
    if type(input) not in EXACT:
        found = by_override(dropout1d, locals())
        if found is not NotImplemented:
            return found
    if input.dim() == 2:
        out = _channels(input.unsqueeze(0), p, training, inplace)
        return input if inplace else out.squeeze(0)
    return _channels(input, p, training, inplace)


@in_aten(call=_form("feature_dropout", True))
def dropout2d(input, p=0.5, training=True, inplace=False):
    """:func:`dropout` of whole channels of (N, C, H, W)."""
    if type(input) not in EXACT:
        found = by_override(dropout2d, locals())
        if found is not NotImplemented:
            return found
    return _channels(input, p, training, inplace)


@in_aten(call=_form("feature_dropout", True))
def dropout3d(input, p=0.5, training=True, inplace=False):
    """:func:`dropout` of whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    if type(input) not in EXACT:
        found = by_override(dropout3d, locals())
        if found is not NotImplemented:
            return found
    if input.dim() != 5:
        out = _channels(input.unsqueeze(0), p, training, inplace)
        return input if inplace else out.squeeze(0)
    return _channels(input, p, training, inplace)


_ALPHA = 1.7580993408473766


@in_aten(
    "alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
    call=_form("alpha_dropout", False),
)
@overridable
def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps mean and variance of self-normalising networks."""
    return _alpha(input, tuple(input.shape), p, training, inplace)


@in_aten(
    "feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
    call=_form("feature_alpha_dropout", False),
)
@overridable
def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """:func:`alpha_dropout` of whole channels of (N, C, ...)."""
    if training and p and input.dim() < 2:
        raise RuntimeError(
            "feature_alpha_dropout: Feature dropout requires at least 2 dimensions in the input, "
            f"got shape {list(input.shape)}"
        )
    return _alpha(input, _channel_shape(input), p, training, inplace)


def _alpha(input, shape, p, training, inplace):
    _check(p)
    if not training or p == 0 or not input.numel():
        return input
    if p == 1:
        return input.mul_(0) if inplace else input * 0
    a = (1.0 / ((1 - p) * (1 + p * _ALPHA**2))) ** 0.5
    kept = _kept(input, shape, p)
    shift = (kept - 1) * (_ALPHA * a) + (_ALPHA * a * p)
    if inplace:
        return input.mul_(kept * a).add_(shift)
    return input * (kept * a) + shift

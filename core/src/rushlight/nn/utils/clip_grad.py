"""Clipping of gradients by norm or by value."""

from __future__ import annotations

import importlib
import math
import types
import warnings

from rushlight.autograd.mode import no_grad
from rushlight.ops.creation.tensors import tensor
from rushlight.ops.shape.joining import stack
from rushlight.tensor.tensor import Tensor


def _grads(parameters):
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p.grad for p in parameters if p.grad is not None]


def _lists():
    """Ops over lists of tensors; loaded at first use."""
    return importlib.import_module("rushlight.ops.foreach.steps")


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None) -> Tensor:
    """The norm of all elements of several tensors together."""
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not tensors:
        return tensor(0.0)
    with no_grad():
        if norm_type > 0 and _lists().on_one_gpu(tensors):
            total = _lists().total_norm(tensors, norm_type)
        else:
            total = stack([t.norm(norm_type) for t in tensors]).norm(norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scale gradients in place so that a known total norm becomes at most `max_norm`."""
    grads = _grads(parameters)
    if grads and _lists().on_one_gpu([total_norm, *grads]):
        _lists().clip_(grads, total_norm, float(max_norm))
        return
    with no_grad():
        scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for grad in grads:
            grad.mul_(scale.to(grad.dtype))


def clip_grad_norm_(
    parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None
) -> Tensor:
    """Scale all gradients in place so that their total norm is at most `max_norm`; returns what
    the norm was."""
    used_up = isinstance(parameters, types.GeneratorType)
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    if used_up and not parameters:
        warnings.warn(
            "clip_grad_norm_(): `parameters` is a generator that gives nothing (used up?), no "
            "gradient is clipped",
            stacklevel=2,
        )
    total = get_total_norm(_grads(parameters), float(norm_type), error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Limit every gradient element to ``[-clip_value, clip_value]``, in place."""
    with no_grad():
        for grad in _grads(parameters):
            grad.clamp_(min=-float(clip_value), max=float(clip_value))


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The old name of :func:`clip_grad_norm_`."""
    warnings.warn(
        "`nn.utils.clip_grad_norm` is now deprecated in favor of `nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)

"""Softmax, its logarithm, and the logarithm of sums of exponentials."""

from __future__ import annotations

import math

from rushlight.autograd.mode import mode
from rushlight.dtypes import FLOAT, default
from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.copying.conversion import rounded_once
from rushlight.kernels.launch.prepared import by_layout, of_copies
from rushlight.kernels.reduction import folds
from rushlight.kernels.reduction import softmax as kernels
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.aten import along
from rushlight.ops._table.op import composite, op
from rushlight.ops._table.rules import real_floating_only
from rushlight.ops._table.shape_rules import checked, in_range, like, reduced_shape
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.reduction.sums_and_extremes import _wide, restore
from rushlight.tensor.shape import wrap_dims
from rushlight.tensor.tensor import Tensor


def _samples(make):
    return [
        ((make(3, 4), 1), {}),
        ((make(2, 3, 4), 1), {}),
        ((make(2, 3), 0), {}),
        ((make(), 0), {}),
    ]


@op(
    schemas=("_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",),
    aten_call=lambda input, dim: ("_softmax", {"self": input, "dim": dim, "half_to_float": False}),
    batching="dims",
    rule=real_floating_only,
    samples=_samples,
    meta=checked(in_range, like),
    autocast_on_gpu="float32",
)
def _softmax(input: Tensor, dim):
    """``exp(input) / sum(exp(input))`` along `dim`."""
    return kernels.softmax_forward(input, dim)


@op(
    schemas=("_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",),
    aten_call=lambda input, dim: (
        "_log_softmax",
        {"self": input, "dim": dim, "half_to_float": False},
    ),
    batching="dims",
    rule=real_floating_only,
    samples=_samples,
    meta=checked(in_range, like),
    autocast_on_gpu="float32",
)
def _log_softmax(input: Tensor, dim):
    """``log(softmax(input))`` along `dim`."""
    return kernels.log_softmax_forward(input, dim)


@op(
    batching="dims",
    meta=like,
    method=False,
    differentiable=False,
    tested_by="_softmax",
    samples=lambda make: [],
)
def _softmax_backward(grad: Tensor, out: Tensor, dim):
    """The gradient of softmax by one kernel."""
    return kernels.softmax_backward(grad, out, dim)


@op(
    batching="dims",
    meta=like,
    method=False,
    differentiable=False,
    tested_by="_log_softmax",
    samples=lambda make: [],
)
def _log_softmax_backward(grad: Tensor, out: Tensor, dim):
    """The gradient of log-softmax by one kernel."""
    return kernels.log_softmax_backward(grad, out, dim)


def _softmax_gradient(grad, out, dim):
    if mode.recording:
        return out * (grad - _sum(grad * out, dim))
    return _softmax_backward(grad, out, dim)


def _log_softmax_gradient(grad, out, dim):
    if mode.recording:
        return grad - out.exp() * _sum(grad, dim)
    return _log_softmax_backward(grad, out, dim)


def _sum(tensor, dim):
    return tensor.sum(dim, True)


_softmax.cpu(by_layout(of_copies(kernels.prepare_softmax), _softmax.op.body))
_log_softmax.cpu(by_layout(of_copies(kernels.prepare_log_softmax), _log_softmax.op.body))
_softmax.gradient(input=_softmax_gradient)
_log_softmax.gradient(input=_log_softmax_gradient)


def _default_dim(name, ndim):
    import warnings

    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        stacklevel=5,
    )
    return 0 if ndim in (0, 1, 3) else 1


@composite(
    schemas=("softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",),
    aten_call=along("softmax"),
    samples=[(1,), (0,)],
    aten="int int_out",
)
def softmax(input: Tensor, dim=None, _stacklevel=3, dtype=None):
    """``exp(input) / sum(exp(input))`` along `dim`: positive numbers that sum to one.

    >>> rushlight.softmax(rushlight.zeros(4), 0)
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    if not isinstance(_stacklevel, int):
        _stacklevel, dtype = (
            3,
            _stacklevel,
        )  # softmax(input, dim, dtype), the tensor function's form
    dim = _default_dim("softmax", input.dim()) if dim is None else dim
    return _softmax(input if dtype is None else input.to(dtype=dtype), dim)


@composite(
    schemas=("log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",),
    aten_call=along("log_softmax"),
    samples=[(1,), (0,)],
    aten="int int_out",
)
def log_softmax(input: Tensor, dim=None, _stacklevel=3, dtype=None):
    """``log(softmax(input))`` along `dim`, without overflow."""
    if not isinstance(_stacklevel, int):
        _stacklevel, dtype = 3, _stacklevel
    dim = _default_dim("log_softmax", input.dim()) if dim is None else dim
    return _log_softmax(input if dtype is None else input.to(dtype=dtype), dim)


@composite(in_aten=False, method=False, samples=[(1,), (0,)])
def softmin(input: Tensor, dim=None, _stacklevel=3, dtype=None):
    """``softmax(-input)``."""
    return softmax(-input, dim, dtype=dtype)


# ------------------------------------------------------------------- sums of exponentials
@op(
    node="Logsumexp",
    batching="dims",
    method=False,
    tested_by="logsumexp",
    samples=lambda make: [((make(3, 4), 1, False), {}), ((make(2, 3, 2), (0, 1), True), {})],
    meta=lambda input, dim, keepdim: (reduced_shape(input.shape, dim, keepdim), dtype_of(input)),
    limited="unsigned",
    saves="dim[] keepdim result self",
)
def _log_sum_exp(input: Tensor, dim, keepdim):
    """``log(sum(exp(input), dim))`` of real floating-point numbers."""
    axes = wrap_dims(dim, input.ndim)
    wide = _wide(input)
    with np.errstate(all="ignore"):
        top = wide.max(axis=axes, keepdims=True)
        top = np.where(np.isfinite(top), top, wide.dtype.type(0))
        total = np.exp(wide - top).sum(axis=axes, keepdims=keepdim, dtype=np.float64)
        out = np.log(total) + top.reshape(total.shape)
    return by_rows(np.asarray(out, input.dtype))


def _log_sum_exp_gradient(grad, input, out, dim, keepdim):
    shape = tuple(input.shape)
    grad, out = restore(grad, shape, dim, keepdim), restore(out, shape, dim, keepdim)
    return grad * (input - where(out == -math.inf, 0.0, out)).exp()


def _prepared_log_sum_exp(input, dim, keepdim):
    return folds.folded(folds.LOG_OF_SUM, input, wrap_dims(dim, input.ndim), keepdim)


_log_sum_exp.cpu(rounded_once(of_copies(_prepared_log_sum_exp), _log_sum_exp.op.body))
_log_sum_exp.gradient(input=_log_sum_exp_gradient)


@composite(
    schemas=("logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",),
    samples=[(1,), ((0, 1), True)],
    autocast_on_gpu="float32",
)
def logsumexp(input: Tensor, dim, keepdim=False):
    """``log(sum(exp(input), dim))`` without overflow."""
    if input._dtype.category < FLOAT:
        input = input.to(default.float)
    if input._dtype.category == FLOAT and input.numel():
        return _log_sum_exp(input, dim, keepdim)
    if not input.numel():  # no largest element: the logarithm of an empty sum
        return input.exp().sum(dim, keepdim).log()
    top = (input.real if input.is_complex() else input).detach().amax(dim, True)
    top = where(top.isfinite(), top, 0.0)
    out = (input - top).exp().sum(dim, True).log() + top
    return out if keepdim else out.squeeze(dim if isinstance(dim, tuple) else dim)

"""Softmax and its logarithm."""

from __future__ import annotations

from rushlight.autograd.mode import mode
from rushlight.backends.arrays import dtype_of
from rushlight.kernels import softmax as kernels
from rushlight.kernels.prepared import by_layout, of_copies
from rushlight.ops._op import composite, op
from rushlight.ops._rules import real_floating_only
from rushlight.ops._shape_rules import like
from rushlight.tensor.tensor import Tensor


def _samples(make):
    return [
        ((make(3, 4), 1), {}),
        ((make(2, 3, 4), 1), {}),
        ((make(2, 3), 0), {}),
        ((make(), 0), {}),
    ]


@op(
    batching="dims", rule=real_floating_only, samples=_samples, meta=lambda input, dim: _like(input)
)
def _softmax(input: Tensor, dim):
    """``exp(input) / sum(exp(input))`` along `dim`."""
    return kernels.softmax_forward(input, dim)


@op(
    batching="dims", rule=real_floating_only, samples=_samples, meta=lambda input, dim: _like(input)
)
def _log_softmax(input: Tensor, dim):
    """``log(softmax(input))`` along `dim`."""
    return kernels.log_softmax_forward(input, dim)


def _like(array):
    return array.shape, dtype_of(array)


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


@composite(samples=[(1,), (0,)])
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
    return _softmax(input if dtype is None else input.to(dtype), dim)


@composite(samples=[(1,), (0,)])
def log_softmax(input: Tensor, dim=None, _stacklevel=3, dtype=None):
    """``log(softmax(input))`` along `dim`, without overflow."""
    if not isinstance(_stacklevel, int):
        _stacklevel, dtype = 3, _stacklevel
    dim = _default_dim("log_softmax", input.dim()) if dim is None else dim
    return _log_softmax(input if dtype is None else input.to(dtype), dim)


@composite(method=False, samples=[(1,), (0,)])
def softmin(input: Tensor, dim=None, _stacklevel=3, dtype=None):
    """``softmax(-input)``."""
    return softmax(-input, dim, dtype=dtype)

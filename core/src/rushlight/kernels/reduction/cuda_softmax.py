"""Softmax and log-softmax over any dim, forward and backward: one launch each."""

from __future__ import annotations

from rushlight.kernels.launch.cuda import empty, grid_of, launch, outer_inner, row_shape
from rushlight.machine import np
from rushlight.machine.cuda import sources

__all__ = ["log_softmax_backward", "log_softmax_forward", "softmax_backward", "softmax_forward"]


def _run(name, arrays, dim, logarithmic):
    first = arrays[0]
    out = empty(first.shape, first.dtype, first.device)
    if not out.size:
        return out
    outer, n, inner = outer_inner(first.shape, dim)
    addresses = (*[array.address for array in arrays], out.address)
    if inner == 1:
        kernel = sources.kernel("softmax", name.replace("*", "rows"), T=first.dtype)
        grid, block = row_shape(outer, n, first.itemsize)
        launch(kernel, grid, block, (*addresses, outer, n, np.int32(logarithmic)), first.device)
    else:
        kernel = sources.kernel("softmax", name.replace("*", "columns"), T=first.dtype)
        grid = grid_of(outer * inner, first.device)
        arguments = (*addresses, outer, n, inner, np.int32(logarithmic))
        launch(kernel, grid, 256, arguments, first.device)
    return out


def softmax_forward(x, dim):
    """``exp(x) / sum(exp(x))`` along ``dim``, of the same shape and dtype."""
    return _run("softmax_*", (x.contiguous(),), dim, False)


def log_softmax_forward(x, dim):
    """The logarithm of :func:`softmax_forward`."""
    return _run("softmax_*", (x.contiguous(),), dim, True)


def softmax_backward(grad, out, dim):
    """Gradient with respect to the input of softmax, from its result ``out``."""
    return _run("softmax_*_backward", (grad.contiguous(), out.contiguous()), dim, False)


def log_softmax_backward(grad, out, dim):
    """Gradient with respect to the input of log-softmax, from its result ``out``."""
    return _run("softmax_*_backward", (grad.contiguous(), out.contiguous()), dim, True)

"""Convolutions by cuDNN where the runtime has it; channels-last memory stays so."""

from __future__ import annotations

from rushlight.backends import cudnn
from rushlight.kernels.launch.cuda import empty
from rushlight.machine import determinism
from rushlight.machine.cuda import runtime
from rushlight.machine.cuda.runtime.cudnn_graphs import Convolution, Matter

__all__ = ["convolved"]


def _is_channels_last(array):
    order = (0, *range(2, array.ndim), 1)
    return not array.flags.c_contiguous and array.transpose(order).flags.c_contiguous


def _dense(array):
    return array if _is_channels_last(array) else array.contiguous()


def _result(shape, like, channels_last):
    if not channels_last:
        return empty(shape, like.dtype, like.device)
    made = empty((shape[0], *shape[2:], shape[1]), like.dtype, like.device)
    return made.transpose((0, len(shape) - 1, *range(1, len(shape) - 1)))


def convolved(kind, first, second, shape, stride, padding, dilation):
    """The result of one convolution (see :class:`Convolution`) of a shape; None where cuDNN is
    absent, switched off, or does not have it."""
    current = runtime.current()
    if not cudnn.enabled or not current.has_cudnn() or 0 in shape or not first.size:
        return None
    first, second = _dense(first), _dense(second.astype(first.dtype, copy=False))
    out = _result(tuple(shape), first, _is_channels_last(first))
    asked = Convolution(
        kind, first.dtype, Matter.of(first), Matter.of(second), Matter.of(out), tuple(stride),
        tuple(padding), tuple(dilation), bool(cudnn.allow_tf32),
        bool(cudnn.deterministic or determinism.asked[0]),
    )  # fmt: skip
    places = (first.address, second.address, out.address)
    return out if current.run_cudnn(asked, places, runtime.streams.current(first.device)) else None

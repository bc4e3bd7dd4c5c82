"""Random fills and dropout by Philox 4x32-10, counted as PyTorch counts on CUDA.

A generator's state is a device array of two uint64, seed and offset, which a launch moves on after
numbers were drawn: nothing waits, and every replay of a graph draws new ones.
"""

from __future__ import annotations

import ctypes

from rushlight.kernels.launch.cuda import empty, launch
from rushlight.machine import np
from rushlight.machine.cuda import runtime, sources

__all__ = [
    "bernoulli_",
    "dropout_backward",
    "dropout_forward",
    "exponential_",
    "integers_",
    "normal_",
    "reserved",
    "uniform_",
]

THREADS = 256
_FLOAT32, _INT64 = np.dtype(np.float32), np.dtype(np.int64)
_BYTE = np.dtype(np.uint8)


class _Beginning(ctypes.Structure):
    _fields_ = (("state", ctypes.c_void_p),)


def reserved(state, count):
    """A copy of a state (device array of seed and offset), which moves on by `count` outputs a
    thread: what draws from the copy, again if need be, draws numbers of its own."""
    copy = state.copy()
    _advance(state, count)
    return copy


def _advance(state, count):
    """Move a state on by `count` outputs a thread; a multiple of four is taken."""
    kernel = sources.kernel("random", "advance_state", T=_FLOAT32)
    launch(kernel, 1, 32, (state.address, -(-count // 4) * 4), state.device)


def _fill(name, out, state, numbers, together=4):
    """Launch a fill: the grid that PyTorch takes, on which the order of the numbers depends."""
    n = out.size
    if not n:
        return out
    dense = out if out.flags.c_contiguous else empty(out.shape, out.dtype, out.device)
    properties = runtime.current().properties(out.device)
    most = properties.multi_processor_count * (
        properties.max_threads_per_multi_processor // THREADS
    )
    grid = min(-(-n // THREADS), most)
    rounds = (n - 1) // (THREADS * grid * together) + 1
    kernel = sources.kernel("random", name, T=out.dtype)
    arguments = (dense.address, n, _Beginning(state.address), *numbers)
    launch(kernel, grid, THREADS, arguments, out.device)
    _advance(state, rounds * 4)
    if dense is not out:
        out[...] = dense
    return out


def _together(out):
    return 2 if out.dtype.itemsize == 8 else 4


def uniform_(out, low, high, state):
    """Fill with uniform numbers of [low, high)."""
    return _fill("fill_uniform", out, state, (np.float64(low), np.float64(high)), _together(out))


def normal_(out, mean, std, state):
    """Fill with normal numbers (Box-Muller)."""
    return _fill("fill_normal", out, state, (np.float64(mean), np.float64(std)), _together(out))


def exponential_(out, rate, state):
    """Fill with exponential numbers."""
    return _fill("fill_exponential", out, state, (np.float64(rate),), _together(out))


def bernoulli_(out, p, state):
    """Fill with ones of probability `p`, else zeros."""
    return _fill("fill_bernoulli", out, state, (np.float64(p),), _together(out))


def integers_(out, low, high, state):
    """Fill with integers of low..high-1, also in floating-point arrays."""
    span = high - low
    numbers = (np.int64(low), np.uint64(0 if span == 1 << 64 else span))
    return _fill("fill_integers", out, state, numbers, 2 if span >> 32 else 4)


def _dropout_vector(x, out):
    if x.address % (4 * x.itemsize) or out.address % (4 * x.itemsize):
        return 1
    return 4 if x.size % 4 == 0 else 2 if x.size % 2 == 0 else 1


def dropout_forward(input, p, state):
    """(out, mask): elements are zeroed with probability `p`, the others divided by 1 - p. The
    mask, of the input's shape, is bool."""
    x = input.contiguous()
    out = empty(x.shape, x.dtype, x.device)
    mask = empty(x.shape, np.dtype(np.bool_), x.device)
    if not x.size:
        return out, mask
    together = _dropout_vector(x, out)
    properties = runtime.current().properties(x.device)
    most = properties.multi_processor_count * (
        properties.max_threads_per_multi_processor // THREADS
    )
    grid = min(-(-x.size // (THREADS * together)), most)
    rounds = (x.size - 1) // (THREADS * grid * 4) + 1
    kernel = sources.kernel("random", "dropout", T=x.dtype)
    arguments = (x.address, out.address, mask.address, x.size, _Beginning(state.address),
                 np.float64(1.0 - p), np.int32(together))  # fmt: skip
    launch(kernel, grid, THREADS, arguments, x.device)
    _advance(state, rounds * 4)
    return out, mask


def dropout_backward(grad, mask, scale):
    """``grad * mask * scale``."""
    grad, mask = grad.contiguous(), mask.contiguous()
    out = empty(grad.shape, grad.dtype, grad.device)
    if out.size:
        kernel = sources.kernel("random", "dropout_backward", T=grad.dtype)
        arguments = (grad.address, mask.address, out.address, out.size, np.float64(scale))
        launch(kernel, min(-(-out.size // THREADS), 65535), THREADS, arguments, grad.device)
    return out

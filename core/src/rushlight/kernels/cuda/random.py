"""Random fills and dropout by Philox 4x32-10, counted as PyTorch counts on CUDA.

A :class:`Philox` is a generator's state: a seed and an offset on the host. In a graph its offset
counts from a state in device memory, which each replay moves on; nothing waits. Wherever one is
taken, a device array of two uint64, seed and offset, serves too: then a launch moves it on.
"""

from __future__ import annotations

import ctypes

from rushlight.backends import np
from rushlight.backends.cuda import runtime, sources

from .launching import DeviceArray, empty, launch

__all__ = [
    "Philox",
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
    _fields_ = (
        ("seed", ctypes.c_ulonglong),
        ("offset", ctypes.c_ulonglong),
        ("state", ctypes.c_void_p),
    )


class Philox:
    """The state of a device's generator."""

    def __init__(self, device: int = 0, seed: int = 67280421310721):
        self.device, self.seed, self.offset = device, seed, 0
        self._graph, self._inside = None, 0

    def manual_seed(self, seed: int) -> None:
        """Start again from a seed."""
        self.seed, self.offset = seed & (1 << 64) - 1, 0

    def reserve(self, count: int) -> _Beginning:
        """Where the next `count` outputs of each thread begin; a multiple of four is taken."""
        count = -(-count // 4) * 4
        if self._graph is None:
            before, self.offset = self.offset, self.offset + count
            return _Beginning(self.seed, before, None)
        before, self._inside = self._inside, self._inside + count
        return _Beginning(0, before, self._graph.address)

    def begin_capture(self) -> None:
        """From now on offsets count from a state in device memory."""
        self._graph, self._inside = empty((2,), _INT64, self.device), 0

    def end_capture(self):
        """The state in device memory (to be kept by the graph) and how far a replay moves on."""
        state, count = self._graph, self._inside
        self._graph = None
        return state, count

    def before_replay(self, state, count: int) -> None:
        """Set a graph's state to where this generator is, and move on by what a replay takes."""
        kernel = sources.kernel("random", "set_state", T=_FLOAT32)
        arguments = (state.address, np.uint64(self.seed), np.uint64(self.offset))
        launch(kernel, 1, 32, arguments, self.device)
        self.offset += count


def _reserve(philox, count):
    """Where `count` outputs of each thread begin, and what is left to do after the launch."""
    if not isinstance(philox, DeviceArray):
        return philox.reserve(count), None
    kernel = sources.kernel("random", "advance_state", T=_FLOAT32)
    arguments = (philox.address, -(-count // 4) * 4)
    return _Beginning(0, 0, philox.address), (kernel, 1, 32, arguments, philox.device)


def reserved(state, count):
    """A copy of a state (device array of seed and offset), which moves on by `count` outputs a
    thread: what draws from the copy, again if need be, draws numbers of its own."""
    copy = state.copy()
    kernel = sources.kernel("random", "advance_state", T=_FLOAT32)
    launch(kernel, 1, 32, (state.address, -(-count // 4) * 4), state.device)
    return copy


def _fill(name, out, philox, numbers, together=4):
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
    beginning, after = _reserve(philox, rounds * 4)
    launch(kernel, grid, THREADS, (dense.address, n, beginning, *numbers), out.device)
    if after:
        launch(*after)
    if dense is not out:
        out[...] = dense
    return out


def _together(out):
    return 2 if out.dtype.itemsize == 8 else 4


def uniform_(out, low, high, philox):
    """Fill with uniform numbers of [low, high)."""
    return _fill("fill_uniform", out, philox, (np.float64(low), np.float64(high)), _together(out))


def normal_(out, mean, std, philox):
    """Fill with normal numbers (Box-Muller)."""
    return _fill("fill_normal", out, philox, (np.float64(mean), np.float64(std)), _together(out))


def exponential_(out, rate, philox):
    """Fill with exponential numbers."""
    return _fill("fill_exponential", out, philox, (np.float64(rate),), _together(out))


def bernoulli_(out, p, philox):
    """Fill with ones of probability `p`, else zeros."""
    return _fill("fill_bernoulli", out, philox, (np.float64(p),), _together(out))


def integers_(out, low, high, philox):
    """Fill with integers of low..high-1, also in floating-point arrays."""
    span = high - low
    numbers = (np.int64(low), np.uint64(0 if span == 1 << 64 else span))
    return _fill("fill_integers", out, philox, numbers, 2 if span >> 32 else 4)


def _dropout_vector(x, out):
    if x.address % (4 * x.itemsize) or out.address % (4 * x.itemsize):
        return 1
    return 4 if x.size % 4 == 0 else 2 if x.size % 2 == 0 else 1


def dropout_forward(input, p, philox):
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
    beginning, after = _reserve(philox, rounds * 4)
    arguments = (x.address, out.address, mask.address, x.size, beginning, np.float64(1.0 - p),
                 np.int32(together))  # fmt: skip
    launch(kernel, grid, THREADS, arguments, x.device)
    if after:
        launch(*after)
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

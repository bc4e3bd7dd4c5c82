"""The recursions of :mod:`rushlight.kernels.signal.recursion` on GPUs."""

from __future__ import annotations

from rushlight.kernels.launch.cuda import empty, launch
from rushlight.machine import np
from rushlight.machine.cuda import sources

__all__ = ["fed_back", "filtered"]

PIECE = 32  # samples of a thread at least
THREADS = 128
_FLOAT64, _INT64 = np.dtype(np.float64), np.dtype(np.int64)


def filtered(x, a, b):
    """A block for each signal (N, C, T), whose pieces are filtered from rest and then from the
    states in which the ones before leave them."""
    dtype, device, (rows, channels, length) = x.dtype, x.device, x.shape
    x, a, b = (each.astype(dtype, copy=False).contiguous() for each in (x, a, b))
    out = empty(x.shape, dtype, device)
    if not out.size:
        return out
    order, taps = a.shape[1] - 1, b.shape[1]
    piece = max(PIECE, -(-length // THREADS))
    threads = -(-length // piece)
    room = length + (threads + 1) * order + 2 * order * order
    room = empty((rows * channels * room,), _FLOAT64, device)
    arguments = (x.address, a.address, b.address, out.address, room.address, channels, length,
                 order, taps, piece)  # fmt: skip
    kernel = sources.kernel("recursion", "filter_signals", T=dtype)
    launch(kernel, rows * channels, threads, arguments, device)
    return out


def fed_back(x, gains, delays, backward):
    """A block for each signal (N, C, T), or a thread where the recursion is transposed."""
    dtype, device, (rows, channels, length) = x.dtype, x.device, x.shape
    x, gains = (each.astype(dtype, copy=False).contiguous() for each in (x, gains))
    delays = delays.astype(_INT64, copy=False).contiguous()
    out = empty(x.shape, dtype, device)
    if not out.size:
        return out
    items, sizes = rows * channels, (channels, length, gains.shape[2])
    room = empty((items * length,), _FLOAT64, device)
    arrays = (x.address, gains.address, delays.address, out.address, room.address)
    if backward:
        kernel = sources.kernel("recursion", "feed_backwards", T=dtype)
        launch(kernel, -(-items // THREADS), THREADS, (*arrays, items, *sizes), device)
    else:
        kernel = sources.kernel("recursion", "feed_back", T=dtype)
        launch(kernel, items, THREADS, (*arrays, *sizes), device)
    return out

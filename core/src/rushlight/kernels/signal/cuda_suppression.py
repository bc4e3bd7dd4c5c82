"""The suppression of :mod:`rushlight.kernels.signal.suppression` on GPUs."""

from __future__ import annotations

from rushlight.kernels.launch.cuda import empty, launch
from rushlight.kernels.launch.execution import compute_dtype
from rushlight.kernels.signal.suppression import limit_of
from rushlight.machine import np
from rushlight.machine.cuda import sources

__all__ = ["suppressed"]

TILE = 64  # boxes whose bits are a word
THREADS = 256
MOST_WORDS = 4096  # blocks along a row of words
BAND = 1 << 23  # words of a band's bits: 64 MB, boxes with a hundred thousand later ones in tens
_BOOL, _INT64 = np.dtype(bool), np.dtype(np.int64)


def suppressed(boxes, groups, threshold):
    """The bits of a band of boxes, then one block decides it; no step waits for the host."""
    dtype, device, count = boxes.dtype, boxes.device, boxes.shape[0]
    boxes, groups = boxes.contiguous(), groups.astype(_INT64, copy=False).contiguous()
    stays = empty((count,), _BOOL, device)
    if not count:
        return stays
    words = -(-count // TILE)
    band = min(max(BAND // words // TILE, 1), words) * TILE
    bits, gone = empty((band, words), _INT64, device), empty((words,), _INT64, device)
    gone.fill(0)
    most = np.float64(limit_of(threshold, compute_dtype(dtype)))
    compare = sources.kernel("suppression", "overlap_bits", T=dtype)
    decide = sources.kernel("suppression", "decide", T=dtype)
    for first in range(0, count, band):
        last = min(first + band, count)
        grid = min(words - first // TILE, MOST_WORDS), -(-(last - first) // TILE), 1
        pairs = boxes.address, groups.address, bits.address, count, first, words, most
        launch(compare, grid, TILE, pairs, device)
        ends = bits.address, gone.address, stays.address, count, first, last, words
        launch(decide, 1, THREADS, ends, device)
    return stays

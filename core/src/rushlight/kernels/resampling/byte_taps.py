"""Images of bytes resized by whole numbers, as PyTorch does it: width first, each pass rounded.

The weights of an axis are whole multiples of 1 / 2 ** shift, with as many bits as fit the largest
into 16; sums of 32 bits are exact, and half is rounded up.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.launch.execution import REFERENCE, chunk
from rushlight.machine import np, threads
from rushlight.machine.memory import empty

_BITS, _MOST = 15, 22  # of the largest weight; of the shift
_SMALL = 256  # bytes of a result below which NumPy is as fast


class ByteTaps:
    """``result[o] = sum_k weight[o, k] * input[start[o] + k]``, shifted to the right."""

    __slots__ = ("shift", "size", "start", "weight")

    def __init__(self, taps):
        self.size = taps.size
        start, real = _windows(taps) if taps.first is not None else _gathered(taps)
        self.start = start.astype(np.int32)
        self.shift = self._shift(float(real.max(initial=0)))
        real *= 1 << self.shift
        real += np.copysign(0.5, real)
        self.weight = real.astype(np.int16)

    @staticmethod
    def _shift(largest):
        for shift in range(_MOST):
            if int(0.5 + largest * (1 << (shift + 1))) >= 1 << _BITS:
                return shift
        return _MOST

    def __len__(self):
        return len(self.start)


def _windows(taps):
    """Where neighbours in a row begin, and their weights: what would reach beyond the edge begins
    earlier, with weights of 0 ahead."""
    room = taps.size - taps.index.shape[1]
    real = taps.weight.copy()
    for row in np.flatnonzero(taps.first > room):
        real[row] = np.roll(real[row], taps.first[row] - room)
    return np.minimum(taps.first, room), real


def _gathered(taps):
    """The same of any taps."""
    used = taps.weight != 0
    low = np.where(used, taps.index, taps.size).min(1)
    high = np.where(used, taps.index, -1).max(1)
    width = max(int((high - low).max(initial=0)) + 1, 1)
    start = np.maximum(np.minimum(low, taps.size - width), 0)
    # Taps beyond the edge fall on it, and add up; those that count nothing may fall anywhere.
    places = np.clip(taps.index - start[:, None], 0, width - 1)
    places += np.arange(len(taps))[:, None] * width
    real = np.bincount(places.ravel(), taps.weight.ravel(), len(taps) * width)
    return start, real.reshape(-1, width)


@lru_cache(1024)  # random crops have as many sizes as the images have rows and columns
def _of(taps):
    return ByteTaps(taps)


def resample_bytes(array, down, across):
    """An array (..., H, W) of uint8 with its last two dimensions mapped; None keeps one."""
    for axis, taps in ((-1, across), (-2, down)):
        if taps is not None:
            array = _along(array, _of(taps), axis)
    return by_rows(array)


def _along(array, taps, axis):
    shape = list(array.shape)
    shape[axis] = len(taps)
    if REFERENCE or array.size // array.shape[axis] * len(taps) < _SMALL:
        return _reference(array, taps, axis)
    steps = _steps(array)
    if steps is None:
        array = by_rows(array)
        steps = _steps(array)
    out = empty(tuple(shape), array.dtype)
    threads.run(_plan(taps, axis, array.shape[-2:], out.size, steps), array, out)
    return out


def _steps(array):
    """The bytes from one plane and from one row to the next; None where planes do not follow each
    other so, or the bytes of a row do not."""
    *planes, step, one = array.strides
    if one != 1 and array.shape[-1] > 1:
        return None
    known = [(n, own) for n, own in zip(array.shape, planes, strict=False) if n > 1]
    for (_, outer), (count, inner) in itertools.pairwise(known):
        if outer != inner * count:
            return None
    return known[-1][1] if known else 0, step


@lru_cache(256)
def _plan(taps, axis, sizes, size, steps):
    """The job for planes of a size. Who remembers it keeps the taps, whose tables it knows by
    their addresses."""
    from rushlight.kernels.resampling import byte_kernels as native

    (height, width), (length, own) = sizes, taps.weight.shape
    tables = [taps.start.ctypes.data, taps.weight.ctypes.data, own, taps.shift]
    words = [0, 0, height, width, length, *steps, *tables]
    if axis == -1:
        code, work = native.across.address(), native.LANES * length * own
        items = size // (height * length) * -(-height // native.LANES)
    else:
        code, work, items = native.down.address(), width * own, size // width
    return threads.plan(code, items, chunk(items, work), words)


def _reference(array, taps, axis):
    lines = np.moveaxis(array, axis, -1)
    out = np.empty((*lines.shape[:-1], len(taps)), np.uint8)
    places = taps.start[:, None] + np.arange(taps.weight.shape[1])
    sums = (lines[..., places].astype(np.int64) * taps.weight).sum(-1)
    half = (1 << taps.shift) >> 1
    out[...] = np.clip((sums + half) >> taps.shift, 0, 255)
    return by_rows(np.moveaxis(out, -1, axis))

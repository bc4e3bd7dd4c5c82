"""Channels dealt out over space and back, or over groups, by one call: dense arrays
(..., C, H, W) and (N, C, ...)."""

from __future__ import annotations

import math

from rushlight.kernels.launch.execution import REFERENCE, chunk
from rushlight.kernels.launch.prepared import Remembered, called, prepared

__all__ = ["is_compiled", "prepare_dealt", "shuffled", "unshuffled"]

_TYPES = {1: "u8", 2: "u16", 4: "i32", 8: "i64"}
_STATIC = 4  # the largest factor with loops of its own


def is_compiled(array):
    """Whether the kernels take an array."""
    fits = not REFERENCE and array.dtype.itemsize in _TYPES and array.flags.c_contiguous
    return fits and array.size > 0


def _prepare(name, array, factor):
    from rushlight.kernels.resampling import pixels_kernels as native
    from rushlight.machine.language import functions as language

    code = getattr(native, name).address(
        element=getattr(language, _TYPES[array.itemsize]), size=array.itemsize,
        factor=factor if factor <= _STATIC else 0,
    )  # fmt: skip
    *lead, c, h, w = array.shape
    if name == "spread":
        shape = (*lead, c // factor**2, h * factor, w * factor)
    else:
        h, w = h // factor, w // factor
        shape = (*lead, c * factor**2, h, w)
    items = array.size // (factor**2 * w)
    grain, outputs = chunk(items, factor**2 * w), [(shape, array.dtype)]
    return prepared(code, items, grain, [array], outputs, [h, w, factor])


_calls = Remembered()


def _call(name, array, factor):
    key = name, array.shape, array.dtype, factor
    found = _calls.get(key)
    if found is None:
        found = _calls.keep(key, _prepare(name, array, factor))
    return called(found, (array,))


def shuffled(array, factor):
    """(..., C * r * r, H, W) to (..., C, H * r, W * r)."""
    return _call("spread", array, factor)


def unshuffled(array, factor):
    """(..., C, H * r, W * r) to (..., C * r * r, H, W)."""
    return _call("gather", array, factor)


def prepare_dealt(array, groups):
    """``f(array)``: channels of (N, C, ...) in groups dealt out, one of each in turn; or None."""
    if not is_compiled(array) or array.ndim < 2:
        return None
    from rushlight.kernels.resampling import pixels_kernels as native

    planes, plane = array.shape[0] * array.shape[1], math.prod(array.shape[2:]) * array.itemsize
    words, outputs = [groups, array.shape[1] // groups, plane], [(array.shape, array.dtype)]
    grain = chunk(planes, plane // 4)
    return prepared(native.deal.address(), planes, grain, [array], outputs, words)

"""Conversions between float32 and the half-width floats, several times as fast as NumPy's."""

from __future__ import annotations

import functools

from rushlight.backends import np, threads
from rushlight.backends.arrays import bfloat16
from rushlight.backends.memory import empty
from rushlight.kernels.execution import FLOAT32, REFERENCE, chunk

__all__ = ["cast", "converted"]

SMALL = 512  # elements below which NumPy is as fast
_HALVES = {np.dtype(np.float16): 1, np.dtype(bfloat16): 0}


@functools.lru_cache(maxsize=512)
def _plan(size, half, narrow):
    from rushlight.kernels import conversion_kernels as native

    code = (native.narrowed if narrow else native.widened).address(half=half)
    blocks = -(-size // native.BLOCK)
    return threads.plan(code, blocks, chunk(blocks, native.BLOCK), [0, 0, size])


def converted(array, target):
    """``array.astype(target)`` where one of the two is float32 and the other float16 or bfloat16;
    None where that is left to NumPy (other dtypes, strided or small arrays, reference mode)."""
    source = array.dtype
    half = _HALVES.get(target) if source == FLOAT32 else _HALVES.get(source)
    if half is None or array.size < SMALL or not array.flags.c_contiguous or REFERENCE:
        return None
    if source != FLOAT32 and target != FLOAT32:
        return None
    out = empty(array.shape, target)
    threads.run(_plan(array.size, half, source == FLOAT32), array, out)
    return out


def cast(array, target):
    """The array in a dtype: itself where it has that dtype."""
    if array.dtype == target:
        return array
    found = converted(array, target)
    if found is None:
        with np.errstate(all="ignore"):  # numbers too large for float16 are infinite, as elsewhere
            found = array.astype(target)
    return found

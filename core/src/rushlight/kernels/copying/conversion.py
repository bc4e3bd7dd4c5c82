"""Conversions between float32 and the half-width floats, several times as fast as NumPy's."""

from __future__ import annotations

import functools

from rushlight.kernels.launch.execution import FLOAT32, REFERENCE, chunk, holds_low_precision
from rushlight.kernels.launch.prepared import by_layout, prepared
from rushlight.machine import np, threads
from rushlight.machine.arrays import bfloat16
from rushlight.machine.memory import empty

__all__ = ["cast", "converted", "rounded_once"]

SMALL = 512  # elements below which NumPy is as fast
_HALVES = {np.dtype(np.float16): 1, np.dtype(bfloat16): 0}


def prepare(array, target):
    """``f(array)``: a dense array of any size as :func:`converted`, by one call; or None."""
    half = _half(array.dtype, target)
    if half is None or REFERENCE or not array.flags.c_contiguous or not array.size:
        return None
    code, blocks = _kernel(array.size, half, array.dtype == FLOAT32)
    outputs = [(array.shape, target)]
    return prepared(code, blocks, chunk(blocks, 4096), [array], outputs, [array.size])


def _half(source, target):
    """Which half-width dtype is converted to or from float32, as kernels name it; or None."""
    if (source == FLOAT32) == (target == FLOAT32):
        return None
    return _HALVES.get(target if source == FLOAT32 else source)


def _kernel(size, half, narrow):
    """A kernel's address, and how many blocks there are."""
    from rushlight.kernels.copying import conversion_kernels as native
    from rushlight.machine.language import half_floats

    half = 2 if half == 1 and half_floats.is_fast() else half
    code = (native.narrowed if narrow else native.widened).address(half=half)
    return code, -(-size // native.BLOCK)


@functools.lru_cache(maxsize=512)
def _plan(size, half, narrow):
    code, blocks = _kernel(size, half, narrow)
    return threads.plan(code, blocks, chunk(blocks, 4096), [0, 0, 0, size])


def converted(array, target):
    """``array.astype(target)`` where one of the two is float32 and the other float16 or bfloat16;
    None where that is left to NumPy (other dtypes, strided or small arrays, reference mode)."""
    source = array.dtype
    half = _half(source, target)
    if half is None or array.size < SMALL or not array.flags.c_contiguous or REFERENCE:
        return None
    out = empty(array.shape, target)
    threads.run(_plan(array.size, half, source == FLOAT32), 0, out, array)
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


def rounded_once(prepare, general):
    """:func:`by_layout`; what `prepare` does not know of low precision is computed in float32 and
    rounded."""
    floats = by_layout(prepare, general)

    def others(input, *attributes):
        if not holds_low_precision(input):
            return general(input, *attributes)
        return cast(floats(cast(input, FLOAT32), *attributes), input.dtype)

    kernel = by_layout(prepare, others)
    kernel.general = general
    return kernel

"""Conversions of unsigned words on devices: kernels know signed ones, of the same bits."""

from __future__ import annotations

import functools

from rushlight.compiler.cuda.kernel import DeviceKernel
from rushlight.compiler.graph import trace
from rushlight.compiler.storage import NAME, NUMPY
from rushlight.compiler.vocabulary import xp
from rushlight.machine import np

UNSIGNED = frozenset(np.dtype(name) for name in ("uint16", "uint32", "uint64"))
_HALF = 1 << 63


@functools.cache
def to_words(source, bits):
    """The kernel from a short name to int64: words of so many bits without their sign, or floats of
    which those from 2**63 on become the int64 of the same 64 bits."""

    def widened(x):
        return x.astype("i64") & ((1 << bits) - 1)

    def cut(x):
        high = x >= float(_HALF)
        return xp.where(high, x - float(_HALF), x).astype("i64") ^ xp.where(high, -_HALF, 0)

    body = cut if bits == 64 else widened
    return DeviceKernel(trace(body, {"x": source}, {"x": source}, {}, {}, ("i64",)))


@functools.cache
def from_words(target):
    """The kernel from 64 unsigned bits, held as int64, to floats, rounded once."""

    def rounded(x):
        halved = ((x >> 1) & (_HALF - 1)) | (x & 1)  # the lowest bit breaks ties as all would
        value = xp.where(x < 0, halved, x).astype("f64" if target == "f64" else "f32")
        return xp.where(x < 0, value * 2.0, value)

    return DeviceKernel(trace(rounded, {"x": "i64"}, {"x": "i64"}, {}, {}, (target,)))


@functools.cache
def order_kernel(source):
    """The kernel that turns over the highest bit: signed order of the result is unsigned order of
    the same bits before, and the other way round."""
    half = 1 << (8 * NUMPY[source].itemsize - 1)
    return DeviceKernel(trace(lambda x: x ^ -half, {"x": source}, {"x": source}, {}, {}, (source,)))


def reordered(array, dtype):
    """Unsigned words as signed ones in the same order, or back, as `dtype`."""
    bits = array.view(np.dtype(f"i{array.itemsize}"))
    return order_kernel(NAME[bits.dtype])(bits).view(dtype)


def wrapped(number, size):
    """A number as the signed integer of so many bytes with the same low bits."""
    half = 1 << (8 * size - 1)
    return (int(number) + half) % (2 * half) - half

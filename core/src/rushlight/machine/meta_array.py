"""Arrays of the meta device: shape, strides, dtype and an offset in a storage, without memory.

NumPy takes views of them as of any array, so that a view op needs one body for all devices. What
they are over is reserved address space that nothing is written to: an element that is read in spite
of all is 0. `base` of every array leads to its block, a row of bytes as long as the storage.
"""

from __future__ import annotations

import contextlib
import mmap
from typing import Any

from rushlight import devices
from rushlight.machine import memory, np

_ndarray, _new = np.ndarray, np.ndarray.__new__
_LEAST = 1 << 30  # bytes that are reserved at first


class MetaArray(np.ndarray):
    """An array without memory. Copies of it have none either."""

    __slots__ = ()
    home = devices.meta

    def copy(self, order="C"):
        """An array of this shape in a block of its own: row-major, or in this order of dimensions
        if `order` is ``"K"``."""
        if order == "C" or self.flags.c_contiguous:
            return meta_array(self.shape, self.dtype)
        along = sorted(range(self.ndim), key=lambda d: -self.strides[d])
        made = meta_array([self.shape[d] for d in along], self.dtype)
        return made.transpose([along.index(d) for d in range(self.ndim)])

    def astype(self, dtype, *_options, **_named):
        """The same strides, in elements, with another dtype."""
        dtype = np.dtype(dtype)
        old, new = self.itemsize, dtype.itemsize
        return meta_array(self.shape, dtype, tuple([s // old * new for s in self.strides]))


class _Reserved:
    """Address space of zeros that cannot be written to, which blocks are shown in."""

    memory, size = None, 0

    @classmethod
    def grow(cls, count) -> bool:
        """Reserve more than there was; whether that is at least `count` bytes."""
        size = 1 << (max(count, _LEAST) - 1).bit_length()
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        for wanted in (size, count, mmap.PAGESIZE) if cls.memory is None else (size, count):
            with contextlib.suppress(OSError, OverflowError):  # the system has no room for so many
                cls.memory = mmap.mmap(-1, wanted, flags, mmap.PROT_READ)
                cls.size = wanted
                break
        return cls.size >= count


def meta_array(shape, array_dtype, strides=None) -> MetaArray:
    """A meta array of any size in a block of its own, row-major or with strides in bytes."""
    shape = tuple(shape)
    count = memory.bytes_of(shape, array_dtype.itemsize)
    if strides is None:
        return _new(MetaArray, shape, array_dtype, new_block(count))
    count = _reach(shape, strides, array_dtype.itemsize)
    return _new(MetaArray, shape, array_dtype, new_block(count), 0, strides)


def stand_in(array, block_bytes, offset) -> MetaArray:
    """What stands for an array that has memory: its shape, dtype and strides, at its offset in a
    block as long as its memory."""
    end = offset + _reach(array.shape, array.strides, array.itemsize)
    found = new_block(max(block_bytes, end))
    return in_block(found, array.shape, array.dtype, offset, array.strides)


def _reach(shape, strides, itemsize):
    """Bytes from the first element of an array to the end of the last one."""
    if 0 in shape:
        return 0
    return itemsize + sum([(n - 1) * step for n, step in zip(shape, strides, strict=True)])


def new_block(count):
    """The block of a new storage of so many bytes."""
    if _Reserved.size < count or not _Reserved.size:
        if not _Reserved.grow(count):  # addresses that are for no one to read
            first = _ndarray(1, np.uint8, _Reserved.memory)
            return np.lib.stride_tricks.as_strided(first, (count,), (1,))
    return _ndarray(count, np.uint8, _Reserved.memory)


def block_of(array: MetaArray):
    """The block that a meta array is in."""
    found: Any = array.base
    while isinstance(base := found.base, _ndarray):
        found = base
    return found


def in_block(found, shape, array_dtype, offset, strides) -> MetaArray:
    """The array of a shape, with offset and strides in bytes, in a block; ValueError where it does
    not fit."""
    return _new(MetaArray, tuple(shape), array_dtype, found, offset, tuple(strides))


def offset_of(array: MetaArray) -> int:
    """Bytes from the start of the block to the first element."""
    return memory.address(array) - memory.address(block_of(array))


def restrided(array: MetaArray, shape, strides) -> MetaArray:
    """Any shape and strides in bytes over the same block, from the same element on."""
    return in_block(block_of(array), shape, array.dtype, offset_of(array), strides)

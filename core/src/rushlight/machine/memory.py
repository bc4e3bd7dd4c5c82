"""The allocator below NumPy: keep large freed blocks in the process.

Without it glibc maps every block over 32 MB anew and pays its page faults at each allocation:
an elementwise chain of 40 MB arrays runs at half, a ResNet-like pattern at a third of the speed.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys

from rushlight.errors import HostMemoryError, shape_text
from rushlight.machine import np

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
_tuned: bool | None = None


def _libc():
    return ctypes.CDLL(None)


def tune_malloc() -> bool:
    """Raise glibc's mapping and trimming thresholds; True where that was possible.

    ``RUSHLIGHT_MALLOC=system`` leaves the allocator alone. Later calls do nothing.
    """
    global _tuned
    if _tuned is None:
        _tuned = False
        refused = os.environ.get("RUSHLIGHT_MALLOC") == "system"
        libc = None if refused or sys.platform != "linux" else _libc()
        if libc is not None and hasattr(libc, "mallopt"):
            settings = (
                (_M_MMAP_THRESHOLD, 1 << 30),
                (_M_TRIM_THRESHOLD, (1 << 31) - 1),
                (_M_TOP_PAD, 64 << 20),
            )
            _tuned = all(libc.mallopt(option, value) for option, value in settings)
    return _tuned


def empty_cache() -> bool:
    """Give free memory back to the system; True where the allocator could release some."""
    if sys.platform != "linux":
        return False
    libc = _libc()
    return bool(hasattr(libc, "malloc_trim") and libc.malloc_trim(ctypes.c_size_t(0)))


# Bytes from which new arrays start on a cache line: stores of 64 bytes that cross two lines take
# twice as long, and a product into such an output 1.6 times.
ALIGNED_FROM = 1 << 15


def _address_in_object(array, _word=ctypes.c_ssize_t.from_address):
    """The address of the first byte, read from the array object: behind its CPython header."""
    return _word(id(array) + object.__basicsize__).value


def _address_by_name(array):
    return array.ctypes.data


_probe = np.empty(1, np.uint8)
_readable = sys.implementation.name == "cpython" and (
    _address_in_object(_probe) == _probe.ctypes.data
)
address = _address_in_object if _readable else _address_by_name  # 0.14 us against 1 us


def start_of(array) -> int:
    """:func:`address`, of arrays of other kinds, too."""
    return address(array) if isinstance(array, np.ndarray) else array.ctypes.data


def room(shape, dtype, itemsize):
    """Instead of the built-in function that :func:`empty` calls, until machine code is in use."""
    return NotImplemented


def empty(shape, dtype):
    """A new array of uninitialised memory; large ones start on a cache line (NumPy aligns to 16
    bytes only). `shape` is a tuple or an int, `dtype` a NumPy dtype."""
    array = room(shape, dtype, dtype.itemsize)
    return _made(np.empty, shape, dtype) if array is NotImplemented else array


def zeros(shape, dtype):
    """A new array of zeros, aligned like that of :func:`empty`."""
    return _made(np.zeros, shape, dtype)


def refused(error, size=None) -> HostMemoryError:
    """What a user sees of a MemoryError: PyTorch's words, with the bytes that were asked for."""
    if isinstance(error, HostMemoryError):
        return error
    if size is None and hasattr(error, "shape"):  # NumPy's
        size = math.prod(error.shape) * error.dtype.itemsize
    asked = "" if size is None else f" you tried to allocate {size} bytes."
    return HostMemoryError(
        f"DefaultCPUAllocator: can't allocate memory:{asked} Error code 12 (Cannot allocate memory)"
    )


def bytes_of(shape, itemsize) -> int:
    """The bytes of an array; an error where no address reaches so far."""
    size = math.prod(shape) * itemsize
    if 0 < size < 1 << 63:
        return size
    for position, extent in enumerate(shape, 1):
        if extent >= 1 << 63:
            raise TypeError(
                f"argument 'size' failed to unpack the object at pos {position} with error "
                f'"Overflow when unpacking long long": {extent} is not below 2**63'
            )
    if size > 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={shape_text(shape)}")
    if not size and math.prod(extent or 1 for extent in shape) * itemsize >= 1 << 63:
        raise RuntimeError(f"Stride calculation overflowed with sizes={shape_text(shape)}")
    return size


def _made(make, shape, dtype):
    size = bytes_of(shape if isinstance(shape, tuple) else (shape,), dtype.itemsize)
    try:
        return _aligned(make, shape, dtype)
    except MemoryError as error:
        raise refused(error, size) from None


def _aligned(make, shape, dtype):
    size = (math.prod(shape) if isinstance(shape, tuple) else shape) * dtype.itemsize
    if size < ALIGNED_FROM:
        return make(shape, dtype)
    block = make(size + 64, np.uint8)
    start = -address(block) % 64
    # Over a memoryview, so that whoever looks for the owning array finds exactly these bytes.
    return np.frombuffer(memoryview(block)[start : start + size], dtype).reshape(shape)

"""Memory that a file is read into."""

from __future__ import annotations

import mmap

from rushlight.machine import np
from rushlight.machine.memory import empty

# NumPy asks for huge pages from here on. Clearing them spoils the caches for the read that follows,
# and where a hypervisor has taken free memory back, it takes 2 to 5 times as long (3.5 s against
# 1.3 s for 1 GiB); small pages are cleared just before they are filled.
LARGE = 4 << 20
_ANONYMOUS = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)


def room(count, dtype):
    """An array of `count` uninitialised elements, on a cache line."""
    size = count * dtype.itemsize
    if size < LARGE or not _ANONYMOUS:
        return empty(count, dtype)
    # Over a memoryview, so that the bytes behind the end of the data are not part of the storage.
    pages = memoryview(mmap.mmap(-1, size, flags=_ANONYMOUS))[:size]
    return np.frombuffer(pages, dtype)

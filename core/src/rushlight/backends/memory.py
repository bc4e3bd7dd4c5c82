"""The allocator below NumPy: keep large freed blocks in the process.

Without it glibc maps every block over 32 MB anew and pays its page faults at each allocation:
an elementwise chain of 40 MB arrays runs at half, a ResNet-like pattern at a third of the speed.
"""

from __future__ import annotations

import ctypes
import os
import sys

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

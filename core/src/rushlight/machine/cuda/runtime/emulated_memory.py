"""Memory of the emulated devices: a pool on the CPU that notices misuse.

Fresh and freed memory is filled with 0xCB. Behind (and before) every block are canaries, checked
when it is freed and on synchronisation; memory taken from the pool must still hold its poison.
"""

from __future__ import annotations

import atexit
import ctypes
import threading
import weakref
from collections import defaultdict

import numpy as np

from rushlight.errors import OutOfMemoryError

POISON = 0xCB
CANARY = 0xA5
GUARD = 256  # bytes before and behind; keeps the alignment that cudaMalloc promises
GRANULE = 512
_GUARD_BYTES = bytes([CANARY]) * GUARD


class MemoryFault(RuntimeError):
    """A kernel wrote where it must not: outside a block, or into freed memory."""


class Block:
    """Memory on a device; back to the pool when nobody holds it any more."""

    __slots__ = ("__weakref__", "_pool", "_region", "address", "device", "nbytes", "stream")

    def __init__(self, pool, region, nbytes, device, stream):
        self._pool, self._region = pool, region
        self.nbytes, self.device, self.stream = nbytes, device, stream
        self.address = region.start

    def used_by(self, stream: int) -> None:
        """The block is also used on that stream: it is not reused before that work is done."""
        # Emulated streams finish their work at once.

    def __del__(self):
        pool = self._pool
        if pool is not None and not pool.closed:
            self._pool = None
            pool.release(self)

    def __repr__(self):
        return f"Block({self.nbytes} bytes at {self.address:#x}, device={self.device})"


class _Region:
    """One piece of host memory, with guards, that serves blocks of one size class."""

    __slots__ = ("array", "room", "start")

    def __init__(self, room):
        self.room = room
        self.array = np.empty(room + 2 * GUARD + 256, np.uint8)
        first = self.array.ctypes.data
        self.start = (first + GUARD + 255) & ~255

    def part(self, low, high):
        first = self.start - self.array.ctypes.data
        return self.array[first + low : first + high]


class Pool:
    """The pool of one device. `private` pools belong to graphs, whose replays write into memory
    that is free in between: it is not checked for poison."""

    closed = False  # at the interpreter's end, when modules lose their names

    def __init__(self, device, total, private=False):
        self.device, self.total, self.private = device, total, private
        self.limit = total
        self.free = defaultdict(list)
        self.live = weakref.WeakSet()
        self.lock = threading.RLock()
        self.faults = []
        self.kept: list = []  # what a graph refers to, beside its own memory
        self.allocated = self.reserved = self.peak_allocated = self.peak_reserved = 0
        self.allocations = self.frees = self.retries = self.out_of_memory = 0

    def allocate(self, nbytes, stream):
        """A block of at least `nbytes`; OutOfMemoryError beyond the device's memory."""
        room = max(GRANULE, -(-nbytes // GRANULE) * GRANULE)
        with self.lock:
            region = self.free[room].pop() if self.free[room] else self._reserve(room, nbytes)
            if not self.private:
                self._check_poison(region)
            region.part(0, room).fill(POISON)
            region.part(-GUARD, 0).fill(CANARY)
            region.part(nbytes, room + GUARD).fill(CANARY)
            block = Block(self, region, nbytes, self.device, stream)
            self.live.add(block)
            self.allocations += 1
            self.allocated += room
            self.peak_allocated = max(self.peak_allocated, self.allocated)
            return block

    def _reserve(self, room, nbytes):
        if self.reserved + room > self.limit:
            self.retries += 1
            self.empty()
        if self.reserved + room > self.limit:
            self.out_of_memory += 1
            raise OutOfMemoryError(
                f"CUDA out of memory. Tried to allocate {size_text(nbytes)}. GPU {self.device} has "
                f"a total capacity of {size_text(self.total)}, of which "
                f"{size_text(self.limit - self.reserved)} is free to this process. "
                f"{size_text(self.allocated)} is held by {len(self.live)} live blocks and "
                f"{size_text(self.reserved - self.allocated)} is cached"
            )
        self.reserved += room
        self.peak_reserved = max(self.peak_reserved, self.reserved)
        region = _Region(room)
        region.part(0, room).fill(POISON)
        return region

    def _check_poison(self, region):
        if not (region.part(0, region.room) == POISON).all():
            self.faults.append(
                f"memory at {region.start:#x} ({region.room} bytes) was written after it was freed"
            )

    def check(self, block):
        """Whether both canaries of a block are whole; a fault is kept until it is raised."""
        region, ends = block._region, (block.nbytes, block._region.room + GUARD)
        before = region.part(-GUARD, 0).tobytes() == _GUARD_BYTES
        behind = bool((region.part(*ends) == CANARY).all())
        if not (before and behind):
            where = "before" if not before else "behind"
            self.faults.append(
                f"a kernel wrote {where} a block of {block.nbytes} bytes at {block.address:#x}"
            )
            region.part(-GUARD, 0).fill(CANARY)
            region.part(*ends).fill(CANARY)

    def check_all(self):
        """Check every live block; raises MemoryFault with all that was found since the last."""
        with self.lock:
            for block in list(self.live):
                self.check(block)
            faults, self.faults = self.faults, []
        if faults:
            raise MemoryFault("; ".join(faults))

    def release(self, block):
        """Take a block's memory back."""
        with self.lock:
            self.check(block)
            region = block._region
            region.part(0, region.room).fill(POISON)
            self.free[region.room].append(region)
            self.frees += 1
            self.allocated -= region.room

    def empty(self):
        """Give what is not in use back to the system."""
        with self.lock:
            for room, regions in self.free.items():
                self.reserved -= room * len(regions)
            self.free.clear()

    def statistics(self):
        """Counts and bytes, as :meth:`EmulatedRuntime.memory_statistics` gives them."""
        with self.lock:
            return {
                "allocated_bytes": self.allocated,
                "reserved_bytes": self.reserved,
                "peak_allocated_bytes": self.peak_allocated,
                "peak_reserved_bytes": self.peak_reserved,
                "total_bytes": self.total,
                "allocations": self.allocations,
                "frees": self.frees,
                "active_blocks": self.allocations - self.frees,
                "retries": self.retries,
                "out_of_memory": self.out_of_memory,
            }

    def reset_peak(self):
        """Start the peaks again from what is held now."""
        self.peak_allocated, self.peak_reserved = self.allocated, self.reserved


atexit.register(setattr, Pool, "closed", True)


def size_text(nbytes: int) -> str:
    """A number of bytes for people."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if abs(nbytes) >= scale:
            return f"{nbytes / scale:.2f} {unit}"
    return f"{nbytes} bytes"


def host_view(address, shape, strides, dtype):
    """Memory at an address as a NumPy array; strides in bytes, None for C order."""
    dtype = np.dtype(dtype)
    shape = tuple(int(n) for n in shape)
    if 0 in shape:
        return np.empty(shape, dtype)
    if strides is None:
        strides, step = [], dtype.itemsize
        for n in reversed(shape):
            strides.insert(0, step)
            step *= n
    low = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
    high = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s > 0)
    span = (ctypes.c_byte * (high - low + dtype.itemsize)).from_address(address + low)
    return np.ndarray(shape, dtype, span, -low, tuple(strides))

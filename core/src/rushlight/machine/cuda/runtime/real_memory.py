"""Devices, memory and copies of the real runtime: CuPy's pool, with the counts it does not keep."""

from __future__ import annotations

import atexit
import contextlib
import functools
import threading
import weakref

import numpy as np

from rushlight.errors import OutOfMemoryError
from rushlight.machine.cuda.runtime import streams
from rushlight.machine.cuda.runtime.emulated_memory import size_text
from rushlight.machine.cuda.runtime.properties import DeviceProperties

NO_MEMORY = 2  # CUDA's and HIP's number of this error
HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE = 1, 2, 3


class Block:
    """Memory on a device; back to CuPy's pool when nobody holds it any more."""

    __slots__ = ("__weakref__", "_memory", "_pool", "_runtime", "_used_by", "address", "device",
                 "nbytes", "stream")  # fmt: skip

    def __init__(self, runtime, pool, memory, nbytes, device, stream):
        self._runtime, self._pool = runtime, pool
        self._memory, self._used_by = memory, None
        self.address, self.nbytes = memory.ptr, nbytes
        self.device, self.stream = device, stream

    def used_by(self, stream: int) -> None:
        """The block is also used on that stream: it is not reused before that work is done."""
        if stream != self.stream:
            self._used_by = {stream, *(self._used_by or ())}

    def __del__(self):
        runtime = self._runtime
        if self._memory is not None and runtime is not None and not runtime.closed:
            runtime.freed(self)

    def __repr__(self):
        return f"Block({self.nbytes} bytes at {self.address:#x}, device={self.device})"


class AdoptedBlock:
    """Memory of an array that another library made; kept alive by holding the array."""

    __slots__ = ("__weakref__", "address", "array", "device", "nbytes", "stream")

    def __init__(self, array, device):
        self.array, self.device, self.stream = array, device, device
        self.address, self.nbytes = array.data.ptr, array.nbytes

    def used_by(self, stream: int) -> None:
        """Nothing is to be done: the array's own library decides when its memory is free."""


class NoRoom(Exception):
    """A device has no memory left for a graph."""


class Pool:
    """CuPy's pool of one device (or of one graph), with the counts that it does not keep."""

    def __init__(self, memory, allocate=None):
        self.pool = memory.MemoryPool() if allocate is None else memory.MemoryPool(allocate)
        self.kept: list = []  # what a graph refers to, beside its own memory
        self.allocated = self.peak = self.peak_reserved = 0
        self.allocations = self.frees = self.retries = self.out_of_memory = 0

    def most_reserved(self) -> int:
        """The most bytes it held; they become fewer only in :meth:`give_back`."""
        self.peak_reserved = max(self.peak_reserved, self.pool.total_bytes())
        return self.peak_reserved

    def give_back(self):
        """Free what nobody uses."""
        self.most_reserved()
        self.pool.free_all_blocks()


class DeviceMemory:
    """What the real runtime does with devices and memory."""

    closed = False

    def __init__(self, cupy, counters):
        self.cupy, self._driver, self.counters = cupy, cupy.cuda.runtime, counters
        self._count = self._driver.getDeviceCount()
        self._pools = [Pool(cupy.cuda.memory) for _ in range(self._count)]
        self._streams = {device: cupy.cuda.Stream.null for device in range(self._count)}
        self._capture = {}  # stream -> pool
        self._pinned = weakref.WeakValueDictionary()
        self._local = threading.local()

    @property
    def library(self):
        """The CuPy module: for what CuPy does for us (solvers, transforms)."""
        return self.cupy

    def adopt(self, array, device: int) -> AdoptedBlock:
        """A CuPy array's memory as a block."""
        return AdoptedBlock(array, device)

    def can_access_peer(self, device: int, other: int) -> bool:
        """Whether a device can read another's memory directly."""
        return device == other or bool(self._driver.deviceCanAccessPeer(device, other))

    # -- devices ------------------------------------------------------------------------------

    def device_count(self) -> int:
        """How many devices there are."""
        return self._count

    @contextlib.contextmanager
    def device(self, number):
        """Inside, a device is CUDA's current one."""
        before = self._driver.getDevice()
        if before != number:
            self._driver.setDevice(number)
        try:
            yield
        finally:
            if before != number:
                self._driver.setDevice(before)

    def _use(self, number):
        """Make a device CUDA's current one, and leave it so. The first call in a thread makes its
        context current, which the driver's launches need."""
        ready = getattr(self._local, "ready", False)
        if not ready or (self._count > 1 and self._driver.getDevice() != number):
            self._driver.setDevice(number)
            self._local.ready = True

    @functools.cache  # noqa: B019 - one runtime lives as long as the process
    def properties(self, device: int = 0) -> DeviceProperties:
        """Properties of a device."""
        self._known_device(device)
        found = self._driver.getDeviceProperties(device)
        name = found["name"]
        return DeviceProperties(
            name=name.decode() if isinstance(name, bytes) else name,
            major=found["major"],
            minor=found["minor"],
            total_memory=found["totalGlobalMem"],
            multi_processor_count=found["multiProcessorCount"],
            warp_size=found["warpSize"],
            max_threads_per_block=found["maxThreadsPerBlock"],
            max_threads_per_multi_processor=found["maxThreadsPerMultiProcessor"],
            shared_memory_per_block=found["sharedMemPerBlock"],
            shared_memory_per_block_optin=found.get("sharedMemPerBlockOptin", 49152),
            regs_per_multiprocessor=found.get("regsPerMultiprocessor", 65536),
            l2_cache_size=found.get("l2CacheSize", 0),
            is_integrated=bool(found.get("integrated", 0)),
            is_multi_gpu_board=bool(found.get("isMultiGpuBoard", 0)),
            uuid=_uuid_text(found.get("uuid", b"")),
            pci_bus_id=found.get("pciBusID", 0),
            pci_device_id=found.get("pciDeviceID", 0),
            pci_domain_id=found.get("pciDomainID", 0),
            memory_clock_rate=found.get("memoryClockRate", 0),
            memory_bus_width=found.get("memoryBusWidth", 0),
            clock_rate=found.get("clockRate", 0),
        )

    def _known_device(self, device):
        if not 0 <= device < self._count:
            raise RuntimeError(f"CUDA device {device} does not exist; there are {self._count}")

    # -- memory -------------------------------------------------------------------------------

    def _for_graph(self, nbytes):
        """Memory of the driver for a graph's pool.

        Where the driver has none, CuPy would make room by freeing what is free in that pool, to
        which kernels that were captured refer: they would run on memory that is gone. An exception
        that CuPy does not know keeps it from that.
        """
        memory = self.cupy.cuda.memory
        for attempt in range(2):
            try:
                return memory.MemoryPointer(memory.Memory(nbytes), 0)
            except self._driver.CUDARuntimeError as error:
                if error.status != NO_MEMORY:
                    raise
            if not attempt:
                for other in self._pools:
                    other.give_back()
        raise NoRoom

    def keep(self, stream: int, what) -> None:
        """Let the graph that is captured on a stream keep something alive."""
        self._capture[stream].kept.append(what)

    def _pool_of(self, device, stream):
        self._known_device(device)
        captured = self._capture.get(stream)
        return captured or self._pools[device]

    def allocate(self, nbytes: int, device: int = 0, stream: int | None = None) -> Block:
        """Memory on a device, from the pool; it goes back when the block is collected."""
        if nbytes < 0:
            raise ValueError(f"allocate(): {nbytes} bytes")
        stream = streams.current(device) if stream is None else stream
        pool = self._pool_of(device, stream)
        self.counters.allocations += 1
        # A size of 0 would get a null pointer; a kernel's argument is easier to read with one.
        memory = self._take(pool, max(int(nbytes), 1), device, stream)
        pool.allocations += 1
        pool.allocated += memory.mem.size
        if pool.allocated > pool.peak:
            pool.peak = pool.allocated
        return Block(self, pool, memory, int(nbytes), device, stream)

    def _take(self, pool, nbytes, device, stream):
        error = self.cupy.cuda.memory.OutOfMemoryError, NoRoom
        now = self.cupy.cuda.get_current_stream()
        if now.ptr == self.stream_object(stream).ptr and self._driver.getDevice() == device:
            try:
                return pool.pool.malloc(nbytes)
            except error:
                pass
        with self.device(device), self.stream_object(stream):
            try:
                return pool.pool.malloc(nbytes)
            except error:
                pool.retries += 1
            for other in self._pools:
                other.give_back()
            try:
                return pool.pool.malloc(nbytes)
            except error:
                pool.out_of_memory += 1
                free, total = self._driver.memGetInfo()
            raise OutOfMemoryError(
                f"CUDA out of memory. Tried to allocate {size_text(nbytes)}. GPU {device} has a "
                f"total capacity of {size_text(total)}, of which {size_text(free)} is free. "
                f"{size_text(pool.allocated)} is held by {pool.allocations - pool.frees} live "
                f"blocks and {size_text(pool.pool.free_bytes())} is cached"
            ) from None

    def freed(self, block):
        """Give a block's memory back; its own stream waits for the others that used it."""
        if block._used_by:
            owner = self.stream_object(block.stream)
            for other in block._used_by:
                if other in self._streams and other not in self._capture:
                    event = self.cupy.cuda.Event(disable_timing=True)
                    with self.device(block.device):
                        event.record(self._streams[other])
                        owner.wait_event(event)
        block._pool.frees += 1
        block._pool.allocated -= block._memory.mem.size
        block._memory = None

    def allocate_pinned(self, nbytes: int) -> np.ndarray:
        """Page-locked host memory as an array of bytes: copies from and to it can be
        asynchronous."""
        memory = self.cupy.cuda.alloc_pinned_memory(max(nbytes, 1))
        array = np.frombuffer(memory, np.uint8, nbytes)
        self._pinned[array.ctypes.data] = array
        return array

    def _is_pinned(self, array):
        base = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        return base.ctypes.data in self._pinned

    def memory_statistics(self, device: int = 0) -> dict[str, int]:
        """Bytes allocated and reserved, their peaks, and counts of what the pool did."""
        self._known_device(device)
        pool = self._pools[device]
        return {
            "allocated_bytes": pool.allocated,
            "reserved_bytes": pool.pool.total_bytes(),
            "peak_allocated_bytes": pool.peak,
            "peak_reserved_bytes": pool.most_reserved(),
            "total_bytes": self.properties(device).total_memory,
            "allocations": pool.allocations,
            "frees": pool.frees,
            "active_blocks": pool.allocations - pool.frees,
            "retries": pool.retries,
            "out_of_memory": pool.out_of_memory,
        }

    def reset_peak(self, device: int = 0) -> None:
        """Start the peaks of the statistics again."""
        pool = self._pools[device]
        pool.peak, pool.peak_reserved = pool.allocated, pool.pool.total_bytes()

    def set_memory_fraction(self, fraction: float, device: int = 0) -> None:
        """Let the pool take at most this part of a device's memory."""
        with self.device(device):
            self._pools[device].pool.set_limit(fraction=fraction)

    def memory_free(self, device: int = 0) -> tuple[int, int]:
        """Bytes free on a device, and its total."""
        with self.device(device):
            return self._driver.memGetInfo()

    def empty_cache(self) -> None:
        """Give memory that the pools hold in reserve back to the driver."""
        for number, pool in enumerate(self._pools):
            with self.device(number):
                pool.give_back()

    def view(self, address: int, shape, strides, dtype):
        """Device memory as a CuPy array; it does not keep its block alive."""
        cupy, dtype = self.cupy, np.dtype(dtype)
        device = self._driver.getDevice()
        shape = tuple(shape)
        span = dtype.itemsize
        if strides is not None:
            span += sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=True) if n)
        else:
            span *= max(1, int(np.prod(shape, dtype=np.int64)))
        memory = cupy.cuda.UnownedMemory(address, span, self, device)
        pointer = cupy.cuda.MemoryPointer(memory, 0)
        return cupy.ndarray(shape, dtype, pointer, strides)

    # -- copies -------------------------------------------------------------------------------

    def _refuse_in_capture(self, what, stream=None):
        if self._capture and (stream is None or stream in self._capture):
            raise RuntimeError(
                f"{what}: not allowed while a CUDA graph is being captured (it would wait for work "
                "that has not run)"
            )

    def copy_in(self, address: int, host_array: np.ndarray, stream: int = 0, blocking=True) -> None:
        """Host to device; `host_array` is C-contiguous. Pageable memory is staged by the driver
        before the call returns; pinned memory must stay as it is unless `blocking`."""
        self._refuse_in_capture("copy_in", stream)
        self.counters.copies_in += 1
        if host_array.nbytes:
            source = host_array.ctypes.data
            self._copy(address, source, host_array.nbytes, HOST_TO_DEVICE, stream)
            if blocking and self._is_pinned(host_array):
                self._wait(stream)

    def copy_out(
        self, host_array: np.ndarray, address: int, stream: int = 0, blocking=True
    ) -> None:
        """Device to host, and wait for it (unless not `blocking`)."""
        self._refuse_in_capture("copy_out", stream)
        self.counters.copies_out += 1
        if host_array.nbytes:
            target = host_array.ctypes.data
            self._copy(target, address, host_array.nbytes, DEVICE_TO_HOST, stream)
        if blocking:
            self._wait(stream)

    def copy_within(self, to: int, source: int, nbytes: int, stream: int = 0) -> None:
        """Device to device (also another device)."""
        if nbytes:
            self._copy(to, source, nbytes, DEVICE_TO_DEVICE, stream)

    def _copy(self, to, source, nbytes, kind, stream):
        self._use(streams.device_of(stream))
        self._driver.memcpyAsync(to, source, nbytes, kind, self.stream_pointer(stream))

    def fill_bytes(self, address: int, value: int, nbytes: int, stream: int = 0) -> None:
        """Set every byte."""
        if nbytes:
            self._use(streams.device_of(stream))
            self._driver.memsetAsync(address, value, nbytes, self.stream_pointer(stream))


def _uuid_text(value):
    """A device's UUID as the driver's tools print it."""
    text = value.hex() if isinstance(value, bytes) else str(value)
    if len(text) != 32:
        return text
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


atexit.register(setattr, DeviceMemory, "closed", True)

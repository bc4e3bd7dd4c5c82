"""The emulated runtime: CUDA's memory, streams, kernels and graphs on the CPU.

Work of every stream is done at once and in order. Kernels are the production text, compiled by
g++ (see ``emulator/cuda_emulator.h``). Misuse raises: writes outside of blocks or into freed
memory, arguments that do not fit a kernel's parameters, launches beyond a device's limits,
synchronisation while a graph is being captured.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import functools
import os
import threading
import time

import numpy as np

from rushlight.machine.cuda.runtime import emulated_nccl, streams
from rushlight.machine.cuda.runtime.arguments import Packed
from rushlight.machine.cuda.runtime.emulated_memory import Pool, host_view
from rushlight.machine.cuda.runtime.emulator_build import build, scheduler, why_unavailable
from rushlight.machine.cuda.runtime.products import Product, compute
from rushlight.machine.cuda.runtime.properties import Counters, DeviceProperties

TOTAL_MEMORY = 4 << 30
SHARED_OPTIN = 65536  # as the smallest supported device (sm_75): what passes here passes there
GRID_LIMITS = (2**31 - 1, 65535, 65535)
BLOCK_LIMITS = (1024, 1024, 64)
ORDERS = ("forward", "reverse", "scattered")


class LaunchFault(RuntimeError):
    """A kernel did on the emulator what is an error, or undefined, on a device."""


class _Launch(ctypes.Structure):
    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("order", ctypes.c_int),
    )


class Kernel:
    """One kernel of a module: its entry, parameters and largest block."""

    __slots__ = ("entry", "kinds", "most_threads", "name", "sizes")

    def __init__(self, library, name, most_threads):
        self.name, self.most_threads = name, most_threads
        self.entry = getattr(library, f"emu_run_{name}")
        sizes, kinds = (ctypes.c_int * 256)(), ctypes.create_string_buffer(256)
        count = getattr(library, f"emu_parameters_{name}")(sizes, kinds)
        self.sizes = list(sizes[:count])
        self.kinds = kinds.raw[:count].decode()

    def check(self, packed):
        """Refuse arguments that differ from the parameters in number, size or kind."""
        if len(packed.sizes) != len(self.sizes):
            raise TypeError(
                f"launch(): kernel {self.name} has {len(self.sizes)} parameters; "
                f"{len(packed.sizes)} arguments were given"
            )
        rows = zip(packed.sizes, packed.kinds, self.sizes, self.kinds, strict=True)
        for n, (given, kind, size, wanted) in enumerate(rows):
            fits = kind == "s" or kind == wanted or (wanted == "p" and kind == "i") or wanted == "s"
            if given != size or not fits:
                raise TypeError(
                    f"launch(): argument {n} of kernel {self.name} has {given} bytes of kind "
                    f"{kind!r}; its parameter has {size} of kind {wanted!r} "
                    "(i: integer, f: floating point, p: pointer, s: struct)"
                )


class Module:
    """Compiled kernel text."""

    def __init__(self, source, options):
        self._library, self.bounds = build(source, options)
        self._kernels = {}

    def kernel(self, name: str) -> Kernel:
        """A kernel by its name; KeyError naming those that there are."""
        if name not in self._kernels:
            if name not in self.bounds:
                raise KeyError(f"no kernel {name!r} in this text; there are {sorted(self.bounds)}")
            self._kernels[name] = Kernel(self._library, name, self.bounds[name])
        return self._kernels[name]


class Graph:
    """Recorded work, to be done again by :meth:`launch`; keeps its memory alive."""

    def __init__(self, work, pool):
        self.work, self.pool = work, pool

    def __len__(self):
        return len(self.work)

    def launch(self, stream: int = 0) -> None:
        """Do all recorded work, in order."""
        for action in self.work:
            action()


def _check_shape(kernel, grid, block, shared):
    threads = block[0] * block[1] * block[2]
    for name, given, limits in (("grid", grid, GRID_LIMITS), ("block", block, BLOCK_LIMITS)):
        if any(not 1 <= n <= most for n, most in zip(given, limits, strict=True)):
            raise ValueError(
                f"launch(): {name} {tuple(given)} of kernel {kernel.name}; each extent must be "
                f"between 1 and {limits}"
            )
    if threads > kernel.most_threads:
        raise ValueError(
            f"launch(): {threads} threads a block; kernel {kernel.name} allows "
            f"{kernel.most_threads}"
        )
    if not 0 <= shared <= SHARED_OPTIN:
        raise ValueError(f"launch(): {shared} bytes of shared memory; at most {SHARED_OPTIN}")


class EmulatedRuntime:
    """CUDA on the CPU, for tests. Every member states what a runtime's does."""

    name, is_hip = "emu", False
    streams = streams

    def __init__(self, devices=None):
        reason = why_unavailable()
        if reason:
            raise RuntimeError(reason)
        count = int(os.environ.get("RUSHLIGHT_EMULATED_DEVICES", "2"))
        self._devices = count if devices is None else devices
        self._pools = [Pool(d, TOTAL_MEMORY) for d in range(self._devices)]
        self._capture = {}  # stream -> (work, pool)
        self._events = {}
        self._lock = threading.RLock()
        self._next = 1
        self._streams = set(range(self._devices))
        self.counters = Counters()
        self.order = ORDERS.index(os.environ.get("RUSHLIGHT_EMULATED_ORDER", "forward"))
        self.recent = collections.deque(maxlen=16)

    # -- devices ------------------------------------------------------------------------------

    def device_count(self) -> int:
        """How many devices there are."""
        return self._devices

    @functools.cache  # noqa: B019 - one runtime lives as long as the process
    def properties(self, device: int = 0) -> DeviceProperties:
        """Properties of a device."""
        self._pool(device)
        return DeviceProperties(
            name="Emulated CUDA device",
            major=8,
            minor=0,
            total_memory=TOTAL_MEMORY,
            multi_processor_count=4,
            shared_memory_per_block_optin=SHARED_OPTIN,
        )

    # -- memory -------------------------------------------------------------------------------

    def _pool(self, device):
        if not 0 <= device < self._devices:
            raise RuntimeError(f"CUDA device {device} does not exist; there are {self._devices}")
        return self._pools[device]

    def allocate(self, nbytes: int, device: int = 0, stream: int | None = None):
        """Memory on a device, from the pool; it goes back when the block is collected."""
        if nbytes < 0:
            raise ValueError(f"allocate(): {nbytes} bytes")
        stream = streams.current(device) if stream is None else stream
        captured = self._capture.get(stream)
        pool = captured[1] if captured else self._pool(device)
        self.counters.allocations += 1
        return pool.allocate(int(nbytes), stream)

    def allocate_pinned(self, nbytes: int) -> np.ndarray:
        """Host memory, page-locked on a real device, as an array of bytes."""
        return np.empty(nbytes, np.uint8)

    def memory_statistics(self, device: int = 0) -> dict[str, int]:
        """Bytes allocated and reserved, their peaks, and counts of what the pool did."""
        return self._pool(device).statistics()

    def reset_peak(self, device: int = 0) -> None:
        """Start the peaks of the statistics again."""
        self._pool(device).reset_peak()

    def set_memory_fraction(self, fraction: float, device: int = 0) -> None:
        """Let the pool take at most this part of a device's memory."""
        self._pool(device).limit = int(fraction * TOTAL_MEMORY)

    def memory_free(self, device: int = 0) -> tuple[int, int]:
        """Bytes free on a device, and its total."""
        pool = self._pool(device)
        return TOTAL_MEMORY - pool.reserved, TOTAL_MEMORY

    def empty_cache(self) -> None:
        """Give memory that the pools hold in reserve back to the system."""
        for pool in self._pools:
            pool.empty()

    def view(self, address: int, shape, strides, dtype) -> np.ndarray:
        """Device memory as a NumPy array; it does not keep its block alive."""
        return host_view(address, shape, strides, dtype)

    # -- copies -------------------------------------------------------------------------------

    def _do(self, stream, action):
        """Work of a stream: recorded while it is captured, else done at once."""
        captured = self._capture.get(stream)
        if captured:
            captured[0].append(action)
        else:
            action()

    def copy_in(self, address: int, host_array: np.ndarray, stream: int = 0, blocking=True) -> None:
        """Host to device; `host_array` is C-contiguous. Not during capture."""
        self._refuse_in_capture("copy_in", stream)
        self.counters.copies_in += 1
        ctypes.memmove(address, host_array.ctypes.data, host_array.nbytes)

    def copy_out(
        self, host_array: np.ndarray, address: int, stream: int = 0, blocking=True
    ) -> None:
        """Device to host, and wait for it (unless not `blocking`). Not during capture."""
        self._refuse_in_capture("copy_out", stream)
        self.counters.copies_out += 1
        if blocking:
            self.counters.synchronizations += 1
        ctypes.memmove(host_array.ctypes.data, address, host_array.nbytes)

    def copy_within(self, to: int, source: int, nbytes: int, stream: int = 0) -> None:
        """Device to device (also another device)."""
        self._do(stream, lambda: ctypes.memmove(to, source, nbytes))

    def fill_bytes(self, address: int, value: int, nbytes: int, stream: int = 0) -> None:
        """Set every byte."""
        self._do(stream, lambda: ctypes.memset(address, value, nbytes))

    # -- waiting, streams, events ------------------------------------------------------------------

    def _refuse_in_capture(self, what, stream=None):
        if self._capture and (stream is None or stream in self._capture):
            raise RuntimeError(
                f"{what}: not allowed while a CUDA graph is being captured (it would wait for work "
                "that has not run)"
            )

    def _waited(self, what, stream=None):
        self._refuse_in_capture(what, stream)
        self.counters.synchronizations += 1
        for pool in self._pools:
            pool.check_all()

    def synchronize(self, device: int = 0) -> None:
        """Wait for all work of a device; raises what went wrong in it."""
        self._pool(device)
        self._waited("synchronize")

    def stream_create(self, device: int = 0, priority: int = 0) -> int:
        """A new stream's handle."""
        self._pool(device)
        with self._lock:
            made = streams.handle(self._next, device)
            self._next += 1
            self._streams.add(made)
        return made

    def _known(self, stream):
        if stream not in self._streams:
            raise RuntimeError(f"CUDA stream {stream} does not exist (any more)")

    def stream_destroy(self, stream: int) -> None:
        """Forget a stream."""
        self._known(stream)
        if stream >> streams.DEVICE_BITS:
            self._streams.discard(stream)

    def stream_synchronize(self, stream: int) -> None:
        """Wait for the work of a stream."""
        self._known(stream)
        self._waited("stream_synchronize", stream)

    def stream_query(self, stream: int) -> bool:
        """Whether a stream's work is done."""
        self._known(stream)
        return True

    def stream_pointer(self, stream: int) -> int:
        """CUDA's own handle of a stream, for other libraries."""
        self._known(stream)
        return stream >> streams.DEVICE_BITS

    def stream_wait_event(self, stream: int, event: int) -> None:
        """Later work of the stream waits for the event."""
        self._known(stream)
        self._event(event)

    def event_create(self, timing: bool = True, device: int = 0) -> int:
        """A new event's handle."""
        with self._lock:
            made, self._next = self._next, self._next + 1
        self._events[made] = [timing, None]
        return made

    def event_destroy(self, event: int) -> None:
        """Forget an event."""
        self._events.pop(event, None)

    def _event(self, event):
        try:
            return self._events[event]
        except KeyError:
            raise RuntimeError(f"CUDA event {event} does not exist (any more)") from None

    def event_record(self, event: int, stream: int = 0) -> None:
        """The event happens when the stream's work so far is done."""
        self._known(stream)
        self._event(event)[1] = time.perf_counter()

    def event_query(self, event: int) -> bool:
        """Whether the event has happened (or was never recorded)."""
        self._event(event)
        return True

    def event_synchronize(self, event: int) -> None:
        """Wait for the event."""
        self._event(event)
        self._waited("event_synchronize")

    def event_elapsed(self, start: int, end: int) -> float:
        """Milliseconds between two recorded events."""
        times = [self._event(event) for event in (start, end)]
        if not all(timing for timing, _ in times):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if any(when is None for _, when in times):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (times[1][1] - times[0][1]) * 1e3

    # -- kernels ----------------------------------------------------------------------------------

    def load(self, source: str, options=()) -> Module:
        """Compile kernel text (kept on disk); `options` as ``-DNAME=VALUE``."""
        self.counters.compilations += 1
        return Module(source, tuple(options))

    def launch(self, kernel: Kernel, grid, block, shared_bytes, stream, arguments) -> None:
        """Run a kernel: `grid` and `block` of three ints; `arguments` as in :mod:`.arguments`."""
        self._known(stream)
        grid, block = (tuple(int(n) for n in shape) for shape in (grid, block))
        _check_shape(kernel, grid, block, shared_bytes)
        packed = Packed(arguments)
        kernel.check(packed)
        self.counters.launches += 1
        self.recent.append(kernel.name)
        shape = _Launch(grid, block, shared_bytes, self.order)
        self._do(stream, lambda: self._run(kernel, packed, shape))

    def _run(self, kernel, packed, shape):
        shape.order = self.order
        with self._lock:
            if kernel.entry(packed.pointers, ctypes.byref(shape)):
                reason = scheduler().emu_message().decode()
                raise LaunchFault(f"kernel {kernel.name}: {reason}")

    @contextlib.contextmanager
    def ordered(self, order: str):
        """Inside, threads and blocks run "forward", in "reverse" or "scattered": a kernel without
        races gives equal bits."""
        before, self.order = self.order, ORDERS.index(order)
        try:
            yield
        finally:
            self.order = before

    def reversed_order(self):
        """:meth:`ordered` in reverse."""
        return self.ordered("reverse")

    # -- products ---------------------------------------------------------------------------------

    def gemm(self, product: Product, a: int, b: int, out: int, bias: int = 0, stream: int = 0):
        """The product of matrices at three addresses; `bias` as the epilogue says."""
        self._known(stream)
        product.checked()
        if (product.epilogue != "none") != bool(bias):
            raise ValueError(f"gemm(): epilogue {product.epilogue!r} and bias address {bias:#x}")
        self.counters.products += 1
        self.counters.launches += 1
        if product.m and product.n and product.batch:
            self._do(stream, lambda: self._multiply(product, a, b, out, bias))

    def _multiply(self, product, a, b, out, bias):
        def matrix(address, dtype, rows, columns, strides, step):
            size = dtype.itemsize
            strides = (step * size, strides[0] * size, strides[1] * size)
            return host_view(address, (product.batch, rows, columns), strides, dtype)

        p, (step_a, step_b, step_out) = product, product.batch_strides
        compute(
            p,
            matrix(a, p.dtype, p.m, p.k, p.a_strides, step_a),
            matrix(b, p.dtype, p.k, p.n, p.b_strides, step_b),
            matrix(out, p.result_dtype, p.m, p.n, p.out_strides, step_out),
            host_view(bias, (p.n,), None, p.result_dtype) if bias else None,
        )

    def solver(self):
        """The library of linear algebra: None, the CPU's computes on the same memory."""
        return None

    def has_cudnn(self) -> bool:
        """Whether a library for convolutions is there."""
        return False

    def cudnn_version(self) -> int | None:
        """The version of the library for convolutions."""
        return None

    def run_cudnn(self, asked, places, stream: int = 0) -> bool:
        """A convolution by a library over three addresses; False where none has it."""
        return False

    @functools.cached_property
    def _nccl(self):
        return emulated_nccl.Library(self)

    def nccl(self):
        """NCCL, or its stand-in: a `Library` of :mod:`.nccl`; ImportError where there is none."""
        return self._nccl

    # -- graphs -----------------------------------------------------------------------------------

    def graph_begin(self, stream: int, pool=None) -> None:
        """Record the stream's work from now on instead of doing it. `pool`: an earlier graph
        whose memory may be shared."""
        self._known(stream)
        if not stream >> streams.DEVICE_BITS:
            raise RuntimeError("graph_begin: a graph cannot be captured on the default stream")
        if stream in self._capture:
            raise RuntimeError("graph_begin: the stream is already being captured")
        device = streams.device_of(stream)
        private = pool.pool if pool is not None else Pool(device, TOTAL_MEMORY, private=True)
        self._capture[stream] = ([], private)

    def graph_end(self, stream: int) -> Graph:
        """The recorded work."""
        if stream not in self._capture:
            raise RuntimeError("graph_end: the stream is not being captured")
        return Graph(*self._capture.pop(stream))

    def is_capturing(self, stream: int) -> bool:
        """Whether work of the stream is being recorded."""
        return stream in self._capture

    def keep(self, stream: int, what) -> None:
        """Let the graph that is captured on a stream keep something alive."""
        self._capture[stream][1].kept.append(what)

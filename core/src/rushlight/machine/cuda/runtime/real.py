"""The real runtime: CuPy's memory pool, streams, events, modules and graphs; our own NVRTC and
cuBLASLt.

CuPy is the driver layer only. Nothing here was run on a device yet: it is written against CuPy
14's interfaces and tested as far as they answer without one.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import hashlib
import os
import threading

import numpy as np

from rushlight.machine import code_cache
from rushlight.machine.cuda.runtime import nccl, nvrtc, streams
from rushlight.machine.cuda.runtime.arguments import address_for_now
from rushlight.machine.cuda.runtime.properties import Counters
from rushlight.machine.cuda.runtime.real_memory import DeviceMemory, Pool

SHARED_WITHOUT_ASKING = 48 << 10


class Kernel:
    """One kernel: its function on each device that it ran on."""

    __slots__ = ("_functions", "module", "name")

    def __init__(self, module, name):
        self.module, self.name, self._functions = module, name, {}

    def function(self, device, shared):
        """The driver's handle of the kernel, ready for so many bytes of shared memory."""
        found, most = self._functions.get(device, (None, 0))
        if found is None:
            found = self.module.on_device(device).get_function(self.name)
            most = SHARED_WITHOUT_ASKING
        if shared > most:
            driver = self.module.runtime.cupy.cuda.driver
            driver.funcSetAttribute(
                found.ptr, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared
            )
            most = shared
        self._functions[device] = (found, most)
        return found.ptr


class Module:
    """Kernel text, compiled for the architecture of each device that it is used on."""

    def __init__(self, runtime, source, options):
        self.runtime, self.source, self.options = runtime, source, options
        self._modules, self._kernels = {}, {}

    def on_device(self, device):
        """CuPy's module on a device."""
        if device not in self._modules:
            cubin = self.runtime.cubin(self.source, self.options, device)
            with self.runtime.device(device):
                module = self.runtime.cupy.cuda.function.Module()
                module.load(cubin)
            self._modules[device] = module
        return self._modules[device]

    def kernel(self, name: str) -> Kernel:
        """A kernel by its name."""
        if name not in self._kernels:
            self._kernels[name] = Kernel(self, name)
        return self._kernels[name]


class Graph:
    """A captured graph with the pool of its memory; :meth:`launch` does its work again."""

    def __init__(self, runtime, graph, pool):
        self.runtime, self.graph, self.pool = runtime, graph, pool

    def launch(self, stream: int = 0) -> None:
        """Do all captured work, in order."""
        self.graph.launch(self.runtime.stream_object(stream))


class RealRuntime(DeviceMemory):
    """CUDA on a device; see :mod:`rushlight.machine.cuda.runtime` for its members."""

    name, is_hip = "real", False
    streams = streams
    why_no_cudnn = None

    def __init__(self):
        import cupy

        super().__init__(cupy, Counters())
        self._events, self._next, self._lock = {}, 1, threading.RLock()
        self._launch = cupy.cuda.driver.launchKernel
        self._driver_error = cupy.cuda.driver.CUDADriverError
        self.recent = collections.deque(maxlen=16)
        self.blocking = os.environ.get("CUDA_LAUNCH_BLOCKING") == "1"

    # -- waiting, streams, events ------------------------------------------------------------------

    def _explanation(self, error):
        """The driver's error with the last launches: its errors come late."""
        if not isinstance(error, (self._driver.CUDARuntimeError, self._driver_error)):
            return error
        names = ", ".join(self.recent) or "none"
        advice = "" if self.blocking else " (CUDA_LAUNCH_BLOCKING=1 shows which one failed)"
        return RuntimeError(f"CUDA: {error}; last kernels launched: {names}{advice}")

    @contextlib.contextmanager
    def _explained(self):
        try:
            yield
        except Exception as error:
            raise self._explanation(error) from error

    def _wait(self, stream):
        self.counters.synchronizations += 1
        with self._explained():
            self._use(streams.device_of(stream))
            self.stream_object(stream).synchronize()

    def synchronize(self, device: int = 0) -> None:
        """Wait for all work of a device; raises what went wrong in it."""
        self._known_device(device)
        self._refuse_in_capture("synchronize")
        self.counters.synchronizations += 1
        with self._explained(), self.device(device):
            self._driver.deviceSynchronize()

    def stream_create(self, device: int = 0, priority: int = 0) -> int:
        """A new stream's handle."""
        self._known_device(device)
        with self.device(device):
            made = self.cupy.cuda.Stream(non_blocking=True, priority=priority)
        with self._lock:
            number = streams.handle(self._next, device)
            self._next += 1
            self._streams[number] = made
        return number

    def stream_adopt(self, pointer: int, device: int = 0) -> int:
        """A handle for a stream that another library made."""
        with self._lock:
            number = streams.handle(self._next, device)
            self._next += 1
            self._streams[number] = self.cupy.cuda.ExternalStream(pointer, device)
        return number

    def stream_object(self, stream: int):
        """CuPy's stream."""
        try:
            return self._streams[stream]
        except KeyError:
            raise RuntimeError(f"CUDA stream {stream} does not exist (any more)") from None

    def stream_pointer(self, stream: int) -> int:
        """CUDA's own handle of a stream, for other libraries."""
        return self.stream_object(stream).ptr

    def stream_destroy(self, stream: int) -> None:
        """Forget a stream; its work is still done."""
        self.stream_object(stream)
        if stream >> streams.DEVICE_BITS:
            del self._streams[stream]

    def stream_synchronize(self, stream: int) -> None:
        """Wait for the work of a stream."""
        self._refuse_in_capture("stream_synchronize", stream)
        self._wait(stream)

    def stream_query(self, stream: int) -> bool:
        """Whether a stream's work is done."""
        self._use(streams.device_of(stream))
        return bool(self.stream_object(stream).done)

    def stream_wait_event(self, stream: int, event: int) -> None:
        """Later work of the stream waits for the event."""
        self._use(streams.device_of(stream))
        self.stream_object(stream).wait_event(self._event(event))

    def event_create(self, timing: bool = True, device: int = 0) -> int:
        """A new event's handle."""
        self._known_device(device)
        with self.device(device):
            made = self.cupy.cuda.Event(disable_timing=not timing)
        with self._lock:
            number, self._next = self._next, self._next + 1
            self._events[number] = [made, timing, False]
        return number

    def event_destroy(self, event: int) -> None:
        """Forget an event."""
        self._events.pop(event, None)

    def _row(self, event):
        try:
            return self._events[event]
        except KeyError:
            raise RuntimeError(f"CUDA event {event} does not exist (any more)") from None

    def _event(self, event):
        return self._row(event)[0]

    def event_record(self, event: int, stream: int = 0) -> None:
        """The event happens when the stream's work so far is done."""
        row = self._row(event)
        self._use(streams.device_of(stream))
        row[0].record(self.stream_object(stream))
        row[2] = True

    def event_query(self, event: int) -> bool:
        """Whether the event has happened (or was never recorded)."""
        return bool(self._event(event).done)

    def event_synchronize(self, event: int) -> None:
        """Wait for the event."""
        self._refuse_in_capture("event_synchronize")
        self.counters.synchronizations += 1
        with self._explained():
            self._event(event).synchronize()

    def event_elapsed(self, start: int, end: int) -> float:
        """Milliseconds between two recorded events."""
        rows = [self._row(event) for event in (start, end)]
        if not all(timing for _, timing, _ in rows):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not all(recorded for _, _, recorded in rows):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return self.cupy.cuda.get_elapsed_time(rows[0][0], rows[1][0])

    # -- kernels ----------------------------------------------------------------------------------

    def cubin(self, source, options, device) -> bytes:
        """Compiled text for a device, from disk where it was compiled before."""
        major, minor = self.properties(device).capability
        architecture = f"sm_{major}{minor}"
        words = (source, architecture, *options, *nvrtc.FLAGS)
        key = hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]
        folder = "cuda-" + "-".join(map(str, nvrtc.version() or ("none",)))
        return code_cache.made(
            folder, key, lambda: nvrtc.compile_text(source, architecture, options)[0]
        )

    def load(self, source: str, options=()) -> Module:
        """Kernel text, compiled at its first use on a device (kept on disk)."""
        self.counters.compilations += 1
        return Module(self, source, tuple(options))

    def launch(self, kernel: Kernel, grid, block, shared_bytes, stream, arguments) -> None:
        """Launch a kernel: `grid` and `block` of three ints; `arguments` as in
        :mod:`.arguments`."""
        device = streams.device_of(stream)
        self._use(device)
        function = kernel.function(device, shared_bytes)
        self.counters.launches += 1
        self.recent.append(kernel.name)
        try:
            self._launch(
                function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared_bytes,
                self._streams[stream].ptr, address_for_now(arguments), 0,
            )  # fmt: skip
        except Exception as error:
            raise self._explanation(error) from error
        if self.blocking and stream not in self._capture:
            self._wait(stream)

    # -- products ---------------------------------------------------------------------------------

    @functools.cached_property
    def _lt(self):
        from rushlight.machine.cuda.runtime.cublaslt import Library

        return Library()

    def gemm(self, product, a: int, b: int, out: int, bias: int = 0, stream: int = 0) -> None:
        """The product of matrices at three addresses; `bias` as the epilogue says."""
        if not product.plans:
            product.checked()
        if (product.epilogue != "none") != bool(bias):
            raise ValueError(f"gemm(): epilogue {product.epilogue!r} and bias address {bias:#x}")
        if not (product.m and product.n and product.batch):
            return
        self.counters.products += 1
        self.counters.launches += 1
        device = streams.device_of(stream)
        self._use(device)
        if not product.k:
            self._empty_product(product, out, stream)
            return
        pointer = self.stream_pointer(stream)
        space = functools.partial(self.allocate, device=device, stream=stream)
        try:
            self._lt.multiply(device, product, a, b, out, bias, pointer, space)
        except NotImplementedError:
            if product.epilogue == "none":
                raise
            plain = dataclasses.replace(product, epilogue="none")
            self._lt.multiply(device, plain, a, b, out, 0, pointer, space)
            self._add_epilogue(product, out, bias, stream)

    @functools.cache  # noqa: B019 - one runtime lives as long as the process
    def _epilogue(self, dtype):
        from rushlight.machine.cuda import sources

        return self.load(sources.text("epilogue", (("T", dtype),))).kernel("finish_product")

    def _add_epilogue(self, product, out, bias, stream):
        """What cuBLASLt does not fuse for a dtype, as a launch of its own."""
        kind = ("none", "bias", "relu_bias", "gelu_bias").index(product.epilogue)
        kernel = self._epilogue(product.result_dtype)
        total = product.batch * product.m * product.n
        row, column = product.out_strides
        arguments = (out, bias, total, product.m, product.n, row, column,
                     product.batch_strides[2], np.int32(kind))  # fmt: skip
        blocks = min(-(-total // 256), 65535)
        self.launch(kernel, (blocks, 1, 1), (256, 1, 1), 0, stream, arguments)

    def _empty_product(self, product, out, stream):
        """A sum over nothing is zero; cuBLASLt does not take it."""
        size = product.result_dtype.itemsize
        if product.beta or product.epilogue != "none" or product.out_strides != (product.n, 1):
            raise NotImplementedError("gemm(): k = 0 with beta, an epilogue or a strided result")
        for i in range(product.batch):
            place = out + i * product.batch_strides[2] * size
            self.fill_bytes(place, 0, product.m * product.n * size, stream)

    @functools.cached_property
    def _cudnn(self):
        from rushlight.machine.cuda.runtime.cudnn_graphs import Library

        try:
            return Library()
        except Exception as error:  # absent, or without the library it wraps
            self.why_no_cudnn = f"{type(error).__name__}: {error}"
            return None

    def has_cudnn(self) -> bool:
        """Whether cuDNN is there; `why_no_cudnn` says what is in the way."""
        return self._cudnn is not None

    def cudnn_version(self) -> int | None:
        """The version of cuDNN, None without it."""
        return self._cudnn.cudnn.backend_version() if self.has_cudnn() else None

    def run_cudnn(self, asked, places, stream: int = 0) -> bool:
        """A convolution by cuDNN over three addresses; False where it does not have it."""
        device = streams.device_of(stream)
        self._use(device)
        space = functools.partial(self.allocate, device=device, stream=stream)
        done = self._cudnn.run(device, asked, places, self.stream_pointer(stream), space)
        self.counters.launches += done
        return done

    @functools.cached_property
    def _solver(self):
        from rushlight.machine.cuda.runtime.solver import of_cupy

        return of_cupy(self.cupy)

    def solver(self):
        """cuBLAS and cuSOLVER for linear algebra: a `solver.Solver`."""
        return self._solver

    @functools.cached_property
    def _nccl(self):
        return nccl.Library(self)

    def nccl(self):
        """NCCL, a `nccl.Library`; ImportError where it is not installed."""
        return self._nccl

    # -- graphs -----------------------------------------------------------------------------------

    def graph_begin(self, stream: int, pool=None) -> None:
        """Capture the stream's work from now on. `pool`: an earlier graph whose memory may be
        shared."""
        if not stream >> streams.DEVICE_BITS:
            raise RuntimeError("graph_begin: a graph cannot be captured on the default stream")
        if stream in self._capture:
            raise RuntimeError("graph_begin: the stream is already being captured")
        private = pool.pool if pool is not None else Pool(self.cupy.cuda.memory, self._for_graph)
        self._use(streams.device_of(stream))
        self.stream_object(stream).begin_capture()
        self._capture[stream] = private

    def graph_end(self, stream: int) -> Graph:
        """The captured work, ready to launch."""
        if stream not in self._capture:
            raise RuntimeError("graph_end: the stream is not being captured")
        private = self._capture.pop(stream)
        with self._explained():
            graph = self.stream_object(stream).end_capture()
        return Graph(self, graph, private)

    def is_capturing(self, stream: int) -> bool:
        """Whether work of the stream is being captured."""
        return stream in self._capture

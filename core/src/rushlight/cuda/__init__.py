"""GPUs: availability, devices, streams, memory, random numbers and graphs.

Programs that ask :func:`is_available` first run as they are. Without a GPU questions have the
answers of PyTorch on such a machine (no memory in use, no devices), what needs a device raises, and
:func:`why_unavailable` says what is missing and how to get it.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from rushlight.refusals import rest_of, unavailable

if TYPE_CHECKING:
    from rushlight.machine.cuda.runtime.properties import DeviceProperties
    from rushlight.tensor.tensor import Tensor

# Modules and names of other modules, imported at first use.
_PARTS = frozenset(("amp", "graphs", "memory", "nvtx", "random", "streams"))
_ELSEWHERE = {
    "OutOfMemoryError": "rushlight.errors",
    "CUDAGraph": "rushlight.cuda.graphs",
    "graph": "rushlight.cuda.graphs",
    "graph_pool_handle": "rushlight.cuda.graphs",
    "is_current_stream_capturing": "rushlight.cuda.graphs",
    "make_graphed_callables": "rushlight.cuda.graphs",
    "Event": "rushlight.cuda.streams",
    "ExternalStream": "rushlight.cuda.streams",
    "Stream": "rushlight.cuda.streams",
    "StreamContext": "rushlight.cuda.streams",
    "current_stream": "rushlight.cuda.streams",
    "default_stream": "rushlight.cuda.streams",
    "set_stream": "rushlight.cuda.streams",
    "stream": "rushlight.cuda.streams",
}
_MEMORY = frozenset(
    "empty_cache get_allocator_backend host_memory_stats ipc_collect max_memory_allocated "
    "max_memory_cached max_memory_reserved mem_get_info memory_allocated memory_cached "
    "memory_reserved memory_snapshot memory_stats memory_summary reset_accumulated_memory_stats "
    "reset_max_memory_allocated reset_max_memory_cached reset_peak_memory_stats "
    "set_per_process_memory_fraction".split()
)
_RANDOM = frozenset(
    "default_generators get_rng_state get_rng_state_all initial_seed manual_seed manual_seed_all "
    "seed seed_all set_rng_state set_rng_state_all".split()
)
_TYPES = frozenset(
    "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor "
    "IntTensor LongTensor ShortTensor".split()
)


@functools.cache
def _runtime():
    return importlib.import_module("rushlight.machine.cuda.runtime")


def is_available() -> bool:
    """Whether a GPU can be used. Never raises."""
    return _runtime().available()


def why_unavailable() -> str | None:
    """Why no GPU can be used and what to install; None where one can. Never raises."""
    return _runtime().why_unavailable()


def needs_gpu(name: str, error: type[Exception] = AssertionError) -> None:
    """Raise, with what to do, what ``rushlight.cuda.<name>`` raises where there is no GPU."""
    if not is_available():
        unavailable(f"cuda.{name}", "a GPU", "GPU code with rushlight.cuda.is_available()", error)()


def _on_gpu(function: Callable) -> Callable:
    """A function that raises where there is no GPU."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        needs_gpu(function.__name__)
        return function(*args, **kwargs)

    return call


def index_of(device=None) -> int:
    """The number of a device: of an int, a string, a :class:`rushlight.device`, or None for the
    current one."""
    streams = _runtime().streams
    if device is None:
        return streams.current_device()
    if isinstance(device, int):
        return streams.current_device() if device < 0 else device
    from rushlight import devices

    found = devices.device(device)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return streams.current_device() if found.index is None else found.index


# ----------------------------------------------------------------------------------------- devices
def device_count() -> int:
    """The number of usable GPUs."""
    return _runtime().current().device_count() if is_available() else 0


def is_initialized() -> bool:
    """Whether the GPU runtime has been started."""
    return is_available()


@_on_gpu
def init() -> None:
    """Start the GPU runtime, which otherwise starts at first use."""
    _runtime().current()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the GPU computes in bfloat16."""
    if not is_available():
        return False
    return including_emulation or get_device_capability() >= (8, 0)


@_on_gpu
def current_device() -> int:
    """The number of the GPU that is used where none is named."""
    return _runtime().streams.current_device()


@_on_gpu
def set_device(device) -> None:
    """Make a GPU this thread's current one; negative numbers change nothing."""
    index = device if isinstance(device, int) else index_of(device)
    if index < 0:
        return
    if index >= device_count():
        raise RuntimeError(
            f"cuda.set_device: CUDA device {index} does not exist; there are {device_count()}"
        )
    _runtime().streams.set_device(index)


@_on_gpu
def get_device_properties(device=None) -> DeviceProperties:
    """Name, compute capability, memory and number of multiprocessors of a GPU."""
    return _runtime().current().properties(index_of(device))


@_on_gpu
def get_device_name(device=None) -> str:
    """The name of a GPU."""
    return get_device_properties(device).name


@_on_gpu
def get_device_capability(device=None) -> tuple[int, int]:
    """The compute capability of a GPU: (major, minor)."""
    found = get_device_properties(device)
    return found.major, found.minor


def get_arch_list() -> list:
    """The GPU architectures kernels are built for: those of the devices there are, since kernels
    are compiled for the GPU that runs them."""
    found = {get_device_capability(i) for i in range(device_count())}
    return [f"sm_{major}{minor}" for major, minor in sorted(found)]


@_on_gpu
def can_device_access_peer(device, peer_device) -> bool:
    """Whether a GPU reads another one's memory directly."""
    a, b = index_of(device), index_of(peer_device)
    check = getattr(_runtime().current(), "can_access_peer", None)
    return a != b and (True if check is None else bool(check(a, b)))


@_on_gpu
def synchronize(device=None) -> None:
    """Wait for all work of a GPU; what went wrong in it is raised here."""
    _runtime().current().synchronize(index_of(device))


class device:  # noqa: N801 - PyTorch's name
    """A context that makes a GPU the current one. Index -1 means none and changes nothing."""

    def __init__(self, device):
        index = getattr(device, "index", device)
        if isinstance(index, str):
            index = index_of(index)
        self.idx = -1 if index is None else index
        self._before = -1

    def __enter__(self):
        if self.idx != -1:
            if not is_available():
                raise RuntimeError(
                    f"rushlight.cuda.device({self.idx}): this version computes on the CPU only; "
                    "guard GPU code with rushlight.cuda.is_available()"
                )
            self._before = current_device()
            set_device(self.idx)
        return self

    def __exit__(self, *exc):
        if self.idx != -1:
            set_device(self._before)
        return False


class device_of(device):  # noqa: N801 - PyTorch's name
    """A context that makes a tensor's GPU the current one; nothing for tensors on the CPU."""

    def __init__(self, obj: Tensor) -> None:
        super().__init__(obj.device.index if obj.is_cuda else -1)


def _utilization(name):
    def call(device=None) -> int:
        needs_gpu(name)
        raise NotImplementedError(
            f"cuda.{name} needs NVIDIA's management library, which rushlight does not load; use "
            "nvidia-smi"
        )

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Needs NVIDIA's management library; raises."
    return call


utilization = _utilization("utilization")
temperature = _utilization("temperature")
power_draw = _utilization("power_draw")
clock_rate = _utilization("clock_rate")
memory_usage = _utilization("memory_usage")


_rest = rest_of(__name__)


def __getattr__(name):
    if name == "_initialized":
        return is_initialized()
    if name in _PARTS:
        return importlib.import_module("rushlight.cuda." + name)
    if name in _ELSEWHERE:
        return getattr(importlib.import_module(_ELSEWHERE[name]), name)
    if name in _MEMORY:
        return getattr(importlib.import_module("rushlight.cuda.memory"), name)
    if name in _RANDOM:
        return getattr(importlib.import_module("rushlight.cuda.random"), name)
    if name in _TYPES:
        from rushlight import legacy_types

        return legacy_types.on_cuda(name)
    return _rest(name)


def __dir__():
    return sorted({*globals(), *_PARTS, *_ELSEWHERE, *_MEMORY, *_RANDOM, *_TYPES})

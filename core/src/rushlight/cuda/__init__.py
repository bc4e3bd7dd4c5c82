"""GPUs. This version computes on the CPU only: there are none, and asking for one raises.

Programs that ask :func:`is_available` first run as they are. Questions have the answers of PyTorch
on a machine without a GPU (no memory in use, no devices); what needs a device raises.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict

from rushlight.refusals import rest_of, unavailable

# Modules and names of other modules, imported at first use.
_PARTS = frozenset(("amp", "nvtx", "random"))
_ELSEWHERE = {"OutOfMemoryError": "rushlight.errors"}
_TYPES = frozenset(
    "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor "
    "IntTensor LongTensor ShortTensor".split()
)


def is_available() -> bool:
    """Whether a GPU can be used: never, in this version."""
    return False


def device_count() -> int:
    """The number of usable GPUs: 0."""
    return 0


def is_initialized() -> bool:
    """Whether the GPU runtime has been started: never."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the GPU computes in bfloat16: there is none."""
    return False


def manual_seed(seed: int) -> None:
    """Seed the GPU generator; without a GPU there is none to seed, as in PyTorch."""


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs; there are none."""


def get_rng_state_all() -> list:
    """The states of the generators of all GPUs: an empty list."""
    return []


def set_rng_state_all(new_states) -> None:
    """Set the generators of all GPUs; a state for a GPU that is not here raises."""
    for index, _ in enumerate(new_states):
        raise AssertionError(
            f"rushlight.cuda.set_rng_state_all: there is no GPU {index} to set a state of; guard "
            "GPU code with rushlight.cuda.is_available()"
        )


def empty_cache() -> None:
    """Free cached GPU memory; there is none."""


def get_arch_list() -> list:
    """The GPU architectures kernels are built for: none."""
    return []


def memory_allocated(device=None) -> int:
    """Bytes of GPU memory in use: 0, as in PyTorch without a GPU."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated
memory_cached = max_memory_cached = memory_allocated


def memory_stats(device=None) -> OrderedDict:
    """Statistics of GPU memory: none."""
    return OrderedDict()


def memory_summary(device=None, abbreviated: bool = False) -> str:
    """A printable account of GPU memory."""
    return "No GPU memory is in use: this version computes on the CPU only."


def reset_peak_memory_stats(device=None) -> None:
    """Start measuring peaks of GPU memory anew; all of them are 0."""


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats
reset_accumulated_memory_stats = reset_peak_memory_stats


def _unavailable(name):
    guard = "GPU code with rushlight.cuda.is_available()"
    return unavailable(f"cuda.{name}", "a GPU", guard, AssertionError)


init = _unavailable("init")
synchronize = _unavailable("synchronize")
current_device = _unavailable("current_device")
set_device = _unavailable("set_device")
get_device_name = _unavailable("get_device_name")
get_device_properties = _unavailable("get_device_properties")
get_device_capability = _unavailable("get_device_capability")
current_stream = _unavailable("current_stream")
default_stream = _unavailable("default_stream")
set_stream = _unavailable("set_stream")
get_rng_state = _unavailable("get_rng_state")
set_rng_state = _unavailable("set_rng_state")
initial_seed = _unavailable("initial_seed")
seed = _unavailable("seed")
seed_all = _unavailable("seed_all")
mem_get_info = _unavailable("mem_get_info")
memory_snapshot = _unavailable("memory_snapshot")
ipc_collect = _unavailable("ipc_collect")
utilization = _unavailable("utilization")
can_device_access_peer = _unavailable("can_device_access_peer")
set_per_process_memory_fraction = _unavailable("set_per_process_memory_fraction")


def is_current_stream_capturing() -> bool:
    """Whether calls are being recorded as a GPU graph: never."""
    return False


class _NeedsGPU:
    def __init__(self, *args, **kwargs):
        raise RuntimeError(
            f"rushlight.cuda.{type(self).__name__}: this version computes on the CPU only; guard "
            "GPU code with rushlight.cuda.is_available()"
        )


class Stream(_NeedsGPU):
    """An order of execution on a GPU; there is none, so making one raises."""


class ExternalStream(Stream):
    """A stream made by another library; there is no GPU, so wrapping one raises."""


class Event(_NeedsGPU):
    """A mark in a stream; there is no GPU, so making one raises."""


class CUDAGraph(_NeedsGPU):
    """A recorded sequence of GPU work; there is no GPU, so making one raises."""


class graph(_NeedsGPU):  # noqa: N801 - PyTorch's name
    """Records a GPU graph; there is no GPU, so making one raises."""


class device:  # noqa: N801 - PyTorch's name
    """A context that makes a GPU the current one. Index -1 means none and changes nothing."""

    def __init__(self, device):
        index = getattr(device, "index", device)
        self.idx = -1 if index is None else index

    def __enter__(self):
        if self.idx != -1:
            raise RuntimeError(
                f"rushlight.cuda.device({self.idx}): this version computes on the CPU only; guard "
                "GPU code with rushlight.cuda.is_available()"
            )
        return self

    def __exit__(self, *exc):
        return False


class device_of(device):  # noqa: N801 - PyTorch's name
    """A context that makes a tensor's GPU the current one; nothing for tensors on the CPU."""

    def __init__(self, obj):
        super().__init__(obj.device.index if obj.is_cuda else -1)


def stream(stream) -> contextlib.AbstractContextManager:
    """A context that makes a stream the current one; None, the only value there can be without a
    GPU, changes nothing."""
    if stream is None:
        return contextlib.nullcontext()
    raise RuntimeError(
        "rushlight.cuda.stream: expected None, because there are no streams without a GPU, got "
        f"{type(stream).__name__}"
    )


_rest = rest_of(__name__)


def __getattr__(name):
    import importlib

    if name in _PARTS:
        return importlib.import_module("rushlight.cuda." + name)
    if name in _ELSEWHERE:
        return getattr(importlib.import_module(_ELSEWHERE[name]), name)
    if name in _TYPES:
        from rushlight import legacy_types

        return legacy_types.on_cuda(name)
    return _rest(name)

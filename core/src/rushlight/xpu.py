"""Intel GPUs: this version computes on the CPU only, so there are none."""

from __future__ import annotations

from rushlight.refusals import rest_of, unavailable


def is_available() -> bool:
    """Whether an Intel GPU can be used: never, in this version."""
    return False


def device_count() -> int:
    """The number of usable Intel GPUs: 0."""
    return 0


def is_initialized() -> bool:
    """Whether the runtime has been started: never."""
    return False


def is_bf16_supported() -> bool:
    """Whether the device computes in bfloat16: there is none."""
    return False


def manual_seed(seed: int) -> None:
    """Seed the device's generator; there is none to seed, as in PyTorch without such a device."""


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices; there are none."""


def empty_cache() -> None:
    """Free cached device memory; there is none."""


def memory_allocated(device=None) -> int:
    """Bytes of device memory in use: 0, as in PyTorch without such a device."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def _unavailable(name):
    guard = "the call with rushlight.xpu.is_available()"
    return unavailable(f"xpu.{name}", "an Intel GPU", guard, AssertionError)


synchronize = _unavailable("synchronize")
current_device = _unavailable("current_device")
set_device = _unavailable("set_device")
get_device_name = _unavailable("get_device_name")
get_device_properties = _unavailable("get_device_properties")
get_device_capability = _unavailable("get_device_capability")
current_stream = _unavailable("current_stream")

__getattr__ = rest_of(__name__)

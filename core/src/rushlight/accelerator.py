"""Whatever computes beside the CPU: GPUs, where there are any."""

from __future__ import annotations

import functools

from rushlight import cuda, devices


def is_available() -> bool:
    """Whether there is an accelerator."""
    return cuda.is_available()


def device_count() -> int:
    """The number of accelerators."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False):
    """The kind of accelerator as a device without a number, or None where there is none."""
    return devices.device("cuda") if is_available() else None


def _passed_on(name, own):
    @functools.wraps(getattr(cuda, own))
    def call(*args, **kwargs):
        if not is_available():
            raise RuntimeError(
                f"rushlight.accelerator.{name}: cannot access an accelerator when none is "
                "available; guard the call with rushlight.accelerator.is_available()"
            )
        return getattr(cuda, own)(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


current_device_index = current_device_idx = _passed_on("current_device_index", "current_device")
set_device_index = set_device_idx = _passed_on("set_device_index", "set_device")
current_stream = _passed_on("current_stream", "current_stream")
set_stream = _passed_on("set_stream", "set_stream")
synchronize = _passed_on("synchronize", "synchronize")
empty_cache = _passed_on("empty_cache", "empty_cache")
memory_allocated = _passed_on("memory_allocated", "memory_allocated")
max_memory_allocated = _passed_on("max_memory_allocated", "max_memory_allocated")

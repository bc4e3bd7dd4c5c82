"""Whatever computes beside the CPU: in this version nothing does."""

from __future__ import annotations


def is_available() -> bool:
    """Whether there is an accelerator: never, in this version."""
    return False


def device_count() -> int:
    """The number of accelerators: 0."""
    return 0


def current_accelerator(check_available: bool = False):
    """The accelerator's device, or None: there is none."""
    return None


def _unavailable(name):
    def call(*args, **kwargs):
        raise RuntimeError(
            f"rushlight.accelerator.{name}: cannot access an accelerator when none is available; "
            "guard the call with rushlight.accelerator.is_available()"
        )

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Needs an accelerator; raises RuntimeError in this version."
    return call


current_device_index = current_device_idx = _unavailable("current_device_index")
set_device_index = set_device_idx = _unavailable("set_device_index")
current_stream = _unavailable("current_stream")
set_stream = _unavailable("set_stream")
synchronize = _unavailable("synchronize")
empty_cache = _unavailable("empty_cache")
memory_allocated = _unavailable("memory_allocated")
max_memory_allocated = _unavailable("max_memory_allocated")

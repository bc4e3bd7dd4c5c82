"""GPUs. This version computes on the CPU only: there are none, and asking for one raises.

Programs that ask :func:`is_available` first run as they are.
"""

from __future__ import annotations


def is_available() -> bool:
    """Whether a GPU can be used: never, in this version."""
    return False


def device_count() -> int:
    """The number of usable GPUs: 0."""
    return 0


def is_initialized() -> bool:
    """Whether the GPU runtime has been started: never."""
    return False


def is_bf16_supported() -> bool:
    """Whether the GPU computes in bfloat16: there is none."""
    return False


def manual_seed(seed: int) -> None:
    """Seed the GPU generator; without a GPU there is none to seed, as in PyTorch."""


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs; there are none."""


def empty_cache() -> None:
    """Free cached GPU memory; there is none."""


def _unavailable(name):
    def call(*args, **kwargs):
        raise AssertionError(
            f"rushlight.cuda.{name}: this version computes on the CPU only; guard GPU code with "
            "rushlight.cuda.is_available()"
        )

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Needs a GPU; raises AssertionError in this version."
    return call


synchronize = _unavailable("synchronize")
current_device = _unavailable("current_device")
set_device = _unavailable("set_device")
get_device_name = _unavailable("get_device_name")
get_device_properties = _unavailable("get_device_properties")
memory_allocated = _unavailable("memory_allocated")
max_memory_allocated = _unavailable("max_memory_allocated")

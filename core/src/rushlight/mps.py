"""Apple GPUs: this version computes on the CPU only, so there are none."""

from __future__ import annotations

from rushlight.refusals import rest_of, unavailable


def is_available() -> bool:
    """Whether an Apple GPU can be used: never, in this version."""
    return False


def device_count() -> int:
    """The number of usable Apple GPUs: 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the device's generator; there is none to seed."""


def seed() -> None:
    """Seed the device's generator from the operating system; there is none to seed."""


def _unavailable(name):
    guard = "the call with rushlight.backends.mps.is_available()"
    return unavailable(f"mps.{name}", "an Apple GPU", guard)


empty_cache = _unavailable("empty_cache")
synchronize = _unavailable("synchronize")
current_allocated_memory = _unavailable("current_allocated_memory")
driver_allocated_memory = _unavailable("driver_allocated_memory")
recommended_max_memory = _unavailable("recommended_max_memory")
set_per_process_memory_fraction = _unavailable("set_per_process_memory_fraction")
get_rng_state = _unavailable("get_rng_state")
set_rng_state = _unavailable("set_rng_state")

__getattr__ = rest_of(__name__)

"""The state of the default random generator."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from rushlight.ops.random.sampling import (
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

__all__ = [
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


@contextlib.contextmanager
def fork_rng(
    devices=None,
    enabled: bool = True,
    _caller="fork_rng",
    _devices_kw="devices",
    device_type="cuda",
) -> Iterator[None]:
    """Inside, draw as one likes: afterwards the generator continues where it was before.

    `devices` names further devices whose generators are kept; there are none on the CPU, so a
    list with an index in it raises.
    """
    from rushlight import cuda

    count = cuda.device_count() if enabled and device_type == "cuda" else 0
    if enabled and devices and (not count or any(not 0 <= d < count for d in map(_index, devices))):
        raise RuntimeError(
            f"{_caller}(): argument '{_devices_kw}' names {list(devices)}, but there is no "
            f"{device_type} device; only the CPU's generator exists, and it is always kept"
        )
    if not enabled:
        yield
        return
    chosen = range(count) if devices is None else [_index(d) for d in devices]
    state, kept = get_rng_state(), [(d, cuda.get_rng_state(d)) for d in chosen if count]
    try:
        yield
    finally:
        set_rng_state(state)
        for device, there in kept:
            cuda.set_rng_state(there, device)


def _index(device):
    return device if isinstance(device, int) else getattr(device, "index", None) or 0

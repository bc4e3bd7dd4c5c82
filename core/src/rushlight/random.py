"""The state of the default random generator."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from rushlight.ops.random import (
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
    if enabled and devices:
        raise RuntimeError(
            f"{_caller}(): argument '{_devices_kw}' names {list(devices)}, but there is no "
            f"{device_type} device; only the CPU's generator exists, and it is always kept"
        )
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)

"""PyTorch's switches for cuDNN: CUDA's convolutions heed them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True
fp32_precision = "none"

_SWITCHES = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")


def is_available() -> bool:
    """Whether there is a device and cuDNN for its convolutions."""
    return version() is not None


def version() -> int | None:
    """The version of cuDNN, as 92800; None where there is none."""
    from rushlight.machine.cuda import runtime

    return runtime.current().cudnn_version() if runtime.available() else None


def is_acceptable(tensor) -> bool:
    """Whether cuDNN would take a tensor: never."""
    return False


def set_flags(
    _enabled=None, _benchmark=None, _benchmark_limit=None, _deterministic=None, _allow_tf32=None
) -> tuple:
    """Set the switches that are given; returns all former values."""
    space = globals()
    before = tuple(space[name] for name in _SWITCHES)
    given = (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32)
    for name, value in zip(_SWITCHES, given, strict=True):
        if value is not None:
            space[name] = value
    return before


@contextlib.contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """Inside, the switches are as given; afterwards they are as before."""
    before = set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    try:
        yield
    finally:
        globals().update(zip(_SWITCHES, before, strict=True))

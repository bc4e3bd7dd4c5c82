"""PyTorch's switches for oneDNN, which this package does not use."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

enabled = True
deterministic = False
allow_tf32 = True
verbose = 0


def is_available() -> bool:
    """Whether oneDNN is used: it is not; products and convolutions have kernels of their own."""
    return False


@contextlib.contextmanager
def flags(
    enabled: bool = False,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """Inside, the switches are as given; afterwards they are as before."""
    space = globals()
    before = {name: space[name] for name in ("enabled", "deterministic", "allow_tf32")}
    space.update(enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32)
    try:
        yield
    finally:
        space.update(before)

"""``torch.backends.cudnn``: the library is absent; its switches change nothing."""

from __future__ import annotations

import contextlib

enabled = True
deterministic = False
benchmark = False
benchmark_limit: int | None = None
allow_tf32 = True


def is_available() -> bool:
    """False: there is no cuDNN."""
    return False


def version() -> None:
    """None: there is no cuDNN."""
    return None


@contextlib.contextmanager
def flags(
    enabled=False,
    benchmark=False,
    benchmark_limit=10,
    deterministic=False,
    allow_tf32=True,
    fp32_precision="none",
):
    """Set the switches inside a ``with`` block."""
    given = {
        "enabled": enabled,
        "benchmark": benchmark,
        "benchmark_limit": benchmark_limit,
        "deterministic": deterministic,
        "allow_tf32": allow_tf32,
    }
    before = {name: globals()[name] for name in given}
    globals().update(given)
    try:
        yield
    finally:
        globals().update(before)

"""A hook for measurements."""

from __future__ import annotations

from rushlight.futures import Future

__all__ = ["noop_hook"]


def noop_hook(_, bucket) -> Future:
    """No communication: every rank keeps its own gradients."""
    future = Future()
    future.set_result(bucket.buffer())
    return future

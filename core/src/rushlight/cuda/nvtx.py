"""Marks for NVIDIA's profilers, which need a GPU."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from rushlight.refusals import unavailable


def _unavailable(name):
    guard = "the call with rushlight.cuda.is_available()"
    return unavailable(f"cuda.nvtx.{name}", "NVIDIA's tools", guard)


range_push = _unavailable("range_push")
range_pop = _unavailable("range_pop")
range_start = _unavailable("range_start")
range_end = _unavailable("range_end")
mark = _unavailable("mark")


@contextlib.contextmanager
def range(msg: str, *args, **kwargs) -> Iterator[None]:  # noqa: A001 - PyTorch's name
    """Mark a stretch of the program; raises like :func:`range_push`."""
    range_push(msg.format(*args, **kwargs))
    yield

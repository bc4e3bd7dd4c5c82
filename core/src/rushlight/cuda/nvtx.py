"""Marks for NVIDIA's profilers.

On a GPU they go to CuPy's binding of NVTX; the emulator keeps the open ranges and nothing else.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

from rushlight.cuda import is_available
from rushlight.machine.cuda import runtime
from rushlight.refusals import unavailable

_open: list[str] = []
_numbers = itertools.count(1)


def _library(name):
    """The binding, or None on the emulator; raises without a GPU."""
    if not is_available():
        guard = "the call with rushlight.cuda.is_available()"
        unavailable(f"cuda.nvtx.{name}", "NVIDIA's tools", guard)()
    current = runtime.current()
    return None if current.name == "emu" else current.library.cuda.nvtx


def range_push(msg: str) -> int:
    """Open a range; the number of ranges open before it."""
    library = _library("range_push")
    if library is not None:
        library.RangePush(msg)
    _open.append(msg)
    return len(_open) - 1


def range_pop() -> int:
    """Close the innermost range; the number of ranges still open."""
    library = _library("range_pop")
    if not _open:
        return -1
    if library is not None:
        library.RangePop()
    _open.pop()
    return len(_open)


def range_start(msg: str) -> int:
    """Open a range that need not be nested; the handle that closes it."""
    _library("range_start")
    mark(msg)
    return next(_numbers)


def range_end(range_id: int) -> None:
    """Close a range of :func:`range_start`."""
    _library("range_end")


def mark(msg: str) -> None:
    """Mark a moment."""
    library = _library("mark")
    if library is not None:
        library.Mark(msg)


@contextlib.contextmanager
def range(msg: str, *args, **kwargs) -> Iterator[None]:  # noqa: A001 - PyTorch's name
    """Mark a stretch of the program; raises like :func:`range_push`."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()

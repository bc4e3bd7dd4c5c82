"""Python's own multiprocessing, with tensors sent through shared memory and processes started
together by :func:`spawn`.

A tensor that is put into a queue or a pipe is copied into a shared block once; the receiver uses
that block as its memory, and the block goes when the tensor does.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403 - it is the standard module, with two things added

from rushlight.multiprocessing import reductions
from rushlight.multiprocessing.spawn import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

_STRATEGIES = frozenset(("file_descriptor", "file_system"))
_strategy = ["file_system"]


def get_all_sharing_strategies() -> set:
    """The names that :func:`set_sharing_strategy` takes."""
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """How tensors are shared: by a named block of shared memory ("file_system"), unless another
    name was set."""
    return _strategy[0]


def set_sharing_strategy(new_strategy: str) -> None:
    """Set the name that :func:`get_sharing_strategy` gives; blocks of shared memory lose their name
    as soon as they are received, so that neither of PyTorch's two ways has its drawback here."""
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"set_sharing_strategy: expected one of {sorted(_STRATEGIES)}, got {new_strategy!r}"
        )
    _strategy[0] = new_strategy


reductions.install()

__all__ = [
    *multiprocessing.__all__,
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]

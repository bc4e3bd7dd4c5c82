"""Python's own multiprocessing, with tensors sent through shared memory and processes started
together by :func:`spawn`.

A tensor that is put into a queue or a pipe moves to shared memory; the receiver's tensor is in
the same memory. It has no name in any file system: the kernel frees it when the last process that
uses it is gone, however that one ended.
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
from rushlight.multiprocessing.strategies import (
    get_all_sharing_strategies,
    get_sharing_strategy,
    set_sharing_strategy,
)

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

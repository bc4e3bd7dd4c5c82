# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from rushlight._words import _bool
from rushlight._words import _float
from rushlight._words import _int
from rushlight._words import _str
from typing import Any

class ProcessContext:
    def __init__(self, processes: Sequence[BaseProcess], error_files: Sequence[_str]) -> None: ...
    def pids(self) -> list[Any]: ...
    def join(self, timeout: _float | None = ..., grace_period: _float | None = ...) -> _bool: ...
    processes: Sequence[BaseProcess]
    error_files: Sequence[_str]
    sentinels: Any
class ProcessException(Exception):
    def __init__(self, msg: _str, error_index: _int, error_pid: _int | None) -> None: ...
    msg: _str
    error_index: _int
    error_pid: _int | None
class ProcessExitedException(ProcessException):
    def __init__(self, msg: _str, error_index: _int, error_pid: _int, exit_code: _int, signal_name: _str | None = ...) -> None: ...
    exit_code: _int
    signal_name: _str | None
class ProcessRaisedException(ProcessException):
    ...
class SpawnContext(ProcessContext):
    def __init__(self, processes: Sequence[Any], error_files: Sequence[_str]) -> None: ...
def spawn(fn: Callable[..., Any], args: tuple[Any, ...] = ..., nprocs: _int = ..., join: _bool = ..., daemon: _bool = ..., start_method: _str = ...) -> ProcessContext | None: ...
def start_processes(fn: Callable[..., Any], args: tuple[Any, ...] = ..., nprocs: _int = ..., join: _bool = ..., daemon: _bool = ..., start_method: _str = ...) -> ProcessContext | None: ...

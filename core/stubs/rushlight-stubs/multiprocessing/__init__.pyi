# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from rushlight._words import _bool
from rushlight._words import _int
from rushlight._words import _str
from typing import Any

from multiprocessing import Array as Array
from multiprocessing.context import AuthenticationError as AuthenticationError
from multiprocessing import Barrier as Barrier
from multiprocessing import BoundedSemaphore as BoundedSemaphore
from multiprocessing.context import BufferTooShort as BufferTooShort
from multiprocessing import Condition as Condition
from multiprocessing import Event as Event
from multiprocessing import JoinableQueue as JoinableQueue
from multiprocessing import Lock as Lock
from multiprocessing import Manager as Manager
from multiprocessing import Pipe as Pipe
from multiprocessing import Pool as Pool
from multiprocessing.context import Process as Process
from rushlight.multiprocessing.spawn import ProcessContext as ProcessContext
from multiprocessing.context import ProcessError as ProcessError
from rushlight.multiprocessing.spawn import ProcessExitedException as ProcessExitedException
from rushlight.multiprocessing.spawn import ProcessRaisedException as ProcessRaisedException
from multiprocessing import Queue as Queue
from multiprocessing import RLock as RLock
from multiprocessing import RawArray as RawArray
from multiprocessing import RawValue as RawValue
from multiprocessing import Semaphore as Semaphore
from multiprocessing import SimpleQueue as SimpleQueue
from rushlight.multiprocessing.spawn import SpawnContext as SpawnContext
from multiprocessing.context import TimeoutError as TimeoutError
from multiprocessing import Value as Value
from multiprocessing import active_children as active_children
from multiprocessing import allow_connection_pickling as allow_connection_pickling
from multiprocessing import cpu_count as cpu_count
from multiprocessing import current_process as current_process
from multiprocessing import freeze_support as freeze_support
def get_all_sharing_strategies() -> set[Any]: ...
from multiprocessing import get_all_start_methods as get_all_start_methods
from multiprocessing import get_context as get_context
from multiprocessing import get_logger as get_logger
def get_sharing_strategy() -> _str: ...
from multiprocessing import get_start_method as get_start_method
from multiprocessing import log_to_stderr as log_to_stderr
from multiprocessing import parent_process as parent_process
from multiprocessing import set_executable as set_executable
from multiprocessing import set_forkserver_preload as set_forkserver_preload
def set_sharing_strategy(new_strategy: _str) -> None: ...
from multiprocessing import set_start_method as set_start_method
def spawn(fn: Callable[..., Any], args: tuple[Any, ...] = ..., nprocs: _int = ..., join: _bool = ..., daemon: _bool = ..., start_method: _str = ...) -> ProcessContext | None: ...
def start_processes(fn: Callable[..., Any], args: tuple[Any, ...] = ..., nprocs: _int = ..., join: _bool = ..., daemon: _bool = ..., start_method: _str = ...) -> ProcessContext | None: ...

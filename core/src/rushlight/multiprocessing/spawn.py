"""Starting several processes with one function, and learning which of them failed and why."""

from __future__ import annotations

import ctypes
import logging
import multiprocessing
import multiprocessing.connection
import os
import pickle
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
logger = logging.getLogger(__name__)


class ProcessException(Exception):
    """A process that was started here failed."""

    def __init__(self, msg: str, error_index: int, error_pid: int | None):
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """A process ended by an exception; the message holds its traceback."""


class ProcessExitedException(ProcessException):
    """A process ended by a signal or with an exit status of its own."""

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (
            self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name,
        )  # fmt: skip


def _end_with_parent():
    """Be interrupted when the parent dies, so that nobody is left behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGINT)


def _run(function, index, args, error_file):
    _end_with_parent()
    try:
        function(index, *args)
    except KeyboardInterrupt:
        return  # the parent was interrupted too, and says so
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        _tell_others()
        sys.exit(1)


def _tell_others():
    """Let the other ranks of a job hear of the failure, and not only that this one has left."""
    lifetime = sys.modules.get("rushlight.distributed.lifetime")
    if lifetime is not None:
        error = sys.exc_info()[1]
        lifetime.note_failure(f"{type(error).__name__}: {error}")


class ProcessContext:
    """The processes that one call started."""

    def __init__(self, processes, error_files):
        self.processes, self.error_files = processes, error_files
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self) -> list:
        """The processes' numbers."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait for one or more processes to end; True when all have. If one failed, the others are
        terminated and its failure is raised."""
        if not self.sentinels:
            return True
        ready = multiprocessing.connection.wait(self.sentinels, timeout=timeout)
        failed = None
        for sentinel in ready:
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index
                break
        if failed is None:
            return not self.sentinels
        failed = self._first_failed(failed)
        self._stop_others(grace_period)
        raise self._failure(failed)

    def _first_failed(self, seen):
        """Which process failed first: others may have failed in consequence and be gone already."""
        for index, process in enumerate(self.processes):
            if process.exitcode is not None and process.exitcode < 0:
                return index  # by a signal; what it left others to wait for failed later
        times = {}
        for index, path in enumerate(self.error_files):
            if os.path.exists(path):
                times[index] = os.stat(path).st_mtime_ns
        return min(times, key=times.get, default=seen)

    def _stop_others(self, grace_period):
        """Ask the processes that still run to end, then end them."""
        if grace_period is not None:
            self._join_all(grace_period)
        for process in self.processes:
            if process.is_alive():
                logger.warning("Terminating process %s via signal SIGTERM", process.pid)
                process.terminate()
        self._join_all(30 if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():
                logger.warning("Process %s does not end by SIGTERM: killing it", process.pid)
                process.kill()
            process.join()

    def _join_all(self, seconds):
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0, end - time.monotonic()))

    def _failure(self, index):
        process = self.processes[index]
        try:
            with open(self.error_files[index], "rb") as file:
                original = pickle.load(file)  # noqa: S301 - written by our own process
        except (FileNotFoundError, EOFError):
            return self._exit(index, process)
        message = f"\n\n-- Process {index} terminated with the following error:\n{original}"
        return ProcessRaisedException(message, index, process.pid)

    @staticmethod
    def _exit(index, process):
        code, name = process.exitcode, None
        message = f"process {index} terminated with exit code {code}"
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<Unknown signal {-code}>"
            message = f"process {index} terminated with signal {name}"
        return ProcessExitedException(message, index, process.pid, code, name)


class SpawnContext(ProcessContext):
    """The former name of :class:`ProcessContext`."""

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]):
        warnings.warn("SpawnContext is called ProcessContext now.", stacklevel=2)
        super().__init__(processes, error_files)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs=1,
    join=True,
    daemon=False,
    start_method="spawn",
) -> ProcessContext | None:
    """Run ``fn(i, *args)`` in `nprocs` processes, for i from 0.

    With `join` waits for all of them and returns None; if one fails the others are stopped and its
    traceback is raised. Otherwise returns the :class:`ProcessContext`.
    """
    context = multiprocessing.get_context(start_method)
    folder = tempfile.mkdtemp(prefix="rushlight-spawn-")
    processes, files = [], []
    for index in range(nprocs):
        files.append(os.path.join(folder, str(index)))
        process = context.Process(target=_run, args=(fn, index, args, files[-1]), daemon=daemon)
        process.start()
        processes.append(process)
    started = ProcessContext(processes, files)
    weakref.finalize(started, shutil.rmtree, folder, ignore_errors=True)
    if not join:
        return started
    while not started.join():
        continue
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs=1,
    join=True,
    daemon=False,
    start_method="spawn",
) -> ProcessContext | None:
    """:func:`start_processes` with new interpreters; `fn` must be importable from its module."""
    if start_method != "spawn":
        warnings.warn(
            f"spawn() always starts new interpreters; for start_method={start_method!r} use "
            "start_processes()",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")

"""Signals of worker processes: for loaders of libraries, which start workers of their own."""

from __future__ import annotations

import faulthandler
import os
import signal
import threading

_workers: dict[int, tuple[int, ...]] = {}  # number of an iterator -> the processes of its workers
_SIGCHLD_handler_set = False


def _set_worker_signal_handlers() -> None:
    """Let a worker that is ended by SIGSEGV, SIGBUS or the like write where it was."""
    faulthandler.enable()


def _set_worker_pids(key: int, pids: tuple[int, ...]) -> None:
    """Watch the workers of an iterator. Raises ValueError where it has some already."""
    if key in _workers:
        raise ValueError(f"the workers of iterator {key} are watched already; remove them first")
    _workers[key] = tuple(pids)


def _remove_worker_pids(key: int) -> None:
    """Watch the workers of an iterator no longer. Raises ValueError for one without."""
    if key not in _workers:
        raise ValueError(f"no workers of iterator {key} are watched")
    del _workers[key]


def _error_if_any_worker_fails() -> None:
    """RuntimeError for a watched worker that ended otherwise than with exit code 0; all workers of
    its iterator are watched no longer."""
    for key, pids in list(_workers.items()):
        for pid in pids:
            ended = _ending(pid)
            if ended:
                del _workers[key]
                raise RuntimeError(f"DataLoader worker (pid {pid}) {ended}")


def _ending(pid):
    """How a child ended in an unusual way, else "". It is left to be waited for by its owner."""
    try:
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # waited for already
        return ""
    if found is None:
        return ""
    if found.si_code == os.CLD_EXITED:
        status = found.si_status
        return f"exited unexpectedly with exit code {status}." if status else ""
    return f"is killed by signal: {signal.strsignal(found.si_status)}."


def _set_SIGCHLD_handler() -> None:  # noqa: N802 - PyTorch's name
    """Raise in the main thread as soon as a watched worker fails; the former handler is called
    first. Does nothing in other threads, which cannot set handlers."""
    global _SIGCHLD_handler_set
    if _SIGCHLD_handler_set or threading.current_thread() is not threading.main_thread():
        return
    former = signal.getsignal(signal.SIGCHLD)

    def handler(number, frame):
        if callable(former):
            former(number, frame)
        _error_if_any_worker_fails()

    signal.signal(signal.SIGCHLD, handler)
    _SIGCHLD_handler_set = True

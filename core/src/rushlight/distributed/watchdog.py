"""A thread that looks after operations of GPUs, for which no process waits.

A rank that is gone, or an operation that is over its time, leaves kernels that never end; the
process would compute with what they have not filled. So it ends: with the reason, an exit code that
is not 0, and news to the others. ``TORCH_NCCL_ASYNC_ERROR_HANDLING=0`` leaves it running.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from rushlight.distributed.groups import job
from rushlight.distributed.works import Work

INTERVAL = 0.2  # seconds between two looks
_ended = os._exit  # replaced in tests


class Watched:
    """What is told of an operation: all of its :class:`Work` but the tensors, which may go."""

    __slots__ = ("_carrier", "_group", "_name", "_number", "_peers", "_shape", "end", "requests")
    described = Work.described

    def __init__(self, work):
        self._group, self._name, self._shape = work._group, work._name, work._shape
        self._number, self._peers, self._carrier = work._number, work._peers, work._carrier
        self.requests = work._requests
        seconds = self._group.timeout.total_seconds()
        self.end = time.monotonic() + seconds if seconds > 0 else float("inf")

    def obstacle(self) -> str | None:
        """Why it cannot end, as far as that is known."""
        reason = self._group.obstacle(self) or self._carrier.error()
        if reason is None and time.monotonic() > self.end:
            seconds = self._group.timeout.total_seconds()
            reason = f"timed out after {seconds:g} s{self._group.absent(self)}"
        return reason


class Watchdog:
    """Operations that are on streams, each with the time by which it must have ended."""

    def __init__(self):
        self.entries: list = []
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None

    def watch(self, work) -> None:
        """Look after an operation that was started."""
        with self.lock:
            self.entries.append(Watched(work))
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(target=self._run, name="nccl", daemon=True)
                self.thread.start()

    def look(self) -> str | None:
        """Forget what has ended; why one of the rest cannot end, if that is known."""
        with self.lock:
            self.entries = [e for e in self.entries if not all(r.ended() for r in e.requests)]
            waiting = list(self.entries)
        for entry in waiting:
            reason = entry.obstacle()
            if reason is not None:
                return f"{entry.described()} {reason}"
        return None

    def _run(self):
        while True:
            time.sleep(INTERVAL)
            reason = self.look()
            if reason is not None:
                _fail(reason)
                return


def _fail(reason):
    if os.environ.get("TORCH_NCCL_ASYNC_ERROR_HANDLING") == "0":
        return
    sys.stderr.write(f"rushlight.distributed: {reason}\n")
    sys.stderr.flush()
    if job.control is not None:
        job.control.fail(reason, INTERVAL)
    _ended(1)


watchdog = Watchdog()

"""A rank's end of the control connection: who left the job, who is gone, and leaving oneself.

A rank that leaves says how many operations it has issued in every group. The others know by that
whether it still takes part in what they wait for, and tell it once they have received what it sent.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable

SILENCE = 30_000  # milliseconds after which a launcher that answers nothing is given up
GRACE = 2.0  # seconds for a call into MPI that cannot be interrupted, once a rank is gone


class Control:
    """What one rank of `size` knows of the others; `completed` gives the operations done by group.
    `served_by`: the rank whose process the server is in, if it is in one's."""

    def __init__(self, rank: int, size: int, address, token: str,
                 completed: Callable[[], dict], served_by: int | None = 0):  # fmt: skip
        self.rank, self.completed, self.served_by = rank, completed, served_by
        self.gone: dict[int, str] = {}
        self.left: dict[int, dict] = {}
        self.settled: set[int] = set()
        self.released = threading.Event()
        self.leaving = False
        # Since when this rank is inside of a call that cannot be given up; None: it is not.
        self.blocked_since: float | None = None
        self.connection = socket.create_connection(address, timeout=30)
        self.connection.settimeout(None)
        if served_by is None:
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENCE)
        self.connection.sendall(f"{token} {rank} control {size}\n".encode())
        threading.Thread(target=self._listen, daemon=True, name="rushlight-control").start()

    def _say(self, **message):
        with contextlib.suppress(OSError):
            self.connection.sendall(json.dumps(message).encode() + b"\n")

    def _listen(self):
        with contextlib.suppress(OSError, ValueError):
            for line in self.connection.makefile("rb"):
                self._hear(json.loads(line))
        # The server has ended, and with it its rank: by a failure unless that said that it leaves.
        if self.served_by is not None and not self.leaving and self.served_by not in self.left:
            self._note_gone(self.served_by, "its process has ended")
        self.released.set()

    def _hear(self, message):
        if message["news"] == "go":
            self.released.set()
        elif message["rank"] == self.rank:
            return
        elif message["news"] == "left":
            self.left[message["rank"]] = message["issued"]
            self.settle()
        else:
            self._note_gone(message["rank"], message["why"])

    def _note_gone(self, rank, why):
        if rank not in self.left:
            self.gone[rank] = why
            threading.Thread(target=self._end_blocked, args=(rank, why), daemon=True).start()

    def _end_blocked(self, rank, why):
        """End this process if it sits in a call that waits for a rank that is gone."""
        time.sleep(GRACE)
        since = self.blocked_since
        if since is not None and time.monotonic() - since >= GRACE and not self.leaving:
            text = f"rushlight.distributed: rank {self.rank}: rank {rank} is gone ({why}) while "
            os.write(2, (text + "this one starts a group; ending\n").encode())
            os._exit(1)

    @contextlib.contextmanager
    def uninterruptible(self):
        """Around a call into MPI that other ranks take part in and that cannot be given up."""
        self.blocked_since = time.monotonic()
        try:
            yield
        finally:
            self.blocked_since = None

    def settle(self) -> None:
        """Tell ranks that left, if all they took part in is done here."""
        done = self.completed()
        for rank, issued in list(self.left.items()):
            owed = any(done.get(group, count) < count for group, count in issued.items())
            if rank not in self.settled and not owed:
                self.settled.add(rank)
                self._say(say="settled", rank=rank)

    def fail(self, why: str, seconds: float) -> bool:
        """Tell the others that this rank ends by a failure; whether the server has heard it, which
        may take so long."""
        self.leaving = True
        self._say(say="failed", why=why)
        return self.released.wait(seconds)

    def leave(self, issued: dict, progress: Callable[[], None]) -> None:
        """Return once the others have what this rank sent them; `progress` lets MPI work."""
        self.leaving = True
        self._say(say="leaving", issued=issued)
        # Messages of this rank may still be in MPI's hands: they move only in calls of it.
        while not self.released.wait(0.002):
            progress()

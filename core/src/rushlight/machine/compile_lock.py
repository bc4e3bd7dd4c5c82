"""One process at a time compiles what the cache of machine code lacks.

The ranks of a job come to the same kernels at the same moment: without a lock each compiles all of
them, on cores that the others need.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import time

LONGEST = 60.0  # seconds: a holder that was stopped keeps nobody waiting for ever
PAUSE = 0.005  # seconds between two looks at a lock; kernels take 0.02 to 5
_OPENED = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def alone(path: pathlib.Path):
    """Hold the lock of an entry at `path`; look for the entry again inside, as whoever held the
    lock before has made it. Where files cannot be locked nobody waits."""
    path = path.with_name(f"{path.name}.lock")
    handle, locked = None, False
    try:
        with contextlib.suppress(OSError):
            handle = os.open(path, _OPENED, 0o600)
            locked = _locked(handle)
        yield
    finally:
        if locked:
            _unlock(path, handle)
        if handle is not None:
            os.close(handle)


def _locked(handle):
    """Whether the lock was got in time."""
    end = time.monotonic() + LONGEST
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(PAUSE)


def _unlock(path, handle):
    """Remove the file and let others go on. Who opens it anew meanwhile finds the entry made."""
    with contextlib.suppress(OSError):
        os.unlink(path)
    fcntl.flock(handle, fcntl.LOCK_UN)  # a process forked meanwhile has the file open too

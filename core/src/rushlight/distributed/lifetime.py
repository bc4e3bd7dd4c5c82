"""The end of a rank: what others are told, and what it waits for before its process ends."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from multiprocessing import util

from rushlight.distributed import error_files
from rushlight.distributed.groups import job
from rushlight.distributed.launching import environments
from rushlight.machine.mpi import startup

_FLUSH = 0.05  # seconds for the last news to leave
_TELLING = 2.0  # seconds for a launcher on another host to hear them


def has_variables() -> bool:
    """Whether the variables of ``env://`` are there, or those of a cluster's launcher."""
    return "RANK" in os.environ or "WORLD_SIZE" in os.environ or bool(environments.variables())


@contextlib.contextmanager
def uninterruptible():
    """Around calls that wait for other ranks inside of MPI: the process ends if one is gone."""
    if job.control is None:
        yield
        return
    with job.control.uninterruptible():
        yield


def note_failure(why: str) -> None:
    """Remember that this process ends by a failure, so that the others hear of it at once."""
    if job.failure is None:
        job.failure = why


def watch() -> None:
    """See to it that the others learn how this process ends."""
    previous = sys.excepthook

    def hook(kind, error, trace):
        note_failure(f"{kind.__name__}: {error}")
        error_files.write(error)
        previous(kind, error, trace)

    sys.excepthook = hook
    atexit.register(end)
    # Processes of multiprocessing that were forked leave without atexit.
    util.Finalize(None, end, exitpriority=-100)


def watch_launched() -> None:
    """As `watch`, for a job that mpiexec started: it ends all ranks of a job in which one fails."""
    previous = sys.excepthook

    def hook(kind, error, trace):
        previous(kind, error, trace)
        sys.stderr.flush()
        note_failure(f"{kind.__name__}: {error}")
        if not end(_TELLING):
            startup.end_daemon()
        job.mpi.COMM_WORLD.Abort(1)

    sys.excepthook = hook
    atexit.register(job.mpi.Finalize)
    atexit.register(end)  # before


def _progress():
    for group in list(job.groups.values()):
        for work in list(group.outstanding):
            group.advance(work)


def _reason():
    """Why this process fails, if it does: noted, or the exception that ends it."""
    error = sys.exc_info()[1]
    if isinstance(error, SystemExit) and error.code in (None, 0):
        return job.failure
    if error is not None and job.failure is None:
        shown = error.code if isinstance(error, SystemExit) else error
        return f"{type(error).__name__}: {shown}"
    return job.failure


def end(seconds: float = _FLUSH) -> bool:
    """Leave the job: at once after a failure, else when the others have all that was sent. Whether
    the server has heard of a failure, which may take `seconds`."""
    control, job.control = job.control, None
    heard = True
    if control is None or os.getpid() != job.process:
        return heard
    reason = _reason()
    if reason is not None:
        heard = control.fail(reason, seconds)
    else:
        # MPI is not finalized: that would wait for ranks which go on for hours, or failed.
        control.leave(job.issued, _progress)
        while job.server is not None and not job.server.wait_for_all(1.0):
            _progress()
    startup.unlink_shared_memory()
    return heard

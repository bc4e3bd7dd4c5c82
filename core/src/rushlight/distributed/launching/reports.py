"""What agents on other hosts tell who started them: lines of standard error, not shown to users."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading

STARTED = "rushlight-launch-started"
_FAILED = "rushlight-launch-failed "


def failed(failure) -> None:
    """Tell of a rank of this agent that failed."""
    told = {
        "text": str(failure),
        "killed": failure.code < 0,
        "time": failure.time,
        "traceback": failure.traceback,
    }
    print(_FAILED + json.dumps(told), file=sys.stderr, flush=True)


def failure_of(line: str) -> dict | None:
    """What `failed` told by a line of standard error; None of other lines."""
    return json.loads(line[len(_FAILED) :]) if line.startswith(_FAILED) else None


def end_on_hangup() -> None:
    """End this process by SIGTERM when nobody reads its standard output any more.

    A killed ssh tells the remote command nothing, but its pipes are closed.
    """
    watched = select.poll()
    watched.register(1, 0)  # errors and hang-ups are reported always

    def wait():
        watched.poll()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="rushlight-hangup", daemon=True).start()

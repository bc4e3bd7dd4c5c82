"""How worker processes are ended: asked, waited for, and killed if they do not."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
import time
import weakref

_GRACE = 5.0  # seconds that workers have to finish what they are doing
_STEP = 0.02  # seconds between looks at them
_exiting = threading.Event()
_iterators: weakref.WeakSet = weakref.WeakSet()


def _exit():
    _exiting.set()
    for iterator in list(_iterators):
        iterator._shutdown_workers()


def end_at_exit(iterator) -> None:
    """End an iterator's workers with the process, before multiprocessing waits for them, which it
    would do for ever where one is stopped; and let :func:`is_exiting` say so."""
    _iterators.add(iterator)
    atexit.unregister(_exit)  # the last that is registered is the first that is called
    atexit.register(_exit)


def is_exiting() -> bool:
    """Whether the process ends: multiprocessing then ends the workers, which is no fault."""
    return _exiting.is_set()


def wait_for_exit() -> None:
    """Let a thread that the end of the process does not wait for say nothing of ended workers."""
    if threading.current_thread().daemon:
        threading.Event().wait()


def stop(processes, ends, owner, grace=_GRACE) -> None:
    """Close the channels, which tells the workers to end, and wait for them; then end them. One
    that a signal has stopped hears nothing: it is killed at once."""
    if os.getpid() != owner:  # a forked copy of the iterator: the workers are not ours
        return
    try:
        for end in ends:
            end.shut_down()
        _wait(processes, grace)
        for process in processes:
            if process.is_alive():
                process.terminate()
        _wait(processes, 1.0)
    finally:  # also when Ctrl-C ends the waiting
        for process in processes:
            if process.is_alive():
                process.kill()
                process.join()


def _wait(processes, seconds):
    deadline = time.monotonic() + seconds
    for process in processes:
        while process.is_alive() and time.monotonic() < deadline:
            if _is_stopped(process.pid):
                process.kill()
            process.join(min(_STEP, max(0.0, deadline - time.monotonic())))


def _is_stopped(number) -> bool:
    with contextlib.suppress(OSError, IndexError), open(f"/proc/{number}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
    return False


def stop_for_collector(processes, ends, owner) -> None:
    """The same when an iterator is collected: nothing can be raised there. Ctrl-C meanwhile comes
    to the main thread a moment later."""
    try:
        stop(processes, ends, owner)
    except KeyboardInterrupt:
        main = threading.main_thread().ident
        timer = threading.Timer(_STEP, signal.pthread_kill, (main, signal.SIGINT))
        timer.daemon = True
        timer.start()

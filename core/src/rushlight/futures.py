"""Values that come later: of communication that goes on while the program does.

A future made here is fulfilled by ``set_result``; one of a `Work` is fulfilled when somebody waits
for it or asks whether it is done, for communication advances in the calls of the thread that
started it.
"""

from __future__ import annotations

import threading
import types
from typing import Any

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A value that is there later, with what follows from it.

    >>> future = rushlight.futures.Future()
    >>> double = future.then(lambda done: 2 * done.value())
    >>> future.set_result(3)
    >>> double.wait()
    6
    """

    __class_getitem__: Any = classmethod(types.GenericAlias)  # `Future[Tensor]` in annotations

    def __init__(self, *, devices=None):
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list = []
        self._value = self._error = None
        # Communication moves in its own thread's calls: waiting for the event alone would not end.
        self._advance = None  # what is called to bring the value nearer: wait -> None

    def done(self) -> bool:
        """Whether there is a value or an error."""
        if not self._event.is_set() and self._advance is not None:
            self._advance(False)
        return self._event.is_set()

    def wait(self):
        """The value; raises the error where there is one."""
        if not self._event.is_set() and self._advance is not None:
            self._advance(True)
        self._event.wait()
        return self.value()

    def value(self):
        """The value, which must be there."""
        if not self._event.is_set():
            raise RuntimeError("Future.value(): the future is not completed; call wait() first")
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback) -> Future:
        """A future of ``callback(self)``, called when this one is done."""
        following = Future()
        following._advance = self._bring
        self.add_done_callback(lambda done: _follow(following, callback, done))
        return following

    def _bring(self, wait):
        if self._advance is not None and not self._event.is_set():
            self._advance(wait)
        elif wait:
            self._event.wait()

    def add_done_callback(self, callback) -> None:
        """Call ``callback(self)`` when there is a value or an error, at once if there is one."""
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    def set_result(self, result) -> None:
        """Fulfil the future; RuntimeError if it is already."""
        self._settle(result, None)

    def set_exception(self, result: BaseException) -> None:
        """End the future by an error, which `wait` and `value` raise."""
        if not isinstance(result, BaseException):
            raise TypeError(f"set_exception: {result} is of type {type(result)}, not an Exception.")
        self._settle(None, result)

    def _settle(self, value, error):
        with self._lock:
            if self._event.is_set():
                raise RuntimeError("Future can only be marked as completed once")
            self._value, self._error = value, error
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)


def _follow(following, callback, done):
    try:
        result = callback(done)
    except Exception as error:
        following.set_exception(error)
        return
    following.set_result(result)


def collect_all(futures) -> Future:
    """A future of the list of these futures, done when all are."""
    futures = list(futures)
    whole = Future()
    left = [len(futures)]
    lock = threading.Lock()

    def count(_):
        with lock:
            left[0] -= 1
        if left[0] == 0:
            whole.set_result(futures)

    def bring(wait):
        for future in futures:
            future._bring(wait)

    whole._advance = bring
    for future in futures:
        future.add_done_callback(count)
    if not futures:
        whole.set_result([])
    return whole


def wait_all(futures) -> list:
    """The values of all futures; raises the first error."""
    return [future.wait() for future in collect_all(futures).wait()]

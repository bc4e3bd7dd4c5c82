"""Ctrl-C: seen at once, obeyed between two batches, where the state can be written down whole."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any

from lightning_lite.errors import Interrupted
from lightning_lite.lazy import attach

__getattr__ = attach(__name__, {})


class InterruptGuard:
    """While it is entered, the first Ctrl-C sets `requested` and the second one stops at once.

    Only the main thread receives signals, and a handler that the program installed itself is left
    alone: there, Ctrl-C does whatever that handler does.
    """

    def __init__(self) -> None:
        self.requested = False
        self._previous: Any = None

    def __enter__(self) -> InterruptGuard:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._restore()

    def _restore(self) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
            self._previous = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            self._restore()
            raise KeyboardInterrupt
        self.requested = True
        text = "\nCtrl-C: finishing this batch and keeping the state; again to stop at once\n"
        sys.stderr.write(text)
        sys.stderr.flush()

    def check(self) -> None:
        """Raise `Interrupted` if Ctrl-C was seen."""
        if self.requested:
            raise Interrupted("Ctrl-C between two batches")

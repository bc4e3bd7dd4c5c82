"""Ctrl-C and SIGTERM: seen at once, obeyed between two batches, where the state can be written down
whole."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import Any

from lightning_lite.errors import Interrupted
from lightning_lite.lazy import attach

__getattr__ = attach(__name__, {})

# The signals, what the user calls them, and the handlers that they have where nobody set one.
SIGNALS = {
    signal.SIGINT: ("Ctrl-C", signal.default_int_handler),
    signal.SIGTERM: ("SIGTERM", signal.SIG_DFL),
}


class InterruptGuard:
    """Between `listen` and `restore`, the first Ctrl-C or SIGTERM sets `requested`, and the second
    one stops at once.

    Only the main thread receives signals, and a handler that the program installed itself is left
    alone: there, the signal does whatever that handler does. `terminated` says that it was SIGTERM,
    by which schedulers end a job.
    """

    def __init__(self) -> None:
        self.requested = self.terminated = False
        self._previous: dict[int, Any] = {}

    def listen(self) -> None:
        """From now on."""
        if threading.current_thread() is threading.main_thread():
            for number, (_, default) in SIGNALS.items():
                if signal.getsignal(number) is default:
                    self._previous[number] = signal.signal(number, self._handle)

    def restore(self) -> None:
        """Give the signals back to who had them."""
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous = {}

    def _handle(self, number: int, frame: FrameType | None) -> None:
        name, _ = SIGNALS[signal.Signals(number)]
        if self.requested:
            self.restore()
            if number == signal.SIGTERM:
                signal.raise_signal(number)
            raise KeyboardInterrupt
        self.requested, self.terminated = True, number == signal.SIGTERM
        text = f"\n{name}: finishing this batch and keeping the state; again to stop at once\n"
        sys.stderr.write(text)
        sys.stderr.flush()

    def check(self) -> None:
        """Raise `Interrupted` if one of them was seen."""
        if self.requested:
            raise Interrupted(f"{'SIGTERM' if self.terminated else 'Ctrl-C'} between two batches")


class SignalConnector:
    """When a trainer listens to signals: `trainer._signal_connector`, whose methods a run calls.

    Programs that handle signals themselves replace the methods, or the object by one of a class
    derived from this one.

    Args:
        trainer: whose `interrupt` it is.

    >>> import lightning_lite as L
    >>> trainer = L.Trainer(logger=False, enable_checkpointing=False)
    >>> trainer._signal_connector.received_sigterm
    False
    """

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer

    @property
    def received_sigterm(self) -> bool:
        """Whether SIGTERM was seen in this run; it may be set, and the run ends after its batch."""
        return self.trainer.interrupt.terminated

    @received_sigterm.setter
    def received_sigterm(self, value: bool) -> None:
        self.trainer.interrupt.requested = self.trainer.interrupt.terminated = value

    def register_signal_handlers(self) -> None:
        """Listen to Ctrl-C and SIGTERM where nobody else does; a run begins."""
        self.trainer.interrupt.listen()

    def teardown(self) -> None:
        """Give the signals back; the run is over."""
        self.trainer.interrupt.restore()

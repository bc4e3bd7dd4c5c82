"""PyTorch's path of the switch of TorchScript, which programs import from.

``PYTORCH_JIT=0`` in the environment turns it off: :func:`rushlight.jit.script` and
:func:`rushlight.jit.trace` then give back what they are given.
"""

from __future__ import annotations

import os


class EnabledProxy:
    """True in conditions where functions are scripted and traced."""

    def __init__(self):
        self.chosen = None  # by `enable` and `disable`, which come before the environment

    @property
    def enabled(self) -> bool:
        """Whether functions are scripted and traced."""
        if self.chosen is not None:
            return self.chosen
        return os.environ.get("PYTORCH_JIT", "1") != "0"

    def __bool__(self):
        return self.enabled


_enabled = EnabledProxy()


def enable() -> None:
    """Script and trace from here on."""
    _enabled.chosen = True


def disable() -> None:
    """Give back functions and modules as they are from here on."""
    _enabled.chosen = False

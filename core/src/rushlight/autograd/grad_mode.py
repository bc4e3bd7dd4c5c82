"""Modes of recording, under PyTorch's path of them."""

from __future__ import annotations

from rushlight.autograd.mode import (
    _Decorator,
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)

__all__ = [
    "enable_grad",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


class set_multithreading_enabled(_Decorator):  # noqa: N801 - PyTorch's name
    """Whether backward passes may run on threads of the engine's own. Here they run on the thread
    that asks for them, with it or without; the setting is kept."""

    enabled = True

    def __init__(self, mode: bool):
        self.mode, self.previous = mode, set_multithreading_enabled.enabled
        set_multithreading_enabled.enabled = mode

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        set_multithreading_enabled.enabled = self.previous

    def clone(self):
        """A fresh manager with the same setting."""
        return type(self)(self.mode)

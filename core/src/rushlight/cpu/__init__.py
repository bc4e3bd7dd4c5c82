"""The CPU in the form of the other device modules."""

from __future__ import annotations

import contextlib
import importlib


def is_available() -> bool:
    """Whether the CPU can be used: always."""
    return True


def device_count() -> int:
    """The CPU counts as one device."""
    return 1


def current_device() -> str:
    """The name of the only device: ``"cpu"``."""
    return "cpu"


def set_device(device) -> None:
    """Choose the device: there is one, so there is nothing to choose."""


def synchronize(device=None) -> None:
    """Wait for running kernels: on the CPU a call returns when its result is there."""


class Stream:
    """An order of execution; the CPU has one, the program's own."""

    def wait_stream(self, stream) -> None:
        """Wait for another stream: its work is done already."""

    def synchronize(self) -> None:
        """Wait for this stream's work: it is done already."""


_current = Stream()


def current_stream(device=None) -> Stream:
    """The one stream of the CPU."""
    return _current


def stream(stream) -> contextlib.AbstractContextManager:
    """A context that changes nothing: the CPU has one stream."""
    return contextlib.nullcontext(stream)


def __getattr__(name):
    if name == "amp":
        return importlib.import_module("rushlight.cpu.amp")
    raise AttributeError(f"module 'rushlight.cpu' has no attribute '{name}'")

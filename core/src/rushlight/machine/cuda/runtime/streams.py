"""Which stream each thread works on, per device.

A stream is an int: its lowest eight bits are the device, so that the default stream of device
``d`` is ``d`` itself and every handle tells where it belongs.
"""

from __future__ import annotations

import threading

DEVICE_BITS = 8


class _Current(threading.local):
    def __init__(self):
        self.device = 0
        self.streams = {}


_current = _Current()


def device_of(stream: int) -> int:
    """The device that a stream belongs to."""
    return stream & (1 << DEVICE_BITS) - 1


def default(device: int = 0) -> int:
    """The default stream of a device."""
    return device


def handle(number: int, device: int) -> int:
    """The handle of a device's stream of that number; 0 is the default one."""
    return number << DEVICE_BITS | device


def current(device: int | None = None) -> int:
    """The stream that this thread uses on a device; the default one until another is set."""
    if device is None:
        device = _current.device
    return _current.streams.get(device, device)


def set_current(stream: int) -> int:
    """Use a stream on its device from now on, in this thread; gives the one used before."""
    device = device_of(stream)
    before = current(device)
    _current.streams[device] = stream
    return before


def current_device() -> int:
    """The device that this thread uses where none is named."""
    return _current.device


def set_device(device: int) -> int:
    """Make a device this thread's current one; gives the one before."""
    before = _current.device
    _current.device = int(device)
    return before

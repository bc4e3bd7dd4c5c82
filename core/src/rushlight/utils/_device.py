"""PyTorch's path of the device that new tensors are made on, as a context and as a decorator."""

from __future__ import annotations

import functools

import rushlight
from rushlight.devices import cpu, current


class DeviceContext:
    """Inside, tensors are made on a device where none is named.

    Args:
        device: a :class:`rushlight.device`, or what makes one.
    """

    def __init__(self, device):
        self.device = rushlight.device(device)

    def __enter__(self):
        self.device.__enter__()

    def __exit__(self, *exc):
        self.device.__exit__(*exc)


def device_decorator(device, func):
    """`func` with a device for the tensors that it makes."""

    @functools.wraps(func)
    def within(*args, **kwargs):
        with DeviceContext(device):
            return func(*args, **kwargs)

    return within


def set_device(device):
    """A decorator of functions that make tensors on `device` where they name none."""
    return functools.partial(device_decorator, device)


def __getattr__(name):
    if name == "CURRENT_DEVICE":
        found = current.stack[-1]
        return None if found is cpu and len(current.stack) == 1 else found
    raise AttributeError(f"module 'rushlight.utils._device' has no attribute '{name}'")

"""Modes of recording, under PyTorch's path of them."""

from __future__ import annotations

from rushlight.autograd.accumulation import layouts
from rushlight.autograd.mode import (
    _Decorator,
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import Tensor

__all__ = [
    "enable_grad",
    "enforce_grad_layout_policy",
    "inference_mode",
    "is_multithreading_enabled",
    "is_view_replay_enabled",
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


class enforce_grad_layout_policy(_Decorator):  # noqa: N801 - PyTorch's name
    """Whether a gradient that nobody else holds is copied where its strides are not its leaf's:
    without it ``.grad`` may have the strides that it came with. A setting of this thread."""

    def __init__(self, enable: bool = True):
        self.mode, self.previous = enable, layouts.enforced
        layouts.enforced = enable

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        layouts.enforced = self.previous

    def clone(self):
        """A fresh manager with the same setting."""
        return type(self)(self.mode)


class _unsafe_preserve_version_counter(_Decorator):  # noqa: N801 - PyTorch's name
    """Inside, writes to the given tensors, one or several, are not counted: the caller promises
    that backward does not need what they held."""

    def __init__(self, tensors):
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)

    def __enter__(self):
        self.previous = [t._version for t in self.tensors]

    def __exit__(self, *exc):
        for tensor, version in zip(self.tensors, self.previous, strict=True):
            storage_of(tensor).take_back(version)

    def clone(self):
        """A fresh manager of the same tensors."""
        return type(self)(self.tensors)


def is_multithreading_enabled() -> bool:
    """What :class:`set_multithreading_enabled` was set to."""
    return set_multithreading_enabled.enabled


def is_view_replay_enabled() -> bool:
    """False: views of a tensor that was written to always replay the calls that made them."""
    return False

"""Handles that remove hooks."""

from __future__ import annotations

import importlib
import warnings

from rushlight.autograd.handle import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f):
    """Mark a hook that need not be kept when its tensor is saved: saving does not warn about it."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor) -> None:
    """Warn about each hook of a leaf that saving would drop."""
    for hook in (tensor._hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized. If this is expected, "
                "you can decorate the function with @torch.utils.hooks.unserializable_hook to "
                "suppress this warning",
                stacklevel=2,
            )


def __getattr__(name):
    if name == "BackwardHook":
        return importlib.import_module("rushlight.nn.backward_hooks").BackwardHook
    raise AttributeError(f"module 'rushlight.utils.hooks' has no attribute '{name}'")

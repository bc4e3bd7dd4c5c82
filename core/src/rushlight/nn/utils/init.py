"""Construction without initial values."""

from __future__ import annotations

import inspect

from rushlight.nn.module import Module


def skip_init(module_cls, *args, **kwargs):
    """A module whose parameters are uninitialized memory; its class must take a `device`."""
    if not isinstance(module_cls, type) or not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)

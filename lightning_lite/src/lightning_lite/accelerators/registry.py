"""Registers of devices, which programs of one's own keep."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from lightning_lite.accelerators.accelerator import Accelerator


def call_register_accelerators(registry: Any, base_module: str) -> None:
    """Let every Accelerator of the module `base_module` add itself to `registry`, by its
    `register_accelerators(registry)`.

    >>> call_register_accelerators({}, "lightning_lite.accelerators")
    """
    module = importlib.import_module(base_module)
    for _, kind in inspect.getmembers(module, inspect.isclass):
        if issubclass(kind, Accelerator):
            kind.register_accelerators(registry)

"""Names that a package imports when somebody asks for them, so that importing it stays quick."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

from lightning_lite import refusals


def attach(package: str, homes: dict[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose names stand in other modules (`homes`: name -> module,
    from inside of `lightning_lite`), are refused, or are modules of the package, which need no
    import of their own, as in Lightning: `lightning_lite.utilities.seed`."""

    def find(name: str) -> Any:
        if name in homes:
            found = getattr(importlib.import_module(f"lightning_lite.{homes[name]}"), name)
        elif refusals.is_refused(name):
            found = getattr(refusals, name)
        else:
            found = _module(package, name)
            if found is None:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, found)
        return found

    return find


def _module(package: str, name: str) -> Any:
    """The module of a package by that name; None where there is none."""
    if name.startswith("_") or not hasattr(sys.modules[package], "__path__"):
        return None
    full = f"{package}.{name}"
    return importlib.import_module(full) if importlib.util.find_spec(full) is not None else None

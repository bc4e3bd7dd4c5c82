"""Names that a package imports when somebody asks for them, so that importing it stays quick."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

from lightning_lite import refusals


def attach(package: str, homes: dict[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose names stand in other modules (`homes`: name -> module,
    from inside of `lightning_lite`), or are refused."""

    def find(name: str) -> Any:
        if name in homes:
            found = getattr(importlib.import_module(f"lightning_lite.{homes[name]}"), name)
        elif refusals.is_refused(name):
            found = getattr(refusals, name)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, found)
        return found

    return find

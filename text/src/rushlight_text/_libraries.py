"""Optional libraries: imported at their use, named where they are absent."""

from __future__ import annotations

import importlib
from types import ModuleType


def library(module: str, package: str, purpose: str) -> ModuleType:
    """The module of an optional library.

    Raises ModuleNotFoundError that says which package to install and for what.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        top = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != top:
            raise
        raise ModuleNotFoundError(
            f"{purpose} needs the library {package!r}: `python3 -m pip install {package}`",
            name=error.name,
        ) from None

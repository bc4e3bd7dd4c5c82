"""Libraries that only some data sets need."""

from __future__ import annotations

import importlib
from typing import Any


class MissingLibraryError(ImportError, RuntimeError):
    """A library that a data set needs is not installed."""


def needed(module: str, extra: str, user: object) -> Any:
    """A module that the extra `extra` of rushlight-vision brings, for the data set `user`."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise MissingLibraryError(
            f"{type(user).__name__} reads its files with {package}, which is not installed: "
            f"pip install 'rushlight-vision[{extra}]'"
        ) from None

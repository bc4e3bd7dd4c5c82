# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _F
from rushlight._words import _str
from typing import Any

class record_function:
    def __init__(self, name: _str, args: _str | None = ...) -> None: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, *exc: Any) -> Any: ...
    def __call__(self, function: _F) -> _F: ...
    name: _str
    args: _str | None

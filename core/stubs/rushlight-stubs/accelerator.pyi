# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _int
from typing import Any

def current_accelerator(check_available: _bool = ...) -> Any: ...
def device_count() -> _int: ...
def is_available() -> _bool: ...

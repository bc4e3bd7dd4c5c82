# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from rushlight._words import _str
from typing import Any

def rest_of(module: _str, parts: _str = ...) -> Callable[..., Any]: ...

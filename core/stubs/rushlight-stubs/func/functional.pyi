# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from rushlight._words import _str
from typing import Any

def functionalize(func: Callable[..., Any], *, remove: _str = ...) -> Callable[..., Any]: ...

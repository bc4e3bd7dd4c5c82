# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from typing import Any

def scalar_dtype(fused: _bool = ...) -> Any: ...

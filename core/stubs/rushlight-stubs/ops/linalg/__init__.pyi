# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from typing import Any

def __getattr__(name: str) -> Any: ...

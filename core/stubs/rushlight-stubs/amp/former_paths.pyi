# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import DeviceLike
from rushlight._words import _str
from typing import Any

def warn_deprecated(device: DeviceLike, name: _str) -> Any: ...

# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from contextlib import AbstractContextManager
from enum import IntEnum
from rushlight._words import _bool
from typing import Any

class SDPBackend(IntEnum):
    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4
def sdpa_kernel(backends: Any, set_priority: _bool = ...) -> AbstractContextManager[Any]: ...

# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from rushlight._words import _str
from rushlight.tensor.tensor import Tensor
from typing import Any

class DebugLevel(IntEnum):
    OFF = 0
    INFO = 1
    DETAIL = 2
def check(group: Any, name: _str, op: Any, tensors: Sequence[Tensor]) -> None: ...
def get_debug_level() -> DebugLevel: ...
def set_debug_level(level: DebugLevel) -> None: ...
def set_debug_level_from_env() -> None: ...

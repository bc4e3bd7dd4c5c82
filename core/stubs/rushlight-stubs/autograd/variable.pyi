# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from typing import Any

class Variable:
    ...
class VariableMeta(type):
    def __call__(self, data: Any = ..., requires_grad: _bool = ..., volatile: _bool = ...) -> Any: ...

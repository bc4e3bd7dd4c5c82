# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight.tensor.tensor import Tensor
from typing import Any

class _Layouts:
    enforced: _bool
def accumulate(leaf: Any, grad: Any, create: Any, lone: _bool = ...) -> Any: ...
layouts: _Layouts
def summed(owned: Any, key: Tensor, old: Any, piece: Any, create: _bool = ...) -> Any: ...
def takeable(grad: Any) -> Any: ...

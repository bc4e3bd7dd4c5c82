# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight.tensor.tensor import Tensor
from typing import Any
from typing import Self

class AtenCall:
    def __new__(cls, target: Tensor, args: Any, kwargs: Any, writes: _bool = ...) -> Self: ...
    target: Any
    args: Any
    kwargs: Any
    writes: Any
def aten_call(function: Any, args: Any, kwargs: Any) -> Any: ...
def is_default(value: Tensor, default: Any) -> Any: ...

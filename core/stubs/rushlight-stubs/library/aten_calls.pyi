# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight.tensor.tensor import Tensor
from typing import Any
from typing import NamedTuple

class AtenCall(NamedTuple):
    target: object
    args: tuple[Any, ...]
    kwargs: dict[Any, Any]
    writes: _bool = ...
def aten_call(function: Any, args: Any, kwargs: Any) -> Any: ...
def is_default(value: Tensor, default: Any) -> Any: ...

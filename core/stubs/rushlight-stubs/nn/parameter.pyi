# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight.tensor.tensor import Tensor
from typing import Self

class Buffer(Tensor):
    def __new__(cls, data: Tensor | None = ..., *, persistent: _bool = ...) -> Self: ...
from rushlight.tensor.tensor import Parameter as Parameter

# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight.nn.lazy import _Uninitialized
from rushlight.tensor.tensor import Tensor
from typing import Any
from typing import Self

class Buffer(Tensor):
    def __new__(cls, data: Tensor | None = ..., *, persistent: _bool = ...) -> Self: ...
from rushlight.tensor.tensor import Parameter as Parameter
from rushlight.nn.lazy import UninitializedBuffer as UninitializedBuffer
from rushlight.nn.lazy import UninitializedParameter as UninitializedParameter
from rushlight.nn.lazy import _Uninitialized as UninitializedTensorMixin
def is_lazy(value: Tensor) -> Any: ...

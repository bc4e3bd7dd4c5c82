# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from contextlib import AbstractContextManager
from rushlight._words import _bool
from rushlight.tensor.tensor import Tensor
from typing import Any
from typing import Self

class SDPBackend:
    ERROR: SDPBackend
    MATH: SDPBackend
    FLASH_ATTENTION: SDPBackend
    EFFICIENT_ATTENTION: SDPBackend
    CUDNN_ATTENTION: SDPBackend
    OVERRIDEABLE: SDPBackend
    def __new__(cls, value: Tensor) -> Self: ...
def sdpa_kernel(backends: Any, set_priority: _bool = ...) -> AbstractContextManager[Any]: ...

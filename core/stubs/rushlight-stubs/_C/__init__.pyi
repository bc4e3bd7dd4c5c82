# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight.tensor.dispatch import DisableTorchFunction as _DisableTorchFunction
from typing import Any

class DisableTorchFunction(_DisableTorchFunction):
    def __enter__(self) -> Any: ...
    def __exit__(self, *exc: Any) -> Any: ...
    interpreters: Any
from rushlight.tensor.dispatch import DisableTorchFunction as DisableTorchFunctionSubclass
from rushlight.futures import Future as Future
class TensorType:
    @staticmethod
    def get() -> TensorType: ...

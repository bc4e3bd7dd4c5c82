# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from contextlib import AbstractContextManager
from rushlight._words import _bool
from rushlight._words import _int
from rushlight._words import _str
from rushlight.tensor.tensor import Tensor
from typing import Any

allow_tf32: _bool
benchmark: _bool
deterministic: _bool
enabled: _bool
def flags(enabled: _bool = ..., benchmark: _bool = ..., benchmark_limit: _int = ..., deterministic: _bool = ..., allow_tf32: _bool = ..., fp32_precision: _str = ...) -> AbstractContextManager[None]: ...
fp32_precision: _str
def is_acceptable(tensor: Tensor) -> _bool: ...
def is_available() -> _bool: ...
def set_flags(_enabled: Any = ..., _benchmark: Any = ..., _benchmark_limit: Any = ..., _deterministic: Any = ..., _allow_tf32: Any = ...) -> tuple[Any, ...]: ...
def version() -> _int | None: ...

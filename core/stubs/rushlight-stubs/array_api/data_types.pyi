# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import DeviceLike
from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight._words import _float
from rushlight._words import _int
from rushlight.dtypes import dtype
from typing import Any

class FloatLimits:
    def __init__(self, bits: _int, eps: _float, max: _float, min: _float, smallest_normal: _float, dtype: _dtype) -> None: ...
    bits: _int
    eps: _float
    max: _float
    min: _float
    smallest_normal: _float
    dtype: _dtype
class IntegerLimits:
    def __init__(self, bits: _int, max: _int, min: _int, dtype: _dtype) -> None: ...
    bits: _int
    max: _int
    min: _int
    dtype: _dtype
def astype(x: Any, dtype: _dtype, /, *, copy: _bool = ..., device: DeviceLike | None = ...) -> Any: ...
def can_cast(from_: Any, to: Any, /) -> _bool: ...
def finfo(type: Any, /) -> FloatLimits: ...
def iinfo(type: Any, /) -> IntegerLimits: ...
def isdtype(dtype: _dtype, kind: Any) -> _bool: ...
def promoted(*values: Any) -> Any: ...
def result_type(*arrays_and_dtypes: Any) -> Any: ...

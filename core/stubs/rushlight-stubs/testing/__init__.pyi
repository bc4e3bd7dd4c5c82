# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from rushlight._words import DeviceLike
from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight._words import _int
from rushlight._words import _memory_format
from rushlight._words import _str
from typing import Any

def assert_allclose(actual: Any, expected: Any, rtol: Any = ..., atol: Any = ..., equal_nan: _bool = ..., msg: _str = ...) -> None: ...
def assert_close(actual: Any, expected: Any, *, allow_subclasses: _bool = ..., rtol: Any = ..., atol: Any = ..., equal_nan: _bool = ..., check_device: _bool = ..., check_dtype: _bool = ..., check_layout: _bool = ..., check_stride: _bool = ..., msg: Any = ...) -> Any: ...
def make_tensor(*shape: _int | Sequence[_int], dtype: _dtype, device: DeviceLike, low: Any = ..., high: Any = ..., requires_grad: _bool = ..., noncontiguous: _bool = ..., exclude_zero: _bool = ..., memory_format: _memory_format | None = ...) -> Any: ...

# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from rushlight._words import DeviceLike
from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight._words import _float
from rushlight._words import _int
from rushlight._words import _memory_format
from rushlight._words import _str
from rushlight.tensor.tensor import Tensor

def assert_allclose(actual: object, expected: object, rtol: _float | None = ..., atol: _float | None = ..., equal_nan: _bool = ..., msg: _str = ...) -> None: ...
def assert_close(actual: object, expected: object, *, allow_subclasses: _bool = ..., rtol: _float | None = ..., atol: _float | None = ..., equal_nan: _bool = ..., check_device: _bool = ..., check_dtype: _bool = ..., check_layout: _bool = ..., check_stride: _bool = ..., msg: _str | Callable[[_str], _str] | None = ...) -> None: ...
def make_tensor(*shape: _int | Sequence[_int], dtype: _dtype, device: DeviceLike, low: _float | None = ..., high: _float | None = ..., requires_grad: _bool = ..., noncontiguous: _bool = ..., exclude_zero: _bool = ..., memory_format: _memory_format | None = ...) -> Tensor: ...

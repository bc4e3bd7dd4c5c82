# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight._words import _float
from rushlight._words import _int
from rushlight._words import _str
from rushlight.tensor.tensor import Tensor
from typing import Any

class _Default:
    float: Any
    watchers: Any
def as_dtype(given: Any) -> Any: ...
bfloat16: _dtype
bool_: _dtype
def can_cast(from_: _dtype, to: _dtype) -> _bool: ...
complex128: _dtype
complex32: _dtype
complex64: _dtype
default: _Default
class dtype:
    constants: _bool
    def __init__(self, code: _int, name: _str, short: _str, itemsize: _int, category: _int, is_signed: _bool = ...) -> None: ...
    @property
    def is_floating_point(self) -> _bool: ...
    @property
    def is_complex(self) -> _bool: ...
    def to_real(self) -> _dtype: ...
    def to_complex(self) -> _dtype: ...
    category: Any
    code: Any
    is_signed: Any
    itemsize: Any
    name: Any
    short: Any
class finfo:
    def __init__(self, type: _dtype | None = ...) -> None: ...
    dtype: _str
    bits: _int
    eps: _float
    max: _float
    min: _float
    tiny: _float
    smallest_normal: _float
    resolution: _float
float16: _dtype
float32: _dtype
float64: _dtype
float8_e4m3fn: _dtype
float8_e4m3fnuz: _dtype
float8_e5m2: _dtype
float8_e5m2fnuz: _dtype
float8_e8m0fnu: _dtype
def get_default_dtype() -> _dtype: ...
def held(value: Tensor, dtype: _dtype) -> Any: ...
class iinfo:
    def __init__(self, type: _dtype) -> None: ...
    dtype: _str
    bits: _int
    max: _int
    min: _int
int16: _dtype
int32: _dtype
int64: _dtype
int8: _dtype
def promote_types(type1: _dtype, type2: _dtype) -> _dtype: ...
def refuse_limited(name: _str, dtype: _dtype) -> None: ...
def refuse_promotion(type1: _dtype, type2: _dtype) -> Any: ...
def set_default_dtype(d: _dtype) -> None: ...
uint16: _dtype
uint32: _dtype
uint64: _dtype
uint8: _dtype
def word_dtype(value: _int) -> _dtype: ...

# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from os import PathLike
from rushlight._words import DeviceLike
from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight._words import _int
from rushlight._words import _str
from typing import Any

from rushlight import BFloat16Storage as BFloat16Storage
from rushlight import BoolStorage as BoolStorage
from rushlight import ByteStorage as ByteStorage
from rushlight import CharStorage as CharStorage
from rushlight import ComplexDoubleStorage as ComplexDoubleStorage
from rushlight import ComplexFloatStorage as ComplexFloatStorage
class ComplexHalfStorage:
    dtype: Any
from rushlight import DoubleStorage as DoubleStorage
from rushlight import FloatStorage as FloatStorage
from rushlight import HalfStorage as HalfStorage
from rushlight import IntStorage as IntStorage
from rushlight import LongStorage as LongStorage
from rushlight import ShortStorage as ShortStorage
from rushlight import StorageBase as StorageBase
class StorageType(type):
    dtype: Any
    def __call__(self, *args: Any, device: DeviceLike | None = ..., **kwargs: Any) -> Any: ...
    def from_buffer(self, buffer: Any, byte_order: Any = ..., count: _int = ..., offset: _int = ..., *, dtype: _dtype | None = ...) -> Any: ...
    def from_file(self, filename: _str | PathLike[_str], shared: _bool | None = ..., nbytes: _int = ...) -> Any: ...
from rushlight.ops.former.former_methods import TypedStorage as TypedStorage
from rushlight import UntypedStorage as UntypedStorage

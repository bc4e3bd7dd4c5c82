# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from rushlight.devices import device
from rushlight.dtypes import dtype
from rushlight.tensor.layout import layout
from rushlight.tensor.memory_format import memory_format
from rushlight.tensor.tensor import Tensor

_F = TypeVar("_F", bound=Callable[..., Any])  # of decorators
_T = TypeVar("_T", bound=Tensor)  # of what gives the class that it is given
_int: TypeAlias = int
_float: TypeAlias = float
_bool: TypeAlias = bool
_complex: TypeAlias = complex
_str: TypeAlias = str
_dtype: TypeAlias = dtype
_layout: TypeAlias = layout
_device: TypeAlias = device
_memory_format: TypeAlias = memory_format
Number: TypeAlias = int | float | bool | complex
DeviceLike: TypeAlias = device | str | int

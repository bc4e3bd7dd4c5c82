# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from rushlight._words import DeviceLike
from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight._words import _int
from rushlight._words import _str
from rushlight.nn.linear import Linear
from rushlight.nn.module import Module
from rushlight.tensor.tensor import Tensor
from typing import Any

class Int8Linear(Module):
    def __init__(self, in_features: _int, out_features: _int, bias: _bool = ..., device: DeviceLike | None = ..., dynamic: _bool = ...) -> None: ...
    @classmethod
    def from_linear(cls, layer: Linear, dynamic: _bool = ...) -> Int8Linear: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def dequantized(self, dtype: _dtype = ...) -> Tensor: ...
    def extra_repr(self) -> _str: ...
    def __call__(self, input: Tensor) -> Tensor: ...
    in_features: _int
    out_features: _int
    dynamic: _bool
    scale: Any
    bias: Any
def quantize_int8(module: Module, choose: Callable[[_str, Linear], _bool] | None = ..., dynamic: _bool = ...) -> list[_str]: ...
def quantized_rows(weight: Tensor) -> tuple[Tensor, Tensor]: ...
def rounded_rows(input: Tensor) -> Tensor: ...

# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from rushlight._words import DeviceLike
from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight._words import _int
from rushlight._words import _str
from rushlight.nn.module import Module
from rushlight.tensor.tensor import Tensor
from typing import Any

class _Convolution(Module):
    transposed: _bool
    def __init__(self, in_channels: _int, out_channels: _int, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int], padding: _int | _str | Sequence[_int], dilation: _int | Sequence[_int], groups: _int, bias: _bool, padding_mode: _str, output_padding: _int | Sequence[_int], device: DeviceLike, dtype: _dtype) -> None: ...
    def reset_parameters(self) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> _str: ...
    def __call__(self, input: Tensor) -> Tensor: ...
    weight: Tensor
    bias: Tensor | None
    kernel_size: tuple[_int, ...]
    stride: tuple[_int, ...]
    dilation: tuple[_int, ...]
    padding: _str | tuple[_int, ...]
    in_channels: _int
    out_channels: _int
    groups: _int
    padding_mode: _str
    output_padding: Any
class _Forward(_Convolution):
    def __init__(self, in_channels: _int, out_channels: _int, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] = ..., padding: _int | _str | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., groups: _int = ..., bias: _bool = ..., padding_mode: _str = ..., device: DeviceLike | None = ..., dtype: _dtype | None = ...) -> None: ...
class _Transpose(_Convolution):
    transposed: _bool
    def __init__(self, in_channels: _int, out_channels: _int, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] = ..., padding: _int | _str | Sequence[_int] = ..., output_padding: _int | Sequence[_int] = ..., groups: _int = ..., bias: _bool = ..., dilation: _int | Sequence[_int] = ..., padding_mode: _str = ..., device: DeviceLike | None = ..., dtype: _dtype | None = ...) -> None: ...
    def forward(self, input: Tensor, output_size: _int | Sequence[_int] | None = ...) -> Tensor: ...
    def __call__(self, input: Tensor, output_size: _int | Sequence[_int] | None = ...) -> Tensor: ...
class Conv1d(_Forward):
    ...
class Conv2d(_Forward):
    ...
class Conv3d(_Forward):
    ...
class ConvTranspose1d(_Transpose):
    ...
class ConvTranspose2d(_Transpose):
    ...
class ConvTranspose3d(_Transpose):
    ...

# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from rushlight._words import DeviceLike
from rushlight._words import Number
from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight._words import _int
from rushlight._words import _layout
from rushlight._words import _str
from rushlight.tensor.tensor import Tensor
from typing import Any

def as_nested_tensor(ts: Any, dtype: _dtype | None = ..., device: DeviceLike | None = ..., layout: _layout | None = ...) -> Tensor: ...
def masked_select(tensor: Tensor, mask: Tensor) -> Tensor: ...
def narrow(tensor: Tensor, dim: _int, start: Number | Tensor, length: Any, layout: _layout = ...) -> Tensor: ...
def nested_tensor(tensor_list: Any, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: DeviceLike | None = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor: ...
def nested_tensor_from_jagged(values: Any, offsets: Tensor | None = ..., lengths: Any = ..., jagged_dim: Any = ..., min_seqlen: Any = ..., max_seqlen: Any = ...) -> Tensor: ...
def to_padded_tensor(input: Tensor, padding: _int | _str | Sequence[_int], output_size: _int | Sequence[_int] | None = ...) -> Tensor: ...

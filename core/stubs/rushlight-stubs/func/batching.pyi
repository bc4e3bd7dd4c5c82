# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from rushlight._words import _F
from rushlight._words import _bool
from rushlight._words import _int
from rushlight._words import _str
from rushlight.tensor.tensor import Tensor
from typing import Any

def debug_unwrap(tensor: Tensor, *, recurse: _bool = ...) -> Tensor: ...
def fallback_counts(reset: _bool = ...) -> dict[_str, _int]: ...
def vmap(func: _F, in_dims: _int | Sequence[Any] | Mapping[_str, Any] | None = ..., out_dims: _int | Sequence[Any] | None = ..., randomness: _str = ..., *, chunk_size: _int | None = ...) -> _F: ...

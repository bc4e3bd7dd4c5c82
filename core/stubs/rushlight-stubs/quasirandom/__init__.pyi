# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight._words import _int
from rushlight.tensor.tensor import Tensor
from typing import Any

class SobolEngine:
    MAXBIT: _int
    MAXDIM: _int
    def __init__(self, dimension: _int, scramble: _bool = ..., seed: _int | None = ...) -> None: ...
    def draw(self, n: _int = ..., out: Tensor | None = ..., dtype: _dtype | None = ...) -> Tensor: ...
    def draw_base2(self, m: _int, out: Tensor | None = ..., dtype: _dtype | None = ...) -> Tensor: ...
    def fast_forward(self, n: _int) -> SobolEngine: ...
    def reset(self) -> SobolEngine: ...
    seed: _int | None
    scramble: _bool
    dimension: _int
    sobolstate: Any
    quasi: Any
    num_generated: _int
    shift: Any

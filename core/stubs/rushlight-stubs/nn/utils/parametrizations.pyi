# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _float
from rushlight._words import _int
from rushlight._words import _str
from rushlight.nn.module import Module
from typing import Any

def orthogonal(module: Module, name: _str = ..., orthogonal_map: Any = ..., *, use_trivialization: _bool = ...) -> Any: ...
def spectral_norm(module: Module, name: _str = ..., n_power_iterations: _int = ..., eps: _float = ..., dim: _int | None = ...) -> Any: ...
def weight_norm(module: Module, name: _str = ..., dim: _int = ...) -> Any: ...

# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _float
from rushlight.optim.optimizer import Optimizer
from rushlight.optim.optimizer import ParamsT
from typing import Any

class SparseAdam(Optimizer):
    def __init__(self, params: ParamsT, lr: _float = ..., betas: tuple[_float, _float] = ..., eps: _float = ..., maximize: _bool = ...) -> None: ...
    def step(self, closure: Any = ...) -> Any: ...

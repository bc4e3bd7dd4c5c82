# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _float
from rushlight.optim.elementwise import FormulaOptimizer
from rushlight.optim.optimizer import ParamsT

class Adafactor(FormulaOptimizer):
    def __init__(self, params: ParamsT, lr: _float = ..., beta2_decay: _float = ..., eps: tuple[_float | None, _float] = ..., d: _float = ..., weight_decay: _float = ..., *, foreach: _bool | None = ..., maximize: _bool = ...) -> None: ...

# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _float
from rushlight.optim.elementwise import FormulaOptimizer
from rushlight.optim.optimizer import ParamsT

class Adadelta(FormulaOptimizer):
    def __init__(self, params: ParamsT, lr: _float = ..., rho: _float = ..., eps: _float = ..., weight_decay: _float = ..., foreach: _bool | None = ..., *, capturable: _bool = ..., maximize: _bool = ..., differentiable: _bool = ...) -> None: ...

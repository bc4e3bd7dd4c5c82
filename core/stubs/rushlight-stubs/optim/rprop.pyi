# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _float
from rushlight.optim.elementwise import FormulaOptimizer
from rushlight.optim.optimizer import ParamsT

class Rprop(FormulaOptimizer):
    def __init__(self, params: ParamsT, lr: _float = ..., etas: tuple[_float, _float] = ..., step_sizes: tuple[_float, _float] = ..., *, capturable: _bool = ..., foreach: _bool | None = ..., maximize: _bool = ..., differentiable: _bool = ...) -> None: ...

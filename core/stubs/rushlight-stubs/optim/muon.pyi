# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _float
from rushlight._words import _int
from rushlight._words import _str
from rushlight.optim.elementwise import FormulaOptimizer
from rushlight.optim.optimizer import ParamsT

class Muon(FormulaOptimizer):
    def __init__(self, params: ParamsT, lr: _float = ..., weight_decay: _float = ..., momentum: _float = ..., nesterov: _bool = ..., ns_coefficients: tuple[_float, _float, _float] = ..., eps: _float = ..., ns_steps: _int = ..., adjust_lr_fn: _str | None = ...) -> None: ...

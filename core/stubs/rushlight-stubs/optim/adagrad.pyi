# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _float
from rushlight.optim.elementwise import FormulaOptimizer
from rushlight.optim.optimizer import ParamsT

class Adagrad(FormulaOptimizer):
    def __init__(self, params: ParamsT, lr: _float = ..., lr_decay: _float = ..., weight_decay: _float = ..., initial_accumulator_value: _float = ..., eps: _float = ..., foreach: _bool | None = ..., *, maximize: _bool = ..., differentiable: _bool = ..., fused: _bool | None = ...) -> None: ...
    def share_memory(self) -> None: ...

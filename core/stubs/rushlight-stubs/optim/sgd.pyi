# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _float
from rushlight.optim.elementwise import FormulaOptimizer
from rushlight.optim.optimizer import ParamsT

class SGD(FormulaOptimizer):
    skips_on_device: _bool
    def __init__(self, params: ParamsT, lr: _float = ..., momentum: _float = ..., dampening: _float = ..., weight_decay: _float = ..., nesterov: _bool = ..., *, maximize: _bool = ..., foreach: _bool | None = ..., differentiable: _bool = ..., fused: _bool | None = ...) -> None: ...

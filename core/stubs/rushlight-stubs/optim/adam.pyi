# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _float
from rushlight.optim.elementwise import FormulaOptimizer
from rushlight.optim.optimizer import ParamsT

class Adam(FormulaOptimizer):
    skips_on_device: _bool
    def __init__(self, params: ParamsT, lr: _float = ..., betas: tuple[_float, _float] = ..., eps: _float = ..., weight_decay: _float = ..., amsgrad: _bool = ..., *, foreach: _bool | None = ..., maximize: _bool = ..., capturable: _bool = ..., differentiable: _bool = ..., fused: _bool | None = ..., decoupled_weight_decay: _bool = ...) -> None: ...
class AdamW(Adam):
    def __init__(self, params: ParamsT, lr: _float = ..., betas: tuple[_float, _float] = ..., eps: _float = ..., weight_decay: _float = ..., amsgrad: _bool = ..., *, maximize: _bool = ..., foreach: _bool | None = ..., capturable: _bool = ..., differentiable: _bool = ..., fused: _bool | None = ...) -> None: ...

# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _float
from rushlight._words import _int
from rushlight.optim.elementwise import FormulaOptimizer
from rushlight.optim.optimizer import ParamsT
from typing import Any

class Muon(FormulaOptimizer):
    def __init__(self, params: ParamsT, lr: _float = ..., weight_decay: _float = ..., momentum: _float = ..., nesterov: _bool = ..., ns_coefficients: Any = ..., eps: _float = ..., ns_steps: _int = ..., adjust_lr_fn: Any = ...) -> None: ...

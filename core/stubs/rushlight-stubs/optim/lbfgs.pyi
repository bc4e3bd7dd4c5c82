# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _float
from rushlight._words import _int
from rushlight._words import _str
from rushlight.optim.optimizer import Optimizer
from rushlight.optim.optimizer import ParamsT
from typing import Any

class LBFGS(Optimizer):
    def __init__(self, params: ParamsT, lr: _float = ..., max_iter: _int = ..., max_eval: _int | None = ..., tolerance_grad: _float = ..., tolerance_change: _float = ..., history_size: _int = ..., line_search_fn: _str | None = ...) -> None: ...
    def step(self, closure: Any) -> Any: ...  # type: ignore[override]

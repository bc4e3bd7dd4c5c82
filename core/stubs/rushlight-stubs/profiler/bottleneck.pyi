# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import Number
from rushlight._words import _int
from rushlight.tensor.tensor import Tensor
from typing import Any

class StepReport:
    def __init__(self, steps: Any, seconds: Any, phases: Any, averages: Any, advice: Any) -> None: ...
def where_does_my_step_go(step: Number | Tensor, data: Any = ..., *, steps: _int = ..., warmup: _int = ...) -> StepReport: ...

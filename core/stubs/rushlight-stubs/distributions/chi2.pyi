# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import Number
from rushlight._words import _bool
from rushlight._words import _str
from rushlight.distributions.constraints import Constraint
from rushlight.distributions.gamma import Gamma
from rushlight.tensor.tensor import Tensor
from typing import Any

class Chi2(Gamma):
    arg_constraints: dict[_str, Constraint]
    def __init__(self, df: Tensor | Number, validate_args: _bool | None = ...) -> None: ...
    def expand(self, batch_shape: Any, _instance: Any = ...) -> Any: ...
    @property
    def df(self) -> Any: ...

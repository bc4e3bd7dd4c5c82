# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import Number
from rushlight._words import _bool
from rushlight._words import _str
from rushlight.distributions.constraints import Constraint
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.tensor.tensor import Tensor
from typing import Any

class LogisticNormal(TransformedDistribution):
    arg_constraints: dict[_str, Constraint]
    support: Constraint
    has_rsample: _bool
    def __init__(self, loc: Tensor | Number, scale: Tensor | Number, validate_args: _bool | None = ...) -> None: ...
    @property
    def loc(self) -> Any: ...
    @property
    def scale(self) -> Tensor: ...

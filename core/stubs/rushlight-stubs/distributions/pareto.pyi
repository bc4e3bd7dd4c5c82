# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import Number
from rushlight._words import _bool
from rushlight._words import _float
from rushlight._words import _str
from rushlight.distributions.constraints import Constraint
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.tensor.tensor import Tensor
from typing import Any

class Pareto(TransformedDistribution):
    arg_constraints: dict[_str, Constraint]
    def __init__(self, scale: Tensor | Number, alpha: _float, validate_args: _bool | None = ...) -> None: ...
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    @property
    def variance(self) -> Tensor: ...
    @property
    def support(self) -> Constraint: ...
    def entropy(self) -> Tensor: ...
    scale: Tensor
    alpha: Any

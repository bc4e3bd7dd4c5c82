# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import Number
from rushlight._words import _bool
from rushlight._words import _str
from rushlight.distributions.constraints import Constraint
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.tensor.tensor import Tensor
from typing import Any

class Poisson(ExponentialFamily):
    arg_constraints: dict[_str, Constraint]
    support: Constraint
    def __init__(self, rate: Tensor | Number, validate_args: _bool | None = ...) -> None: ...
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    @property
    def variance(self) -> Tensor: ...
    def sample(self, sample_shape: Any = ...) -> Tensor: ...
    def log_prob(self, value: Any) -> Tensor: ...
    rate: Tensor

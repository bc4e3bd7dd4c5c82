# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import Number
from rushlight._words import _bool
from rushlight._words import _str
from rushlight.distributions.constraints import Constraint
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.tensor.tensor import Tensor
from typing import Any

class Dirichlet(ExponentialFamily):
    arg_constraints: dict[_str, Constraint]
    support: Constraint
    has_rsample: _bool
    def __init__(self, concentration: Tensor | Number, validate_args: _bool | None = ...) -> None: ...
    def rsample(self, sample_shape: Any = ...) -> Tensor: ...
    def log_prob(self, value: Any) -> Tensor: ...
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    @property
    def variance(self) -> Tensor: ...
    def entropy(self) -> Tensor: ...
    concentration: Tensor

# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import Number
from rushlight._words import _bool
from rushlight._words import _int
from rushlight._words import _str
from rushlight.distributions.constraints import Constraint
from rushlight.distributions.distribution import Distribution
from rushlight.tensor.tensor import Tensor
from typing import Any

class LKJCholesky(Distribution):
    arg_constraints: dict[_str, Constraint]
    support: Constraint
    def __init__(self, dim: _int, concentration: Tensor | Number = ..., validate_args: _bool | None = ...) -> None: ...
    def sample(self, sample_shape: Any = ...) -> Tensor: ...
    def log_prob(self, value: Any) -> Tensor: ...
    dim: _int
    concentration: Tensor

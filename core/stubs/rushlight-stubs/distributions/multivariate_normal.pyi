# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import Number
from rushlight._words import _bool
from rushlight._words import _str
from rushlight.distributions.constraints import Constraint
from rushlight.distributions.distribution import Distribution
from rushlight.tensor.tensor import Tensor
from typing import Any

class MultivariateNormal(Distribution):
    arg_constraints: dict[_str, Constraint]
    support: Constraint
    has_rsample: _bool
    def __init__(self, loc: Tensor | Number, covariance_matrix: Tensor | None = ..., precision_matrix: Tensor | None = ..., scale_tril: Tensor | None = ..., validate_args: _bool | None = ...) -> None: ...
    scale_tril: Tensor
    covariance_matrix: Tensor
    precision_matrix: Tensor
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    @property
    def variance(self) -> Tensor: ...
    def rsample(self, sample_shape: Any = ...) -> Tensor: ...
    def log_prob(self, value: Any) -> Tensor: ...
    def entropy(self) -> Tensor: ...
    loc: Tensor

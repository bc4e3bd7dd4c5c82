# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import Number
from rushlight._words import _bool
from rushlight._words import _str
from rushlight.distributions.constraints import Constraint
from rushlight.distributions.distribution import Distribution
from rushlight.tensor.tensor import Tensor
from typing import Any

class LowRankMultivariateNormal(Distribution):
    arg_constraints: dict[_str, Constraint]
    support: Constraint
    has_rsample: _bool
    def __init__(self, loc: Tensor | Number, cov_factor: Tensor, cov_diag: Tensor, validate_args: _bool | None = ...) -> None: ...
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    variance: Tensor
    scale_tril: Tensor
    covariance_matrix: Tensor
    precision_matrix: Tensor
    def rsample(self, sample_shape: Any = ...) -> Tensor: ...
    def log_prob(self, value: Any) -> Tensor: ...
    def entropy(self) -> Tensor: ...
    loc: Tensor
    cov_factor: Tensor
    cov_diag: Tensor

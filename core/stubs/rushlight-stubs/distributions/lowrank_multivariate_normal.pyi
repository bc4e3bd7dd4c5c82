# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import Number
from rushlight._words import _bool
from rushlight.distributions.distribution import Distribution
from rushlight.tensor.tensor import Tensor
from typing import Any

class LowRankMultivariateNormal(Distribution):
    arg_constraints: Any
    support: Any
    has_rsample: _bool
    def __init__(self, loc: Tensor | Number, cov_factor: Tensor, cov_diag: Tensor, validate_args: _bool | None = ...) -> None: ...
    @property
    def mean(self) -> Any: ...
    @property
    def mode(self) -> Any: ...
    variance: Any
    scale_tril: Any
    covariance_matrix: Any
    precision_matrix: Any
    def rsample(self, sample_shape: Any = ...) -> Any: ...
    def log_prob(self, value: Any) -> Any: ...
    def entropy(self) -> Any: ...
    loc: Any
    cov_factor: Any
    cov_diag: Any

# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from rushlight._words import _bool
from rushlight._words import _str
from rushlight.distributions.constraints import Constraint
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.transform import Transform
from rushlight.tensor.tensor import Tensor
from typing import Any

class TransformedDistribution(Distribution):
    arg_constraints: dict[_str, Constraint]
    def __init__(self, base_distribution: Distribution, transforms: Transform | Sequence[Transform], validate_args: _bool | None = ...) -> None: ...
    def expand(self, batch_shape: Any, _instance: Any = ...) -> Any: ...
    @property
    def support(self) -> Constraint: ...
    @property
    def has_rsample(self) -> Any: ...  # type: ignore[override]
    def sample(self, sample_shape: Any = ...) -> Tensor: ...
    def rsample(self, sample_shape: Any = ...) -> Tensor: ...
    def log_prob(self, value: Any) -> Tensor: ...
    def cdf(self, value: Any) -> Tensor: ...
    def icdf(self, value: Any) -> Tensor: ...
    transforms: Any
    base_dist: Any

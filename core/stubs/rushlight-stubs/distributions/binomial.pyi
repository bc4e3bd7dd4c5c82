# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import Number
from rushlight._words import _bool
from rushlight._words import _int
from rushlight._words import _str
from rushlight.distributions.constraints import Constraint
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.probabilities import BinaryProbabilities
from rushlight.tensor.tensor import Tensor
from typing import Any

class Binomial(BinaryProbabilities, Distribution):
    arg_constraints: dict[_str, Constraint]
    has_enumerate_support: _bool
    def __init__(self, total_count: _int = ..., probs: Tensor | Number | None = ..., logits: Tensor | Number | None = ..., validate_args: _bool | None = ...) -> None: ...
    @property
    def support(self) -> Constraint: ...
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    @property
    def variance(self) -> Tensor: ...
    def sample(self, sample_shape: Any = ...) -> Tensor: ...
    def log_prob(self, value: Any) -> Tensor: ...
    def entropy(self) -> Tensor: ...
    def enumerate_support(self, expand: _bool = ...) -> Tensor: ...
    total_count: Any

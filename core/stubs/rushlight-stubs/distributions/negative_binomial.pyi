# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import Number
from rushlight._words import _bool
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.probabilities import BinaryProbabilities
from rushlight.tensor.tensor import Tensor
from typing import Any

class NegativeBinomial(BinaryProbabilities, Distribution):
    arg_constraints: Any
    support: Any
    def __init__(self, total_count: Tensor | Number, probs: Tensor | Number | None = ..., logits: Tensor | Number | None = ..., validate_args: _bool | None = ...) -> None: ...
    @property
    def mean(self) -> Any: ...
    @property
    def mode(self) -> Any: ...
    @property
    def variance(self) -> Any: ...
    def sample(self, sample_shape: Any = ...) -> Any: ...
    def log_prob(self, value: Any) -> Any: ...
    total_count: Any

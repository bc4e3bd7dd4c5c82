# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import Number
from rushlight._words import _bool
from rushlight._words import _float
from rushlight._words import _str
from rushlight.distributions.constraints import Constraint
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.probabilities import BinaryProbabilities
from rushlight.distributions.relaxed import Relaxed
from rushlight.tensor.tensor import Tensor
from typing import Any

class LogitRelaxedBernoulli(BinaryProbabilities, Distribution):
    arg_constraints: dict[_str, Constraint]
    support: Constraint
    has_rsample: _bool
    def __init__(self, temperature: _float, probs: Tensor | Number | None = ..., logits: Tensor | Number | None = ..., validate_args: _bool | None = ...) -> None: ...
    def rsample(self, sample_shape: Any = ...) -> Tensor: ...
    def log_prob(self, value: Any) -> Tensor: ...
    temperature: _float
class RelaxedBernoulli(Relaxed):
    arg_constraints: dict[_str, Constraint]
    support: Constraint
    def __init__(self, temperature: _float, probs: Tensor | Number | None = ..., logits: Tensor | Number | None = ..., validate_args: _bool | None = ...) -> None: ...

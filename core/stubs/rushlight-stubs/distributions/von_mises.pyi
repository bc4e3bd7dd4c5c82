# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import Number
from rushlight._words import _bool
from rushlight.distributions.distribution import Distribution
from rushlight.tensor.tensor import Tensor
from typing import Any

class VonMises(Distribution):
    arg_constraints: Any
    support: Any
    has_rsample: _bool
    def __init__(self, loc: Tensor | Number, concentration: Tensor | Number, validate_args: _bool | None = ...) -> None: ...
    def log_prob(self, value: Any) -> Any: ...
    def sample(self, sample_shape: Any = ...) -> Any: ...
    @property
    def mean(self) -> Any: ...
    @property
    def mode(self) -> Any: ...
    variance: Any
    loc: Any
    concentration: Any

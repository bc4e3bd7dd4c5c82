# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import Number
from rushlight._words import _bool
from rushlight.distributions.distribution import Distribution
from rushlight.tensor.tensor import Tensor
from typing import Any

class StudentT(Distribution):
    arg_constraints: Any
    support: Any
    has_rsample: _bool
    def __init__(self, df: Tensor | Number, loc: Tensor | Number = ..., scale: Tensor | Number = ..., validate_args: _bool | None = ...) -> None: ...
    @property
    def mean(self) -> Any: ...
    @property
    def mode(self) -> Any: ...
    @property
    def variance(self) -> Any: ...
    def rsample(self, sample_shape: Any = ...) -> Any: ...
    def log_prob(self, value: Any) -> Any: ...
    def entropy(self) -> Any: ...
    df: Any
    loc: Any
    scale: Any

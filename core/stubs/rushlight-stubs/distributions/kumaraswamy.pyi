# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _float
from rushlight._words import _str
from rushlight.distributions.constraints import Constraint
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.tensor.tensor import Tensor

class Kumaraswamy(TransformedDistribution):
    arg_constraints: dict[_str, Constraint]
    support: Constraint
    has_rsample: _bool
    def __init__(self, concentration1: Tensor | _float, concentration0: Tensor | _float, validate_args: _bool | None = ...) -> None: ...
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    @property
    def variance(self) -> Tensor: ...
    def entropy(self) -> Tensor: ...
    concentration1: Tensor
    concentration0: Tensor

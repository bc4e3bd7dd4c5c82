# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _float
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.tensor.tensor import Tensor
from typing import Any

class Kumaraswamy(TransformedDistribution):
    arg_constraints: Any
    support: Any
    has_rsample: _bool
    def __init__(self, concentration1: Tensor | _float, concentration0: Tensor | _float, validate_args: _bool | None = ...) -> None: ...
    @property
    def mean(self) -> Any: ...
    @property
    def mode(self) -> Any: ...
    @property
    def variance(self) -> Any: ...
    def entropy(self) -> Any: ...
    concentration1: Any
    concentration0: Any

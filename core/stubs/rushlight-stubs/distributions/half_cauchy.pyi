# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight.distributions.folded import Folded
from rushlight.tensor.tensor import Tensor
from typing import Any

class HalfCauchy(Folded):
    @property
    def mean(self) -> Tensor: ...
    @property
    def variance(self) -> Tensor: ...
    def log_prob(self, value: Any) -> Tensor: ...

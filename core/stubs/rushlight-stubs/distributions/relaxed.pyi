# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.tensor.tensor import Tensor
from typing import Any

class Relaxed(TransformedDistribution):
    has_rsample: _bool
    @property
    def temperature(self) -> Any: ...
    @property
    def logits(self) -> Tensor: ...
    @property
    def probs(self) -> Tensor: ...

# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight.distributions.distribution import Distribution
from rushlight.tensor.tensor import Tensor

class ExponentialFamily(Distribution):
    def entropy(self) -> Tensor: ...

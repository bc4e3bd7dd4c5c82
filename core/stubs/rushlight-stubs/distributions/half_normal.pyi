# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight.distributions.folded import Folded
from rushlight.tensor.tensor import Tensor

class HalfNormal(Folded):
    @property
    def mean(self) -> Tensor: ...
    @property
    def variance(self) -> Tensor: ...

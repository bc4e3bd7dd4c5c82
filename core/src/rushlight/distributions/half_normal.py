"""The half-normal distribution."""

from __future__ import annotations

import math

from rushlight.distributions.folded import Folded
from rushlight.distributions.normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Folded):
    """The absolute value of a normal variable of mean 0 and standard deviation `scale`."""

    whole = Normal

    @property
    def mean(self):
        """``scale sqrt(2 / pi)``."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self):
        """``scale**2 (1 - 2 / pi)``."""
        return self.scale.pow(2) * (1 - 2 / math.pi)

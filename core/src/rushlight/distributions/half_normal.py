"""The half-normal distribution."""

from __future__ import annotations

import math

from rushlight import where, zeros_like
from rushlight.distributions import constraints
from rushlight.distributions.normal import Normal
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.distributions.transforms import AbsTransform

__all__ = ["HalfNormal"]


class HalfNormal(TransformedDistribution):
    """The absolute value of a normal variable of mean 0 and standard deviation `scale`."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _expandable = {}

    def __init__(self, scale, validate_args=None):
        base = Normal(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self):
        """The standard deviation of the normal variable."""
        return self.base_dist.scale

    @property
    def mean(self):
        """``scale sqrt(2 / pi)``."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self):
        """0."""
        return zeros_like(self.scale)

    @property
    def variance(self):
        """``scale**2 (1 - 2 / pi)``."""
        return self.scale.pow(2) * (1 - 2 / math.pi)

    def log_prob(self, value):
        """The normal's log density and log 2; ``-inf`` below 0."""
        if self._validate_args:
            self._validate_sample(value)
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        """``2 cdf - 1`` of the normal."""
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        """The normal's icdf of ``(value + 1) / 2``."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        """The normal's entropy less log 2."""
        return self.base_dist.entropy() - math.log(2)

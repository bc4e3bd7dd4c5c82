"""What half-normal and half-Cauchy distributions share: the absolute value of a variable that is
symmetric around 0."""

from __future__ import annotations

import math

from rushlight import where, zeros_like
from rushlight.distributions import constraints
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.distributions.transforms import AbsTransform


class Folded(TransformedDistribution):
    """The absolute value of a variable of the class `whole`, around 0 of the given `scale`."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _expandable = {}
    whole: type

    def __init__(self, scale, validate_args=None):
        base = self.whole(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self):
        """The scale of the whole variable."""
        return self.base_dist.scale

    @property
    def mode(self):
        """0."""
        return zeros_like(self.scale)

    def log_prob(self, value):
        """The log density of the whole variable and log 2; ``-inf`` below 0."""
        if self._validate_args:
            self._validate_sample(value)
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        """``2 cdf - 1`` of the whole variable."""
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob):
        """The whole variable's icdf of ``(prob + 1) / 2``."""
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self):
        """The whole variable's entropy less log 2."""
        return self.base_dist.entropy() - math.log(2)

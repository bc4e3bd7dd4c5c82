"""The inverse gamma distribution."""

from __future__ import annotations

import math

from rushlight import where
from rushlight.distributions import constraints
from rushlight.distributions.gamma import Gamma
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.distributions.transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """``1 / x`` for x from ``Gamma(concentration, rate)``."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _expandable = {}

    def __init__(self, concentration, rate, validate_args=None):
        base = Gamma(concentration, rate, validate_args=validate_args)
        inverse = PowerTransform(base.rate.new_tensor(-1.0))
        super().__init__(base, inverse, validate_args=validate_args)

    @property
    def concentration(self):
        """The shape parameter."""
        return self.base_dist.concentration

    @property
    def rate(self):
        """The scale of the inverse."""
        return self.base_dist.rate

    @property
    def mean(self):
        """``rate / (concentration - 1)``; inf for concentrations up to 1."""
        a = self.concentration
        return where(a > 1, self.rate / (where(a > 1, a, 2.0) - 1), math.inf)

    @property
    def mode(self):
        """``rate / (concentration + 1)``."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self):
        """``rate**2 / ((a - 1)**2 (a - 2))``; inf for concentrations a up to 2."""
        a = self.concentration
        above = where(a > 2, a, 3.0)
        return where(a > 2, self.rate.square() / ((above - 1).square() * (above - 2)), math.inf)

    def entropy(self):
        """``a + log(rate) + log gamma(a) - (1 + a) digamma(a)``."""
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()

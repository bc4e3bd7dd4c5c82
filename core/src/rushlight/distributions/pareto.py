"""The Pareto distribution."""

from __future__ import annotations

import math

from rushlight import where
from rushlight.distributions import constraints
from rushlight.distributions.exponential import Exponential
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.distributions.transforms import AffineTransform, ExpTransform
from rushlight.distributions.utils import broadcast_all

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """Density ``alpha scale**alpha / x**(alpha + 1)`` from `scale` on."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    _expandable = {"scale": 0, "alpha": 0}

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        transforms = [ExpTransform(), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self):
        """``alpha scale / (alpha - 1)``; inf for alpha up to 1."""
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self):
        """`scale`."""
        return self.scale

    @property
    def variance(self):
        """``scale**2 alpha / ((alpha - 1)**2 (alpha - 2))``; inf for alpha up to 2."""
        a = self.alpha
        above = where(a > 2, a, 3.0)
        found = self.scale.pow(2) * above / ((above - 1).pow(2) * (above - 2))
        return where(a > 2, found, math.inf)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """Numbers from scale on."""
        return constraints.greater_than_eq(self.scale)

    def entropy(self):
        """``log(scale / alpha) + 1 + 1 / alpha``."""
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())

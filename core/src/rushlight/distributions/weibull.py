"""The Weibull distribution."""

from __future__ import annotations

from rushlight import lgamma, ones_like
from rushlight.distributions import constraints
from rushlight.distributions.exponential import Exponential
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.distributions.transforms import AffineTransform, PowerTransform
from rushlight.distributions.utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """cdf ``1 - exp(-(x / scale)**concentration)``."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _expandable = {"scale": 0, "concentration": 0}

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(ones_like(self.scale), validate_args=validate_args)
        transforms = [
            PowerTransform(exponent=self.concentration_reciprocal),
            AffineTransform(loc=0, scale=self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _expand_parameters(self, owner, new, batch_shape):
        super()._expand_parameters(owner, new, batch_shape)
        new.concentration_reciprocal = new.concentration.reciprocal()

    @property
    def mean(self):
        """``scale gamma(1 + 1 / concentration)``."""
        return self.scale * lgamma(1 + self.concentration_reciprocal).exp()

    @property
    def mode(self):
        """``scale ((k - 1) / k)**(1 / k)`` with k the concentration."""
        k = self.concentration
        return self.scale * ((k - 1) / k).pow(k.reciprocal())

    @property
    def variance(self):
        """``scale**2 (gamma(1 + 2 / k) - gamma(1 + 1 / k)**2)``."""
        first = lgamma(1 + self.concentration_reciprocal)
        second = lgamma(1 + 2 * self.concentration_reciprocal)
        return self.scale.pow(2) * (second.exp() - (2 * first).exp())

    def entropy(self):
        """``gamma (1 - 1 / k) + log(scale / k) + 1`` with Euler's constant."""
        return (
            euler_constant * (1 - self.concentration_reciprocal)
            + (self.scale * self.concentration_reciprocal).log()
            + 1
        )

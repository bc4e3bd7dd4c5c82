"""The log-normal distribution."""

from __future__ import annotations

from rushlight.distributions import constraints
from rushlight.distributions.normal import Normal
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.distributions.transforms import ExpTransform

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """``exp`` of a normal variable of mean `loc` and standard deviation `scale`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _expandable = {}

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def loc(self):
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self):
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self):
        """``exp(loc + scale**2 / 2)``."""
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self):
        """``exp(loc - scale**2)``."""
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self):
        """``(exp(scale**2) - 1) exp(2 loc + scale**2)``."""
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self):
        """The normal's entropy and loc."""
        return self.base_dist.entropy() + self.loc

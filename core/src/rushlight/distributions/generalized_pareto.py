"""The generalised Pareto distribution."""

from __future__ import annotations

import math

from rushlight import expm1, full_like, log1p, ones_like, rand, where
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Excesses over a threshold `loc`: ``P(X > x) = (1 + c z)**(-1 / c)`` with
    ``z = (x - loc) / scale`` and c the `concentration`; ``exp(-z)`` for c = 0."""

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    _expandable = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def rsample(self, sample_shape=()):
        """By inversion of uniforms."""
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def _z(self, value):
        return (value - self.loc) / self.scale

    def _near_zero(self):
        """Where the concentration counts as 0, and a concentration that can be divided by."""
        zero = self.concentration.abs() < 1e-8
        return zero, where(zero, ones_like(self.concentration), self.concentration)

    def log_survival_function(self, value):
        """``log P(X > value)``."""
        if self._validate_args:
            self._validate_sample(value)
        return self._log_survival(value)

    def _log_survival(self, value):
        z = self._z(value)
        zero, safe = self._near_zero()
        return where(zero, -z, -log1p(safe * z) / safe)

    def log_prob(self, value):
        """The log density."""
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        zero, safe = self._near_zero()
        return where(zero, -z, -(1 + 1 / safe) * log1p(safe * z)) - self.scale.log()

    def log_cdf(self, value):
        """``log P(X <= value)``."""
        return log1p(-self.log_survival_function(value).exp())

    def cdf(self, value):
        """``P(X <= value)``; nan where that formula gives less than 0, which is below loc."""
        found = -expm1(self.log_survival_function(value))
        return where(found < 0, math.nan, found)

    def icdf(self, value):
        """``loc + scale ((1 - value)**(-c) - 1) / c``."""
        zero, safe = self._near_zero()
        log_rest = log1p(-value)
        z = where(zero, -log_rest, expm1(-safe * log_rest) / safe)
        return self.loc + self.scale * z

    @property
    def mean(self):
        """``loc + scale / (1 - c)``; nan from c = 1."""
        c = self.concentration
        below = where(c < 1, c, 0.0)
        return where(c < 1, self.loc + self.scale / (1 - below), math.nan)

    @property
    def variance(self):
        """``scale**2 / ((1 - c)**2 (1 - 2 c))``; nan from c = 1/2."""
        c = self.concentration
        below = where(c < 0.5, c, 0.0)
        return where(c < 0.5, self.scale.pow(2) / ((1 - below).pow(2) * (1 - 2 * below)), math.nan)

    def entropy(self):
        """``1 + c + log(scale)``."""
        return (1 + self.concentration + self.scale.log()).broadcast_to(self._batch_shape)

    @property
    def mode(self):
        """`loc`."""
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """From loc on, up to ``loc - scale / c`` for negative c."""
        negative = self.concentration < 0
        safe = where(negative, self.concentration, -1.0)
        upper = where(negative, self.loc - self.scale / safe, full_like(self.loc, math.inf))
        return constraints.interval(self.loc, upper)

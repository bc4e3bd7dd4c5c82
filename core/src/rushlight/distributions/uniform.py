"""The uniform distribution."""

from __future__ import annotations

import math

from rushlight import log, rand
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.utils import broadcast_all

__all__ = ["Uniform"]


class Uniform(Distribution):
    """Constant density from `low`, included, to `high`."""

    has_rsample = True
    _expandable = {"low": 0, "high": 0}

    @property
    def arg_constraints(self):
        """Each bound is limited by the other."""
        return {
            "low": constraints.less_than(self.high),
            "high": constraints.greater_than(self.low),
        }

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.size(), validate_args=validate_args)

    @property
    def mean(self):
        """The middle."""
        return (self.high + self.low) / 2

    @property
    def mode(self):
        """nan: no value is more probable than others."""
        return math.nan * self.high

    @property
    def stddev(self):
        """``(high - low) / sqrt(12)``."""
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self):
        """``(high - low)**2 / 12``."""
        return (self.high - self.low).pow(2) / 12

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """The interval."""
        return constraints.interval(self.low, self.high)

    def rsample(self, sample_shape=()):
        """``low + (high - low) u``."""
        shape = self._extended_shape(sample_shape)
        u = rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value):
        """``-log(high - low)`` inside, ``-inf`` outside."""
        if self._validate_args:
            self._validate_sample(value)
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return log(inside) - log(self.high - self.low)

    def cdf(self, value):
        """``(value - low) / (high - low)``, clamped."""
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        """``low + (high - low) value``."""
        return value * (self.high - self.low) + self.low

    def entropy(self):
        """``log(high - low)``."""
        return log(self.high - self.low)

"""The Gumbel distribution."""

from __future__ import annotations

import math
from numbers import Number

from rushlight import finfo, full_like, get_default_dtype, ones_like
from rushlight.distributions import constraints
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.distributions.transforms import AffineTransform, ExpTransform
from rushlight.distributions.uniform import Uniform
from rushlight.distributions.utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The extreme-value distribution of cdf ``exp(-exp(-(x - loc) / scale))``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _expandable = {"loc": 0, "scale": 0}

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        if isinstance(loc, Number) and isinstance(scale, Number):
            limits = finfo(get_default_dtype())
            base = Uniform(limits.tiny, 1 - limits.eps, validate_args=validate_args)
        else:
            limits = finfo(self.loc.dtype)
            low = full_like(self.loc, limits.tiny)
            high = full_like(self.loc, 1 - limits.eps)
            base = Uniform(low, high, validate_args=validate_args)
        transforms = [
            ExpTransform().inv,
            AffineTransform(0, -ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(self.loc, -self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def log_prob(self, value):
        """``t - exp(t) - log(scale)`` with ``t = (loc - value) / scale``."""
        if self._validate_args:
            self._validate_sample(value)
        t = (self.loc - value) / self.scale
        return (t - t.exp()) - self.scale.log()

    @property
    def mean(self):
        """``loc + scale gamma`` with Euler's constant."""
        return self.loc + self.scale * euler_constant

    @property
    def mode(self):
        """`loc`."""
        return self.loc

    @property
    def stddev(self):
        """``scale pi / sqrt(6)``."""
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self):
        """``scale**2 pi**2 / 6``."""
        return self.stddev.pow(2)

    def entropy(self):
        """``log(scale) + 1 + gamma``."""
        return self.scale.log() + (1 + euler_constant)

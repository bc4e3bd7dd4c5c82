"""The Cauchy distribution."""

from __future__ import annotations

import math

from rushlight import atan, full, tan
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.utils import broadcast_all

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """Density ``1 / (pi scale (1 + ((x - loc) / scale)**2))``; it has no mean and no variance."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _expandable = {"loc": 0, "scale": 0}

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def _full(self, value):
        shape = self._extended_shape()
        return full(shape, value, dtype=self.loc.dtype, device=self.loc.device)

    @property
    def mean(self):
        """nan."""
        return self._full(math.nan)

    @property
    def mode(self):
        """`loc`."""
        return self.loc

    @property
    def variance(self):
        """inf."""
        return self._full(math.inf)

    def rsample(self, sample_shape=()):
        """``loc + scale * noise`` with noise of :meth:`Tensor.cauchy_`."""
        noise = self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + noise * self.scale

    def log_prob(self, value):
        """``-log(pi scale) - log(1 + z**2)``."""
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (z * z).log1p()

    def cdf(self, value):
        """``atan(z) / pi + 1/2``."""
        if self._validate_args:
            self._validate_sample(value)
        return atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        """``loc + scale tan(pi (value - 1/2))``."""
        return tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        """``log(4 pi scale)``."""
        return math.log(4 * math.pi) + self.scale.log()

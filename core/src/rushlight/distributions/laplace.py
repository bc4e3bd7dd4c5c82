"""The Laplace distribution."""

from __future__ import annotations

from rushlight import expm1, finfo, log, log1p
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.utils import broadcast_all

__all__ = ["Laplace"]


class Laplace(Distribution):
    """Density ``exp(-|x - loc| / scale) / (2 scale)``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _expandable = {"loc": 0, "scale": 0}

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @property
    def mean(self):
        """`loc`."""
        return self.loc

    @property
    def mode(self):
        """`loc`."""
        return self.loc

    @property
    def variance(self):
        """``2 scale**2``."""
        return 2 * self.scale.pow(2)

    @property
    def stddev(self):
        """``sqrt(2) scale``."""
        return (2**0.5) * self.scale

    def rsample(self, sample_shape=()):
        """By inversion of a uniform from (-1, 1)."""
        shape = self._extended_shape(sample_shape)
        u = self.loc.new_empty(shape).uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * log1p(-u.abs())

    def log_prob(self, value):
        """``-log(2 scale) - |value - loc| / scale``."""
        if self._validate_args:
            self._validate_sample(value)
        return -log(2 * self.scale) - (value - self.loc).abs() / self.scale

    def cdf(self, value):
        """``1/2 + sign (1 - exp(-|z|)) / 2`` with ``z = (value - loc) / scale``."""
        if self._validate_args:
            self._validate_sample(value)
        z = value - self.loc
        return 0.5 - 0.5 * z.sign() * expm1(-z.abs() / self.scale)

    def icdf(self, value):
        """``loc - scale sign(t) log(1 - 2 |t|)`` with ``t = value - 1/2``."""
        term = value - 0.5
        return self.loc - self.scale * term.sign() * log1p(-2 * term.abs())

    def entropy(self):
        """``1 + log(2 scale)``."""
        return 1 + log(2 * self.scale)

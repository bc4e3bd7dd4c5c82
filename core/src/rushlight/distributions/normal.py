"""The normal distribution."""

from __future__ import annotations

import math

from rushlight import erf, erfinv, no_grad
from rushlight import normal as draw_normal
from rushlight.distributions import constraints
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.distributions.utils import _standard_normal, broadcast_all

__all__ = ["Normal"]


class Normal(ExponentialFamily):
    """The normal distribution of mean `loc` and standard deviation `scale`.

    >>> rushlight.distributions.Normal(0.0, 1.0).log_prob(rushlight.tensor(0.0))
    tensor(-0.9189)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0
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
    def stddev(self):
        """`scale`."""
        return self.scale

    @property
    def variance(self):
        """``scale**2``."""
        return self.stddev.pow(2)

    def sample(self, sample_shape=()):
        """Samples, as :func:`rushlight.normal` draws them."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return draw_normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape=()):
        """``loc + scale * noise``."""
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + noise * self.scale

    def log_prob(self, value):
        """``-(value - loc)**2 / (2 scale**2) - log(scale sqrt(2 pi))``."""
        if self._validate_args:
            self._validate_sample(value)
        distance = (value - self.loc) / self.scale
        return -0.5 * distance * distance - self.scale.log() - 0.5 * math.log(2 * math.pi)

    def cdf(self, value):
        """By the error function."""
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value):
        """By the inverse error function."""
        return self.loc + self.scale * erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        """``log(scale sqrt(2 pi e))``."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self):
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x, y):
        return -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log()

"""The Poisson distribution."""

from __future__ import annotations

from rushlight import exp, no_grad
from rushlight import poisson as draw_poisson
from rushlight.distributions import constraints
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.distributions.utils import broadcast_all

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """Counts of probability ``rate**k exp(-rate) / k!``."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _expandable = {"rate": 0}

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    @property
    def mean(self):
        """`rate`."""
        return self.rate

    @property
    def mode(self):
        """The integer below the rate."""
        return self.rate.floor()

    @property
    def variance(self):
        """`rate`."""
        return self.rate

    def sample(self, sample_shape=()):
        """Counts, as :func:`rushlight.poisson` draws them."""
        with no_grad():
            return draw_poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        """``value log(rate) - rate - log value!``."""
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self):
        return (self.rate.log(),)

    def _log_normalizer(self, x):
        return exp(x)

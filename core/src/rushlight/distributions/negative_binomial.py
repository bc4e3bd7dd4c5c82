"""The negative binomial distribution."""

from __future__ import annotations

from rushlight import exp, no_grad, poisson
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.gamma import Gamma
from rushlight.distributions.probabilities import BinaryProbabilities
from rushlight.distributions.utils import lazy_property
from rushlight.nn.functional import logsigmoid

__all__ = ["NegativeBinomial"]


class NegativeBinomial(BinaryProbabilities, Distribution):
    """The number of successes, of probability `probs`, before `total_count` failures."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _expandable = {"total_count": 0, "probs": 0, "logits": 0}

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        (total_count,) = self._take(probs, logits, total_count)
        self.total_count = total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self):
        """``total_count exp(logits)``."""
        return self.total_count * exp(self.logits)

    @property
    def mode(self):
        """``floor((total_count - 1) exp(logits))``, at least 0."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self):
        """``mean / (1 - probs)``."""
        return self.mean / (1 - self.probs)

    @lazy_property
    def _gamma(self):
        return Gamma(self.total_count, exp(-self.logits), validate_args=False)

    def sample(self, sample_shape=()):
        """Poisson samples of gamma-distributed rates."""
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value):
        """The log probability; 0 for no failures and the value 0."""
        if self._validate_args:
            self._validate_sample(value)
        total = self.total_count
        powers = total * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        ways = -(total + value).lgamma() + (1.0 + value).lgamma() + total.lgamma()
        return powers - ways.masked_fill(total + value == 0.0, 0.0)

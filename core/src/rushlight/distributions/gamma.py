"""The gamma distribution."""

from __future__ import annotations

from rushlight import as_tensor, digamma, lgamma, special, xlogy
from rushlight.distributions import constraints
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.distributions.utils import broadcast_all, kept_positive
from rushlight.ops.random.reparameterization import _standard_gamma
from rushlight.ops.random.sampling import for_examples

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """Density ``rate**a x**(a - 1) exp(-rate x) / gamma(a)`` with a the `concentration`."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _expandable = {"concentration": 0, "rate": 0}

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    @property
    def mean(self):
        """``concentration / rate``."""
        return self.concentration / self.rate

    @property
    def mode(self):
        """``(concentration - 1) / rate``, or 0."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self):
        """``concentration / rate**2``."""
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape=()):
        """Samples with implicit gradients."""
        shape = self._extended_shape(sample_shape)
        return kept_positive(
            _standard_gamma(for_examples(self.concentration.expand(shape)))
            / self.rate.expand(shape)
        )

    def log_prob(self, value):
        """The log density."""
        value = as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        return (
            xlogy(self.concentration, self.rate)
            + xlogy(self.concentration - 1, value)
            - self.rate * value
            - lgamma(self.concentration)
        )

    def entropy(self):
        """``a - log(rate) + log gamma(a) + (1 - a) digamma(a)``."""
        a = self.concentration
        return a - self.rate.log() + lgamma(a) + (1.0 - a) * digamma(a)

    @property
    def _natural_params(self):
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):
        return lgamma(x + 1) + (x + 1) * (-y.reciprocal()).log()

    def cdf(self, value):
        """The regularised incomplete gamma function."""
        if self._validate_args:
            self._validate_sample(value)
        return special.gammainc(self.concentration, self.rate * value)

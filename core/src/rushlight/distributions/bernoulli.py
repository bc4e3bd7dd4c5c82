"""The Bernoulli distribution."""

from __future__ import annotations

import math

from rushlight import Size, arange, no_grad, where
from rushlight import bernoulli as draw_bernoulli
from rushlight.distributions import constraints
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.distributions.probabilities import BinaryProbabilities
from rushlight.distributions.utils import broadcast_all
from rushlight.nn.functional import binary_cross_entropy_with_logits, logsigmoid

__all__ = ["Bernoulli"]


class Bernoulli(BinaryProbabilities, ExponentialFamily):
    """1 with probability `probs` (log odds `logits`), else 0.

    >>> rushlight.distributions.Bernoulli(probs=0.25).mean
    tensor(0.2500)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _expandable = {"probs": 0, "logits": 0}

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._take(probs, logits)
        shape = Size() if self._is_number else self._param.size()
        super().__init__(shape, validate_args=validate_args)

    @property
    def mean(self):
        """`probs`."""
        return self.probs

    @property
    def mode(self):
        """1 where it is more probable than 0; nan where they are equal."""
        mode = (self.probs >= 0.5).to(self.probs)
        return where(self.probs == 0.5, math.nan, mode)

    @property
    def variance(self):
        """``probs (1 - probs)``."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        """Zeros and ones."""
        with no_grad():
            return draw_bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        """``value log(probs) + (1 - value) log(1 - probs)``."""
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        """``-probs log(probs) - (1 - probs) log(1 - probs)``."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        """0 and 1."""
        values = arange(2, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        return -logsigmoid(-x)  # log(1 + exp(x))

"""The binomial distribution."""

from __future__ import annotations

from rushlight import arange, exp, lgamma, no_grad
from rushlight import binomial as draw_binomial
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.probabilities import BinaryProbabilities
from rushlight.nn.functional import logsigmoid

__all__ = ["Binomial"]


class Binomial(BinaryProbabilities, Distribution):
    """The number of successes of `total_count` trials of probability `probs`."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _expandable = {"total_count": 0, "probs": 0, "logits": 0}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        (total_count,) = self._take(probs, logits, total_count)
        self.total_count = total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        """Integers from 0 to total_count."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        """``total_count probs``."""
        return self.total_count * self.probs

    @property
    def mode(self):
        """``floor((total_count + 1) probs)``, at most total_count."""
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self):
        """``total_count probs (1 - probs)``."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        """Counts, as :func:`rushlight.binomial` draws them."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return draw_binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        """The log probability, from the log odds, so that none of them overflows."""
        if self._validate_args:
            self._validate_sample(value)
        total, logits = self.total_count, self.logits
        ways = lgamma(total + 1) - lgamma(value + 1) - lgamma(total - value + 1)
        normaliser = -total * logsigmoid(-logits)  # total log(1 + exp(logits))
        return ways + value * logits - normaliser

    def _same_count(self, name):
        count = int(self.total_count.max())
        if not bool((self.total_count.min() == count).all()):
            raise NotImplementedError(
                f"Binomial.{name} needs one total_count; got several. Instead: make one Binomial "
                "for each"
            )
        return count

    def entropy(self):
        """The entropy by summing over the support."""
        self._same_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        """0 to total_count, which must be the same in the whole batch."""
        count = self._same_count("enumerate_support")
        values = arange(1 + count, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

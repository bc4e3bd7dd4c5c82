"""The multinomial distribution."""

from __future__ import annotations

from rushlight import Size, exp, lgamma, ones_like, tensor
from rushlight.distributions import constraints
from rushlight.distributions.binomial import Binomial
from rushlight.distributions.categorical import Categorical
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """Counts (..., K) of `total_count` independent draws of a :class:`Categorical`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError(
                "Multinomial takes one int as total_count for the whole batch, got a "
                f"{type(total_count).__name__}. Instead: make one Multinomial for each count"
            )
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        """The same with a larger batch."""
        new = self._get_checked_instance(Multinomial, _instance)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(Size(batch_shape))
        new._binomial = self._binomial.expand((*batch_shape, *self._event_shape))
        return self._finish_expanded(new, batch_shape, self._event_shape)

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        """Counts with a sum up to total_count."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self):
        """``total_count probs``."""
        return self.probs * self.total_count

    @property
    def variance(self):
        """``total_count probs (1 - probs)``."""
        return self.total_count * self.probs * (1 - self.probs)

    @property
    def logits(self):
        """The log probabilities."""
        return self._categorical.logits

    @property
    def probs(self):
        """The probabilities."""
        return self._categorical.probs

    @property
    def param_shape(self):
        """The shape of the parameter given."""
        return self._categorical.param_shape

    def sample(self, sample_shape=()):
        """Counts of draws of the categorical distribution."""
        sample_shape = tuple(sample_shape)
        draws = self._categorical.sample(Size((self.total_count, *sample_shape)))
        draws = draws.movedim(0, -1)
        counts = draws.new_zeros(self._extended_shape(sample_shape))
        counts = counts.scatter_add(-1, draws, ones_like(draws))
        return counts.type_as(self.probs)

    def entropy(self):
        """The entropy, with ``E[log k!]`` by the binomial distribution of each count."""
        n = tensor(self.total_count)
        one_draw = self._categorical.entropy()
        support = self._binomial.enumerate_support(expand=False)[1:]
        weights = exp(self._binomial.log_prob(support))
        term = (weights * lgamma(support + 1)).sum((0, -1))
        return n * one_draw - lgamma(n + 1) + term

    def log_prob(self, value):
        """The log probability of the counts; their sum need not be total_count."""
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -float("inf")), 0)
        factorials = lgamma(value.sum(-1) + 1) - lgamma(value + 1).sum(-1)
        return factorials + (logits * value).sum(-1)

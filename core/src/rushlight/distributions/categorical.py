"""The categorical distribution."""

from __future__ import annotations

import math

from rushlight import Size, arange, broadcast_shapes, finfo, full, int64, multinomial, no_grad
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.probabilities import check_one
from rushlight.distributions.utils import lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Categorical"]


class Categorical(Distribution):
    """Indices 0 .. K-1 with the probabilities in the last dimension of `probs`, which are
    normalised, or of `logits`, unnormalised logs.

    >>> rushlight.distributions.Categorical(rushlight.tensor([1.0, 1.0, 2.0])).probs
    tensor([0.2500, 0.2500, 0.5000])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _expandable = {"probs": 1, "logits": 1}
    _shared = ("_num_events", "_given")

    def __init__(self, probs=None, logits=None, validate_args=None):
        check_one(probs, logits)
        self._given = "logits" if probs is None else "probs"
        value = logits if probs is None else probs
        if value.dim() < 1:
            raise ValueError(f"Categorical: `{self._given}` must have one dimension or more")
        if probs is None:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        else:
            self.probs = probs / probs.sum(-1, keepdim=True)
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    @property
    def _param(self):
        return self.__dict__[self._given]

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        """Integers from 0 to K - 1."""
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self):
        """The log probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self):
        """The probabilities."""
        return logits_to_probs(self.logits)

    @property
    def param_shape(self):
        """The shape of the parameter given."""
        return self._param.size()

    def _nan(self):
        shape = self._extended_shape()
        return full(shape, math.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mean(self):
        """nan: indices have no mean."""
        return self._nan()

    @property
    def mode(self):
        """The most probable index."""
        return self.probs.argmax(dim=-1)

    @property
    def variance(self):
        """nan: indices have no variance."""
        return self._nan()

    def sample(self, sample_shape=()):
        """Indices, as :func:`rushlight.multinomial` draws them."""
        sample_shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        with no_grad():
            found = multinomial(rows, sample_shape.numel(), True).T
        return found.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        """The log probability of each index."""
        if self._validate_args:
            self._validate_sample(value)
        value = value.long().unsqueeze(-1)
        shape = broadcast_shapes(value.shape[:-1], self.logits.shape[:-1])
        logits = self.logits.expand((*shape, self._num_events))
        return logits.gather(-1, value.expand((*shape, 1))).squeeze(-1)

    def entropy(self):
        """``-sum(probs log(probs))``."""
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        """0 .. K - 1."""
        values = arange(self._num_events, dtype=int64, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

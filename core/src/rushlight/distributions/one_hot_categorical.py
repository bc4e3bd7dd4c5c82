"""The categorical distribution on one-hot vectors."""

from __future__ import annotations

from rushlight import Size, eye
from rushlight.distributions import constraints
from rushlight.distributions.categorical import Categorical
from rushlight.distributions.distribution import Distribution
from rushlight.nn.functional import one_hot

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    """One-hot vectors (..., K) with the probabilities of :class:`Categorical`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        """The same with a larger batch."""
        new = self._get_checked_instance(OneHotCategorical, _instance)
        new._categorical = self._categorical.expand(Size(batch_shape))
        return self._finish_expanded(new, batch_shape, self._event_shape)

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    @property
    def _param(self):
        return self._categorical._param

    @property
    def probs(self):
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self):
        """The log probabilities."""
        return self._categorical.logits

    @property
    def mean(self):
        """`probs`."""
        return self._categorical.probs

    @property
    def mode(self):
        """The vector of the most probable index."""
        found = self._categorical.probs.argmax(dim=-1)
        return one_hot(found, num_classes=self._event_shape[0]).to(self.probs)

    @property
    def variance(self):
        """``probs (1 - probs)``."""
        return self._categorical.probs * (1 - self._categorical.probs)

    @property
    def param_shape(self):
        """The shape of the parameter given."""
        return self._categorical.param_shape

    def sample(self, sample_shape=()):
        """One-hot vectors in the dtype of the probabilities."""
        indices = self._categorical.sample(Size(sample_shape))
        return one_hot(indices, self._event_shape[0]).to(self._categorical._param.dtype)

    def log_prob(self, value):
        """The log probability of each vector."""
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self):
        """The entropy of the indices."""
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        """The rows of the identity."""
        n = self._event_shape[0]
        values = eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n,) + (1,) * len(self._batch_shape) + (n,))
        return values.expand((n, *self._batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot samples through which gradients pass as if they were the probabilities.
    (Bengio, Leonard and Courville, 2013.)"""

    has_rsample = True

    def rsample(self, sample_shape=()):
        """Samples with the gradient of `probs`."""
        samples = self.sample(sample_shape)
        probs = self._categorical.probs
        return samples + (probs - probs.detach())

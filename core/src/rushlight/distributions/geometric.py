"""The geometric distribution."""

from __future__ import annotations

from rushlight import Size, finfo, log1p, no_grad, zeros_like
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.probabilities import BinaryProbabilities
from rushlight.distributions.utils import all_true, broadcast_all
from rushlight.nn.functional import binary_cross_entropy_with_logits

__all__ = ["Geometric"]


class Geometric(BinaryProbabilities, Distribution):
    """The number of failures before the first success, of probability `probs`."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _expandable = {"probs": 0, "logits": 0}

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._take(probs, logits)
        shape = Size() if self._is_number else self._param.size()
        super().__init__(shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not all_true(self.probs > 0):
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of "
                f"{self!r} to be positive, but found invalid values:\n"
                f"{self.probs[~(self.probs > 0)]}"
            )

    @property
    def mean(self):
        """``1 / probs - 1``."""
        return 1.0 / self.probs - 1.0

    @property
    def mode(self):
        """0."""
        return zeros_like(self.probs)

    @property
    def variance(self):
        """``(1 / probs - 1) / probs``."""
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape=()):
        """By inversion of uniforms."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            u = self.probs.new_empty(shape).uniform_(finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        """``value log(1 - probs) + log(probs)``."""
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        sure = (probs == 1) & (value == 0)  # 0 * log(0) counts as 0
        return value * log1p(-probs.masked_fill(sure, 0)) + self.probs.log()

    def entropy(self):
        """The entropy of one trial over `probs`."""
        trial = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return trial / self.probs

"""The relaxed Bernoulli distribution: differentiable samples between 0 and 1.
(Maddison, Mnih and Teh, 2017; Jang, Gu and Poole, 2017.)"""

from __future__ import annotations

from rushlight import Size, rand
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.probabilities import BinaryProbabilities
from rushlight.distributions.relaxed import Relaxed
from rushlight.distributions.transforms import SigmoidTransform
from rushlight.distributions.utils import broadcast_all, clamp_probs
from rushlight.nn.functional import logsigmoid

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(BinaryProbabilities, Distribution):
    """The log odds of a :class:`RelaxedBernoulli`: a logistic variable over the temperature."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True
    _expandable = {"probs": 0, "logits": 0}
    _shared = ("temperature",)

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        self._take(probs, logits)
        shape = Size() if self._is_number else self._param.size()
        super().__init__(shape, validate_args=validate_args)

    def rsample(self, sample_shape=()):
        """``(logit(u) + logit(probs)) / temperature`` for uniforms u."""
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(rand(shape, dtype=probs.dtype, device=probs.device))
        noise = u.log() - (-u).log1p()
        return (noise + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value):
        """The log density."""
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value.mul(self.temperature)
        return self.temperature.log() + difference + 2 * logsigmoid(-difference)


class RelaxedBernoulli(Relaxed):
    """Values in (0, 1) near 0 and 1 for low temperatures, differentiable in the parameters."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _expandable = {}

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

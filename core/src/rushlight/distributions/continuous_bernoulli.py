"""The continuous Bernoulli distribution. (Loaiza-Ganem and Cunningham, 2019.)"""

from __future__ import annotations

from rushlight import Size, log, log1p, no_grad, rand, where
from rushlight.distributions import constraints
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.distributions.probabilities import BinaryProbabilities
from rushlight.distributions.utils import all_true, broadcast_all, clamp_probs
from rushlight.nn.functional import binary_cross_entropy_with_logits

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(BinaryProbabilities, ExponentialFamily):
    """Density proportional to ``probs**x (1 - probs)**(1 - x)`` on [0, 1].

    Between the two `lims` around 1/2, where the formulas divide by nearly 0, Taylor series serve.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _expandable = {"probs": 0, "logits": 0}
    _shared = ("_lims",)

    def __init__(
        self,
        probs=None,
        logits=None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args=None,
    ):
        self._take(probs, logits)
        if probs is not None:
            if validate_args is not None and validate_args:
                if not all_true(self.arg_constraints["probs"].check(self.probs)):
                    raise ValueError(
                        f"ContinuousBernoulli: probs must lie between 0 and 1; got {self.probs}"
                    )
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        shape = Size() if self._is_number else self._param.size()
        super().__init__(shape, validate_args=validate_args)

    def _outside_unstable_region(self):
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self):
        return where(self._outside_unstable_region(), self.probs, self._lims[0])

    def _series(self):
        """``probs - 1/2`` inside the region of the series."""
        return where(self._outside_unstable_region(), 0.0, self.probs - 0.5)

    def _cont_bern_log_norm(self):
        """The log of the normaliser ``2 artanh(1 - 2 p) / (1 - 2 p)``."""
        cut = self._cut_probs()
        below = where(cut <= 0.5, cut, 0.0)
        above = where(cut >= 0.5, cut, 1.0)
        ratio = log((log1p(-cut) - log(cut)).abs())
        ratio = ratio - where(cut <= 0.5, log1p(-2.0 * below), log(2.0 * above - 1.0))
        x2 = self._series().pow(2)
        series = log(self.probs.new_tensor(2.0)) + (4.0 / 3.0 + 104.0 / 45.0 * x2) * x2
        return where(self._outside_unstable_region(), ratio, series)

    @property
    def mean(self):
        """The mean."""
        cut, x = self._cut_probs(), self._series()
        exact = cut / (2.0 * cut - 1.0) + 1.0 / (log1p(-cut) - log(cut))
        series = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x
        return where(self._outside_unstable_region(), exact, series)

    @property
    def stddev(self):
        """The square root of the variance."""
        return self.variance.sqrt()

    @property
    def variance(self):
        """The variance."""
        cut, x2 = self._cut_probs(), self._series().pow(2)
        exact = cut * (cut - 1.0) / (1.0 - 2.0 * cut).pow(2)
        exact = exact + 1.0 / (log1p(-cut) - log(cut)).pow(2)
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x2) * x2
        return where(self._outside_unstable_region(), exact, series)

    def _draw(self, sample_shape):
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def sample(self, sample_shape=()):
        """By inversion of uniforms."""
        with no_grad():
            return self._draw(sample_shape)

    def rsample(self, sample_shape=()):
        """By inversion of uniforms."""
        return self._draw(sample_shape)

    def log_prob(self, value):
        """The log density."""
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        entropy = binary_cross_entropy_with_logits(logits, value, reduction="none")
        return -entropy + self._cont_bern_log_norm()

    def cdf(self, value):
        """``(p**x (1 - p)**(1 - x) + p - 1) / (2 p - 1)``."""
        if self._validate_args:
            self._validate_sample(value)
        cut = self._cut_probs()
        exact = (cut.pow(value) * (1.0 - cut).pow(1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        found = where(self._outside_unstable_region(), exact, value)
        return where(value <= 0.0, 0.0, where(value >= 1.0, 1.0, found))

    def icdf(self, value):
        """The inverse of the cdf."""
        cut = self._cut_probs()
        exact = (log1p(-cut + value * (2.0 * cut - 1.0)) - log1p(-cut)) / (log(cut) - log1p(-cut))
        return where(self._outside_unstable_region(), exact, value)

    def entropy(self):
        """The entropy."""
        low, high = log1p(-self.probs), log(self.probs)
        return self.mean * (low - high) - self._cont_bern_log_norm() - low

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        """``log((exp(x) - 1) / x)``; near 0 by its series."""
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = where(outside, x, (self._lims[0] - 0.5))
        exact = log((cut.exp() - 1).abs()) - log(cut.abs())
        series = 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0
        return where(outside, exact, series)

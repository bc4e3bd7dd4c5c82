"""The half-Cauchy distribution."""

from __future__ import annotations

import math

from rushlight import as_tensor, full, where, zeros_like
from rushlight.distributions import constraints
from rushlight.distributions.cauchy import Cauchy
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.distributions.transforms import AbsTransform

__all__ = ["HalfCauchy"]


class HalfCauchy(TransformedDistribution):
    """The absolute value of a Cauchy variable around 0 of the given `scale`."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _expandable = {}

    def __init__(self, scale, validate_args=None):
        base = Cauchy(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self):
        """The scale of the Cauchy variable."""
        return self.base_dist.scale

    @property
    def mean(self):
        """inf."""
        shape = self._extended_shape()
        return full(shape, math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def mode(self):
        """0."""
        return zeros_like(self.scale)

    @property
    def variance(self):
        """inf."""
        return self.base_dist.variance

    def log_prob(self, value):
        """The Cauchy's log density and log 2; ``-inf`` below 0."""
        if self._validate_args:
            self._validate_sample(value)
        scale = self.base_dist.scale
        value = as_tensor(value, dtype=scale.dtype, device=scale.device)
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        """``2 cdf - 1`` of the Cauchy."""
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        """The Cauchy's icdf of ``(value + 1) / 2``."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        """The Cauchy's entropy less log 2."""
        return self.base_dist.entropy() - math.log(2)

"""The half-Cauchy distribution."""

from __future__ import annotations

import math

from rushlight import as_tensor, full
from rushlight.distributions.cauchy import Cauchy
from rushlight.distributions.folded import Folded

__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    """The absolute value of a Cauchy variable around 0 of the given `scale`."""

    whole = Cauchy

    @property
    def mean(self):
        """inf."""
        shape = self._extended_shape()
        return full(shape, math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self):
        """inf."""
        return self.base_dist.variance

    def log_prob(self, value):
        """The Cauchy's log density and log 2, in the dtype of `scale`; ``-inf`` below 0."""
        if self._validate_args:
            self._validate_sample(value)
        scale = self.scale
        return super().log_prob(as_tensor(value, dtype=scale.dtype, device=scale.device))

"""The logistic-normal distribution on the simplex."""

from __future__ import annotations

from rushlight.distributions import constraints
from rushlight.distributions.independent import Independent
from rushlight.distributions.normal import Normal
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.distributions.transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Normal vectors (..., n), mapped to the simplex (..., n + 1) by stick breaking."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    _expandable = {}

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def _normal(self):
        return (
            self.base_dist.base_dist
            if isinstance(self.base_dist, Independent)
            else (self.base_dist)
        )

    @property
    def loc(self):
        """The means before the transform."""
        return self._normal.loc

    @property
    def scale(self):
        """The standard deviations before the transform."""
        return self._normal.scale

"""Batch dimensions of a distribution as dimensions of its event."""

from __future__ import annotations

from rushlight import Size
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.utils import _sum_rightmost

__all__ = ["Independent"]


class Independent(Distribution):
    """`base_distribution` with its last `reinterpreted_batch_ndims` batch dimensions counted as
    event dimensions: log_prob and entropy sum over them.

    >>> D = rushlight.distributions
    >>> normal = D.Independent(D.Normal(rushlight.zeros(3), 1.0), 1)
    >>> normal.log_prob(rushlight.zeros(3))
    tensor(-2.7568)
    """

    arg_constraints = {}

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args=None
    ):
        batch, event = base_distribution.batch_shape, base_distribution.event_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                f"Independent: reinterpreted_batch_ndims is {reinterpreted_batch_ndims}, but the "
                f"base distribution has {len(batch)} batch dimensions"
            )
        shape = tuple(batch) + tuple(event)
        cut = len(batch) - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        """The same with a larger batch."""
        new = self._get_checked_instance(Independent, _instance)
        taken = tuple(self._event_shape)[: self.reinterpreted_batch_ndims]
        new.base_dist = self.base_dist.expand(Size(tuple(batch_shape) + taken))
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims
        return self._finish_expanded(new, batch_shape, self._event_shape)

    @property
    def has_rsample(self):
        """That of the base."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self):
        """That of the base, where no dimensions are reinterpreted."""
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self):
        """The base's support, with the dimensions added."""
        found = self.base_dist.support
        if self.reinterpreted_batch_ndims:
            found = constraints.independent(found, self.reinterpreted_batch_ndims)
        return found

    @property
    def mean(self):
        """The base's mean."""
        return self.base_dist.mean

    @property
    def mode(self):
        """The base's mode."""
        return self.base_dist.mode

    @property
    def variance(self):
        """The base's variance."""
        return self.base_dist.variance

    def sample(self, sample_shape=()):
        """The base's samples."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        """The base's differentiable samples."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        """The base's log densities, summed."""
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        """The base's entropies, summed."""
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand=True):
        """The base's values, where no dimensions are reinterpreted."""
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError(
                "Independent cannot enumerate the values of several independent variables. "
                "Instead: enumerate base_dist"
            )
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"

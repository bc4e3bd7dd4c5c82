"""A distribution's samples mapped by transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushlight import Size, no_grad
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.independent import Independent
from rushlight.distributions.transforms import ComposeTransform, Transform
from rushlight.distributions.utils import _sum_rightmost

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["TransformedDistribution"]


def _list_of(transforms):
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(f"transforms must be a Transform or a list of them, got {transforms!r}")
    if not all(isinstance(t, Transform) for t in transforms):
        raise ValueError("transforms must be a Transform or a list of Transforms only")
    return transforms


class TransformedDistribution(Distribution):
    """The distribution of ``t_n(... t_1(x))`` for x from `base_distribution`.

    The log density of y is that of x less the transforms' log determinants. Dimensions that the
    transforms take as an event belong to the event.
    """

    arg_constraints = {}
    # Attributes of subclasses to expand beside base_dist.
    _expandable = {}

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args=None,
    ):
        self.transforms = _list_of(transforms)
        base_shape = tuple(base_distribution.batch_shape + base_distribution.event_shape)
        transform = ComposeTransform(self.transforms)
        needed = transform.domain.event_dim
        if len(base_shape) < needed:
            raise ValueError(
                f"the base distribution must have {needed} dimensions or more for these "
                f"transforms; it has shape {base_shape}"
            )
        forward = tuple(transform.forward_shape(base_shape))
        expanded = tuple(transform.inverse_shape(forward))
        event = len(base_distribution.event_shape)
        if base_shape != expanded:
            cut = len(expanded) - event
            base_distribution = base_distribution.expand(expanded[:cut])
        taken = needed - event
        self.base_dist = base_distribution
        if taken > 0:
            self.base_dist = Independent(base_distribution, taken)
        # what is left of the base's event where the transforms act on less than it
        dims = transform.codomain.event_dim + max(event - needed, 0)
        cut = len(forward) - dims
        super().__init__(forward[:cut], forward[cut:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        """The same with a larger batch."""
        owner = TransformedDistribution
        for found in type(self).__mro__:
            if "_expandable" in found.__dict__:
                owner = found
                break
        new = self._get_checked_instance(owner, _instance)
        new.transforms = self.transforms
        shape = Size(tuple(batch_shape) + tuple(self._event_shape))
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        cut = len(shape) - len(self.base_dist.event_shape)
        new.base_dist = self.base_dist.expand(Size(shape[:cut]))
        self._expand_parameters(owner, new, batch_shape)
        return self._finish_expanded(new, batch_shape, self._event_shape)

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        """The last transform's codomain, or the base's support."""
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        more = len(self._event_shape) - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    @property
    def has_rsample(self):
        """That of the base."""
        return self.base_dist.has_rsample

    def sample(self, sample_shape=()):
        """The base's samples, transformed."""
        with no_grad():
            x = self.base_dist.sample(sample_shape)
            for transform in self.transforms:
                x = transform(x)
            return x

    def rsample(self, sample_shape=()):
        """The base's differentiable samples, transformed."""
        x = self.base_dist.rsample(sample_shape)
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value):
        """The base's log density of the inverse, less the log determinants."""
        if self._validate_args:
            self._validate_sample(value)
        dims, total, y = len(self._event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            term = transform.log_abs_det_jacobian(x, y)
            total = total - _sum_rightmost(term, dims - transform.domain.event_dim)
            y = x
        base = self.base_dist.log_prob(y)
        return total + _sum_rightmost(base, dims - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value):
        """``1 - value`` where the transforms decrease, else `value`."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value):
        """The base's cdf of the inverse, for monotone transforms."""
        y = value
        for transform in reversed(self.transforms):
            y = transform.inv(y)
        if self._validate_args:
            self.base_dist._validate_sample(y)
        return self._monotonize_cdf(self.base_dist.cdf(y))

    def icdf(self, value):
        """The base's icdf, transformed, for monotone transforms."""
        x = self.base_dist.icdf(self._monotonize_cdf(value))
        for transform in self.transforms:
            x = transform(x)
        return x

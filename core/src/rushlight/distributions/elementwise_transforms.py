"""Transforms of single numbers: exp, power, affine, sigmoid and their like."""

from __future__ import annotations

import math
from numbers import Number
from typing import TYPE_CHECKING

from rushlight import (
    Tensor,
    broadcast_shapes,
    finfo,
    full_like,
    log,
    sigmoid,
)
from rushlight import (
    abs as absolute,
)
from rushlight import (
    sign as sign_of,
)
from rushlight.distributions import constraints
from rushlight.distributions.transform import Transform
from rushlight.distributions.utils import _sum_rightmost, broadcast_all, lazy_property
from rushlight.nn.functional import softplus

if TYPE_CHECKING:
    from rushlight.distributions.distribution import Distribution


class _Kind(Transform):
    """Transforms without parameters: equal when of one class."""

    def __eq__(self, other):
        return isinstance(other, type(self))

    __hash__ = None


class ExpTransform(_Kind):
    """``y = exp(x)``."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        """``x``."""
        return x


class PowerTransform(Transform):
    """``y = x ** exponent`` on positive numbers."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Tensor | float, cache_size=0):
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size=1):
        """The same with another cache size."""
        if self._cache_size == cache_size:
            return self
        return PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self):
        """The sign of the exponent."""
        return self.exponent.sign()

    def __eq__(self, other):
        if not isinstance(other, PowerTransform):
            return False
        return bool(self.exponent.eq(other.exponent).all())

    __hash__ = None

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        """``log |exponent y / x|``."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        """The shape broadcast with the exponent."""
        return broadcast_shapes(shape, getattr(self.exponent, "shape", ()))

    def inverse_shape(self, shape):
        """The shape broadcast with the exponent."""
        return broadcast_shapes(shape, getattr(self.exponent, "shape", ()))


class SigmoidTransform(_Kind):
    """``y = 1 / (1 + exp(-x))``, kept off 0 and 1; its inverse is the logit."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def _call(self, x):
        return clipped_sigmoid(x)

    def _inverse(self, y):
        limits = finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        """``-softplus(-x) - softplus(x)``."""
        return -softplus(-x) - softplus(x)


def clipped_sigmoid(x):
    """The sigmoid, between the smallest normal number and the last one before 1."""
    limits = finfo(x.dtype)
    return sigmoid(x).clamp(min=limits.tiny, max=1.0 - limits.eps)


class SoftplusTransform(_Kind):
    """``y = log(1 + exp(x))``."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        """``-softplus(-x)``."""
        return -softplus(-x)


class TanhTransform(_Kind):
    """``y = tanh(x)``; with ``cache_size=1`` the inverse of a result is exact."""

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        """``log(1 - tanh(x)**2)``, written so that nothing cancels."""
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(_Kind):
    """``y = |x|``; not bijective: the inverse gives the positive x."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """``y = loc + scale * x``, elementwise; `event_dim` dimensions make one event."""

    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self):
        """The number of dimensions of one event."""
        return self._event_dim

    def _real(self):
        if self.event_dim == 0:
            return constraints.real
        return constraints.independent(constraints.real, self.event_dim)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        """Real numbers, or tensors of event_dim dimensions."""
        return self._real()

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        """Real numbers, or tensors of event_dim dimensions."""
        return self._real()

    def with_cache(self, cache_size=1):
        """The same with another cache size."""
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other):
        if not isinstance(other, AffineTransform):
            return False
        pairs = (self.loc, other.loc), (self.scale, other.scale)
        return all(_same(mine, theirs) for mine, theirs in pairs)

    __hash__ = None

    @property
    def sign(self):
        """The sign of the scale."""
        if isinstance(self.scale, Number):
            return 1 if float(self.scale) > 0 else -1 if float(self.scale) < 0 else 0
        return sign_of(self.scale)

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        """``log |scale|``, summed over the event."""
        scale = self.scale
        if isinstance(scale, Number):
            result = full_like(x, math.log(abs(scale)) if scale else -math.inf)
        else:
            result = log(absolute(scale)).expand(x.shape)
        return _sum_rightmost(result, self.event_dim)

    def forward_shape(self, shape):
        """The shape broadcast with loc and scale."""
        return broadcast_shapes(
            shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ())
        )

    inverse_shape = forward_shape


def _same(mine, theirs):
    if isinstance(mine, Number) and isinstance(theirs, Number):
        return mine == theirs
    found = mine == theirs
    return bool(found.all()) if isinstance(found, Tensor) else bool(found)


class CumulativeDistributionTransform(Transform):
    """``y = distribution.cdf(x)``, for copulas; the inverse is the distribution's icdf."""

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Distribution, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self):
        """The distribution's support."""
        return self.distribution.support

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        """The log density."""
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size=1):
        """The same with another cache size."""
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)

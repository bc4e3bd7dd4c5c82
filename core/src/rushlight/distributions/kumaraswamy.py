"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rushlight import digamma, full_like, lgamma, where
from rushlight.distributions import constraints
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.distributions.transforms import AffineTransform, PowerTransform
from rushlight.distributions.uniform import Uniform
from rushlight.distributions.utils import broadcast_all, euler_constant

if TYPE_CHECKING:
    from rushlight.tensor.tensor import Tensor

__all__ = ["Kumaraswamy"]


def _moment(a, b, n):
    """``E[x**n] = b B(1 + n / a, b)``."""
    first = 1 + n / a
    return (lgamma(first) + lgamma(b) - lgamma(first + b) + b.log()).exp()


class Kumaraswamy(TransformedDistribution):
    """cdf ``1 - (1 - x**a)**b`` on [0, 1], with a = `concentration1`, b = `concentration0`."""

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True
    _expandable = {"concentration1": 0, "concentration0": 0}

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args=None
    ):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            full_like(self.concentration0, 0),
            full_like(self.concentration0, 1),
            validate_args=validate_args,
        )
        transforms = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self):
        """The first moment."""
        return _moment(self.concentration1, self.concentration0, 1)

    @property
    def mode(self):
        """``((a - 1) / (a b - 1))**(1 / a)``; nan where a or b is below 1, or both are 1."""
        a, b = self.concentration1, self.concentration0
        found = ((a - 1) / (a * b - 1)).pow(a.reciprocal())
        return where((a < 1) | (b < 1) | ((a == 1) & (b == 1)), math.nan, found)

    @property
    def variance(self):
        """The second moment less the square of the first."""
        second = _moment(self.concentration1, self.concentration0, 2)
        return second - self.mean.pow(2)

    def entropy(self):
        """``(1 - 1 / b) + (1 - 1 / a) H_b - log(a) - log(b)`` with the harmonic number of b."""
        a, b = self.concentration1, self.concentration0
        harmonic = digamma(b + 1) + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()

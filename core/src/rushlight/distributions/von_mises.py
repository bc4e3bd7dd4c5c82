"""The von Mises distribution on the circle."""

from __future__ import annotations

import math

from rushlight import Size, cos, double, no_grad, rand, special, where, zeros
from rushlight import bool as bool_
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.utils import all_true, broadcast_all, lazy_property

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Angles of density proportional to ``exp(concentration cos(x - loc))``."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _expandable = {"loc": 0, "concentration": 0}

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, Size(), validate_args)

    def log_prob(self, value):
        """``concentration cos(value - loc) - log(2 pi I0(concentration))``."""
        if self._validate_args:
            self._validate_sample(value)
        k = self.concentration
        # log I0 by the scaled function, which does not overflow
        return k * (cos(value - self.loc) - 1) - math.log(2 * math.pi) - special.i0e(k).log()

    @lazy_property
    def _loc(self):
        return self.loc.to(double)

    @lazy_property
    def _concentration(self):
        return self.concentration.to(double)

    @lazy_property
    def _proposal_r(self):
        k = self._concentration
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        ratio = (1 + rho**2) / (2 * rho)
        # the Taylor series for small concentrations, where rho cancels
        return where(k < 1e-5, 1 / k + k, ratio)

    def sample(self, sample_shape=()):
        """By rejection from a wrapped Cauchy distribution. (Best and Fisher, 1979.)"""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            loc, k = self._loc.expand(shape), self._concentration.expand(shape)
            r, angle = self._proposal_r.expand(shape), zeros(shape, dtype=double)
            done = zeros(shape, dtype=bool_)
            while not all_true(done):
                u1, u2, u3 = rand((3, *shape), dtype=double, device=loc.device).unbind()
                z = cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                angle = where(accept, (u3 - 0.5).sign() * f.acos(), angle)
                done = done | accept
            found = (angle + math.pi + loc) % (2 * math.pi) - math.pi
        return found.to(self.loc.dtype)

    @property
    def mean(self):
        """The circular mean, `loc`."""
        return self.loc

    @property
    def mode(self):
        """`loc`."""
        return self.loc

    @lazy_property
    def variance(self):
        """The circular variance, ``1 - I1(concentration) / I0(concentration)``."""
        return 1 - special.i1e(self.concentration) / special.i0e(self.concentration)

# ruff: noqa: N999 - the name of PyTorch's module
"""Student's t distribution."""

from __future__ import annotations

import math

from rushlight import digamma, lgamma, log1p, rsqrt, where
from rushlight.distributions import constraints
from rushlight.distributions.chi2 import Chi2
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """``loc + scale * normal / sqrt(chi2 / df)`` with `df` degrees of freedom."""

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    _expandable = {"df": 0, "loc": 0, "scale": 0}

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    def _expand_parameters(self, owner, new, batch_shape):
        super()._expand_parameters(owner, new, batch_shape)
        new._chi2 = self._chi2.expand(batch_shape)

    @property
    def mean(self):
        """`loc`; nan for df up to 1."""
        return where(self.df <= 1, math.nan, self.loc)

    @property
    def mode(self):
        """`loc`."""
        return self.loc

    @property
    def variance(self):
        """``scale**2 df / (df - 2)``; inf for df up to 2, nan for df up to 1."""
        df = self.df
        above = where(df > 2, df, 3.0)
        found = where(df > 2, self.scale.pow(2) * above / (above - 2), math.inf)
        return where(df <= 1, math.nan, found)

    def rsample(self, sample_shape=()):
        """Normal samples over the root of chi-squared ones, with implicit gradients."""
        shape = self._extended_shape(sample_shape)
        x = _standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * rsqrt(z / self.df))

    def log_prob(self, value):
        """The log density."""
        if self._validate_args:
            self._validate_sample(value)
        y, df = (value - self.loc) / self.scale, self.df
        normaliser = self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi)
        normaliser = normaliser + lgamma(0.5 * df) - lgamma(0.5 * (df + 1.0))
        return -0.5 * (df + 1.0) * log1p(y**2.0 / df) - normaliser

    def entropy(self):
        """The entropy."""
        df = self.df
        beta = lgamma(0.5 * df) + math.lgamma(0.5) - lgamma(0.5 * (df + 1))
        slope = digamma(0.5 * (df + 1)) - digamma(0.5 * df)
        return self.scale.log() + 0.5 * (df + 1) * slope + 0.5 * df.log() + beta

"""The LKJ distribution of correlation matrices, by their Cholesky factors.
(Lewandowski, Kurowicka and Joe, 2009.)"""

from __future__ import annotations

import math

from rushlight import Size, arange, finfo, lgamma, mvlgamma, no_grad, randn, sqrt
from rushlight.distributions import constraints
from rushlight.distributions.beta import Beta
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.utils import broadcast_all
from rushlight.nn.functional import pad

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors (..., dim, dim) of correlation matrices R of density proportional to
    ``det(R)**(concentration - 1)``: uniform for concentration 1.

    Samples follow this density in every dimension. PyTorch 2.13's do for 2 x 2 matrices only (its
    rows from the third on are too long before the diagonal), so seeds give other samples there.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _expandable = {"concentration": 0}
    _shared = ("dim",)

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"LKJCholesky: dim is an int from 2 up, got {dim}")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # the onion method: row k + 1 has a squared length before the diagonal of Beta(k / 2, .)
        options = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        offset = pad(arange(dim - 1, **options), [1, 0])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(0.5 * offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)

    def _expand_parameters(self, owner, new, batch_shape):
        super()._expand_parameters(owner, new, batch_shape)
        new._beta = self._beta.expand((*batch_shape, self.dim))

    def sample(self, sample_shape=()):
        """By the onion method: directions on spheres, lengths of beta samples."""
        with no_grad():
            lengths = self._beta.sample(sample_shape).unsqueeze(-1)
            options = {"dtype": lengths.dtype, "device": lengths.device}
            directions = randn(self._extended_shape(sample_shape), **options).tril(-1)
            directions = directions / directions.norm(dim=-1, keepdim=True)
            directions[..., 0, :].fill_(0.0)
            rows = sqrt(lengths) * directions
            left = (1 - rows.pow(2).sum(-1)).clamp(min=finfo(rows.dtype).tiny)
            return rows + left.sqrt().diag_embed()

    def log_prob(self, value):
        """The log density on the factors, their Jacobian included."""
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        unnormalised = (order * diagonal.log()).sum(dim=-1)
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        denominator = lgamma(alpha) * less
        numerator = mvlgamma(alpha - 0.5, less)
        constant = 0.5 * less * math.log(math.pi)
        return unnormalised - (constant + numerator - denominator)

"""The multivariate normal distribution with a covariance of low rank and a diagonal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rushlight import broadcast_shapes, linalg, matmul
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv
from rushlight.distributions.utils import _standard_normal, lazy_property

if TYPE_CHECKING:
    from rushlight.tensor.tensor import Tensor

__all__ = ["LowRankMultivariateNormal"]


def _batch_capacitance_tril(factor, diagonal):
    """The Cholesky factor of ``I + W.T D^-1 W``, m x m."""
    weighted = factor.mT / diagonal.unsqueeze(-2)
    matrix = matmul(weighted, factor)
    return linalg.cholesky(matrix + matrix.new_ones(matrix.shape[-1]).diag_embed())


def _batch_lowrank_logdet(factor, diagonal, capacitance):
    """``log det(W W.T + D)`` by the matrix determinant lemma."""
    small = 2 * capacitance.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    return small + diagonal.log().sum(-1)


def _batch_lowrank_mahalanobis(factor, diagonal, vector, capacitance):
    """``v.T (W W.T + D)^-1 v`` by Woodbury's formula."""
    weighted = factor.mT / diagonal.unsqueeze(-2)
    projected = _batch_mv(weighted, vector)
    return (vector.pow(2) / diagonal).sum(-1) - _batch_mahalanobis(capacitance, projected)


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of mean `loc` (..., n) and covariance ``W W.T + diag(d)``, with W the
    `cov_factor` (..., n, m) and d the `cov_diag` (..., n): costs grow with m, not n, cubed."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _expandable = {"loc": 1, "cov_factor": 2, "cov_diag": 1}
    _shared = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(self, loc, cov_factor: Tensor, cov_diag: Tensor, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("LowRankMultivariateNormal: loc must have one dimension or more")
        event = tuple(loc.shape[-1:])
        if cov_factor.dim() < 2:
            raise ValueError(
                "LowRankMultivariateNormal: cov_factor must have two dimensions or more, got "
                f"{cov_factor.dim()}-d"
            )
        if tuple(cov_factor.shape[-2:-1]) != event:
            raise ValueError(
                f"LowRankMultivariateNormal: cov_factor must be (..., {event[0]}, m) for loc "
                f"{tuple(loc.shape)}; got {tuple(cov_factor.shape)}"
            )
        if tuple(cov_diag.shape[-1:]) != event:
            raise ValueError(
                f"LowRankMultivariateNormal: cov_diag must be (..., {event[0]}) for loc "
                f"{tuple(loc.shape)}; got {tuple(cov_diag.shape)}"
            )
        try:
            batch = tuple(
                broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
            )
        except RuntimeError:
            raise ValueError(
                "LowRankMultivariateNormal: the batch shapes of loc "
                f"{tuple(loc.shape)}, cov_factor {tuple(cov_factor.shape)} and cov_diag "
                f"{tuple(cov_diag.shape)} do not broadcast"
            ) from None
        self.loc = loc.expand(batch + event)
        self.cov_factor = cov_factor.expand(batch + tuple(cov_factor.shape[-2:]))
        self.cov_diag = cov_diag.expand(batch + event)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(batch, event, validate_args=validate_args)

    def _full(self, matrix):
        return matrix.expand(tuple(self._batch_shape) + tuple(self._event_shape) * 2)

    @property
    def mean(self):
        """`loc`."""
        return self.loc

    @property
    def mode(self):
        """`loc`."""
        return self.loc

    @lazy_property
    def variance(self):
        """The diagonal of the covariance."""
        found = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return found.expand(tuple(self._batch_shape) + tuple(self._event_shape))

    @lazy_property
    def scale_tril(self):
        """The Cholesky factor of the covariance, by way of ``I + D^-1/2 W W.T D^-1/2``."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        matrix = matmul(scaled, scaled.mT)
        matrix = matrix + matrix.new_ones(matrix.shape[-1]).diag_embed()
        return self._full(root * linalg.cholesky(matrix))

    @lazy_property
    def covariance_matrix(self):
        """``W W.T + diag(d)``."""
        factor = self._unbroadcasted_cov_factor
        return self._full(matmul(factor, factor.mT) + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance, by Woodbury's formula."""
        diagonal = self._unbroadcasted_cov_diag
        weighted = self._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
        part = linalg.solve_triangular(self._capacitance_tril, weighted, upper=False)
        return self._full(diagonal.reciprocal().diag_embed() - matmul(part.mT, part))

    def rsample(self, sample_shape=()):
        """``loc + W noise + sqrt(d) noise``."""
        shape = self._extended_shape(sample_shape)
        options = {"dtype": self.loc.dtype, "device": self.loc.device}
        low = _standard_normal((*shape[:-1], self.cov_factor.shape[-1]), **options)
        full = _standard_normal(shape, **options)
        return (
            self.loc
            + _batch_mv(self._unbroadcasted_cov_factor, low)
            + self._unbroadcasted_cov_diag.sqrt() * full
        )

    def log_prob(self, value):
        """The log density."""
        if self._validate_args:
            self._validate_sample(value)
        parts = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        distance = _batch_lowrank_mahalanobis(*parts, value - self.loc, self._capacitance_tril)
        log_det = _batch_lowrank_logdet(*parts, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + distance)

    def entropy(self):
        """The entropy."""
        log_det = _batch_lowrank_logdet(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        )
        found = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)
        return found if not self._batch_shape else found.expand(self._batch_shape)

"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rushlight import broadcast_shapes, cholesky_inverse, eye, flip, linalg, matmul
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.utils import _standard_normal, lazy_property

if TYPE_CHECKING:
    from rushlight.tensor.tensor import Tensor

__all__ = ["MultivariateNormal"]


def _batch_mv(matrix, vector):
    """``matrix @ vector`` with broadcast batches: (..., n, m) by (..., m)."""
    return matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor, vector):
    """``|factor^-1 vector|**2`` for Cholesky factors and vectors whose batches broadcast."""
    batch = factor.shape[:-2]
    shape = tuple(broadcast_shapes(batch, vector.shape[:-1]))
    extra, n = len(shape) - len(batch), vector.shape[-1]
    rows = vector.expand((*shape, n))
    if extra and tuple(batch) == shape[extra:]:
        # several vectors for each factor: one solve with as many right-hand sides
        columns = rows.reshape((-1, *batch, n)).movedim(0, -1)
        solved = linalg.solve_triangular(factor, columns, upper=False)
        return solved.pow(2).sum(-2).movedim(-1, 0).reshape(shape)
    factor = factor.expand((*shape, n, n))
    solved = linalg.solve_triangular(factor, rows.unsqueeze(-1), upper=False)
    return solved.squeeze(-1).pow(2).sum(-1)


def _precision_to_scale_tril(precision):
    """The Cholesky factor of the inverse of `precision`, without forming that inverse: the factor
    of the matrix with rows and columns reversed gives an upper factor, whose inverse is lower."""
    reversed_factor = linalg.cholesky(flip(precision, (-2, -1)))
    upper = flip(reversed_factor, (-2, -1)).mT
    identity = eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return linalg.solve_triangular(upper, identity, upper=False)


def check_one_matrix(covariance, precision, scale_tril, error=ValueError):
    """Raise unless exactly one of three parametrisations is given."""
    given = [m is not None for m in (covariance, scale_tril, precision)]
    if sum(given) != 1:
        raise error(
            "exactly one of covariance_matrix, precision_matrix and scale_tril is needed; got "
            f"{sum(given)} of them"
        )


class MultivariateNormal(Distribution):
    """Normal vectors of mean `loc` (..., n) with a positive definite `covariance_matrix`
    (..., n, n), its inverse `precision_matrix`, or its Cholesky factor `scale_tril`.

    `scale_tril` is the cheapest: the others are factored first.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _expandable = {
        "loc": 1,
        "covariance_matrix": 2,
        "scale_tril": 2,
        "precision_matrix": 2,
    }
    _shared = ("_unbroadcasted_scale_tril",)

    def __init__(
        self,
        loc,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args=None,
    ):
        if loc.dim() < 1:
            raise ValueError("MultivariateNormal: loc must have one dimension or more, got 0-d")
        check_one_matrix(covariance_matrix, precision_matrix, scale_tril)
        given = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        name, matrix = next((n, m) for n, m in given.items() if m is not None)
        if matrix.dim() < 2:
            raise ValueError(
                f"MultivariateNormal: {name} must have two dimensions or more, got {matrix.dim()}-d"
            )
        batch = tuple(broadcast_shapes(matrix.shape[:-2], loc.shape[:-1]))
        setattr(self, name, matrix.expand((*batch, *matrix.shape[-2:])))
        self.loc = loc.expand((*batch, loc.shape[-1]))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)

    def _full(self, matrix):
        return matrix.expand(tuple(self._batch_shape) + tuple(self._event_shape) * 2)

    @lazy_property
    def scale_tril(self):
        """The Cholesky factor of the covariance."""
        return self._full(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """``scale_tril @ scale_tril.mT``."""
        factor = self._unbroadcasted_scale_tril
        return self._full(matmul(factor, factor.mT))

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance."""
        return self._full(cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self):
        """`loc`."""
        return self.loc

    @property
    def mode(self):
        """`loc`."""
        return self.loc

    @property
    def variance(self):
        """The diagonal of the covariance."""
        found = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return found.expand(tuple(self._batch_shape) + tuple(self._event_shape))

    def rsample(self, sample_shape=()):
        """``loc + scale_tril @ noise``."""
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value):
        """The log density."""
        if self._validate_args:
            self._validate_sample(value)
        factor = self._unbroadcasted_scale_tril
        distance = _batch_mahalanobis(factor, value - self.loc)
        half_log_det = factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        n = self._event_shape[0]
        return -0.5 * (n * math.log(2 * math.pi) + distance) - half_log_det

    def entropy(self):
        """``n / 2 (1 + log(2 pi)) + log det(scale_tril)``."""
        half_log_det = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        found = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half_log_det
        return found if not self._batch_shape else found.expand(self._batch_shape)

"""The Wishart distribution of positive definite matrices."""

from __future__ import annotations

import math
import warnings
from numbers import Number
from typing import TYPE_CHECKING

from rushlight import (
    Size,
    arange,
    broadcast_shapes,
    cholesky_inverse,
    cholesky_solve,
    digamma,
    finfo,
    linalg,
    mvlgamma,
    randn,
    tensor,
    tril_indices,
    where,
)
from rushlight.distributions import constraints
from rushlight.distributions.chi2 import Chi2
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.distributions.multivariate_normal import _precision_to_scale_tril, check_one_matrix
from rushlight.distributions.utils import all_true, lazy_property

if TYPE_CHECKING:
    from rushlight.tensor.tensor import Tensor

__all__ = ["Wishart"]


def _multivariate_digamma(x, p):
    """The derivative of :func:`mvlgamma`."""
    steps = arange(p, dtype=x.dtype, device=x.device)
    return digamma(x.unsqueeze(-1) - 0.5 * steps).sum(-1)


class Wishart(ExponentialFamily):
    """``X.T X`` of `df` normal vectors with a `covariance_matrix` (..., n, n), its inverse
    `precision_matrix` or its Cholesky factor `scale_tril`; `df` is greater than n - 1."""

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _expandable = {
        "df": 0,
        "covariance_matrix": 2,
        "scale_tril": 2,
        "precision_matrix": 2,
    }
    _shared = ("_unbroadcasted_scale_tril",)

    @property
    def arg_constraints(self):
        """The least df depends on the size of the matrices."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    def __init__(
        self,
        df,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args=None,
    ):
        check_one_matrix(covariance_matrix, precision_matrix, scale_tril, AssertionError)
        given = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        name, matrix = next((n, m) for n, m in given.items() if m is not None)
        if matrix.dim() < 2:
            raise ValueError(
                f"Wishart: {name} must have two dimensions or more, got {matrix.dim()}-d"
            )
        if isinstance(df, Number):
            batch, df = matrix.shape[:-2], tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch = broadcast_shapes(matrix.shape[:-2], df.shape)
        batch, event = tuple(batch), tuple(matrix.shape[-2:])
        self.df = df.expand(batch)
        if not all_true(~(self.df <= event[-1] - 1)):
            raise ValueError(f"Wishart: df must be greater than n - 1 = {event[-1] - 1}, got {df}")
        setattr(self, name, matrix.expand(batch + event))
        super().__init__(batch, event, validate_args=validate_args)
        if not all_true(~(self.df < event[-1])):
            warnings.warn(
                "Wishart: df below the size of the matrices; samples may be singular",
                stacklevel=2,
            )
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)
        self._dist_chi2 = self._diagonal(batch)

    def _diagonal(self, batch):
        """The squares of the diagonal of a factor of a sample of the identity."""
        n = self._event_shape[-1]
        dtype = self._unbroadcasted_scale_tril.dtype
        steps = arange(n, dtype=dtype, device=self.df.device)
        return Chi2(df=self.df.unsqueeze(-1) - steps.expand((*batch, n)))

    def _expand_parameters(self, owner, new, batch_shape):
        super()._expand_parameters(owner, new, batch_shape)
        new._event_shape = self._event_shape
        new._dist_chi2 = new._diagonal(tuple(batch_shape))

    def _full(self, matrix):
        return matrix.expand(tuple(self._batch_shape) + tuple(self._event_shape))

    @lazy_property
    def scale_tril(self):
        """The Cholesky factor of the covariance."""
        return self._full(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """``scale_tril @ scale_tril.mT``."""
        factor = self._unbroadcasted_scale_tril
        return self._full(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance."""
        return self._full(cholesky_inverse(self._unbroadcasted_scale_tril))

    def _df(self):
        return self.df.view((*self._batch_shape, 1, 1))

    @property
    def mean(self):
        """``df covariance_matrix``."""
        return self._df() * self.covariance_matrix

    @property
    def mode(self):
        """``(df - n - 1) covariance_matrix``; nan for df up to n + 1."""
        factor = self._df() - self.covariance_matrix.shape[-1] - 1
        return where(factor <= 0, math.nan, factor) * self.covariance_matrix

    @property
    def variance(self):
        """``df (c_ij**2 + c_ii c_jj)``."""
        c = self.covariance_matrix
        diagonal = c.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._df() * (c.pow(2) + products)

    def _bartlett_sampling(self, sample_shape=()):
        """``L A A.T L.T`` with A lower triangular: chi on the diagonal, normals below it.
        (Bartlett, 1933.)"""
        n = self._event_shape[-1]
        noise = self._dist_chi2.rsample(sample_shape).clamp(min=finfo(self.df.dtype).tiny)
        noise = noise.sqrt().diag_embed()
        rows, columns = tril_indices(n, n, -1)
        shape = (*sample_shape, *self._batch_shape, n * (n - 1) // 2)
        noise[..., rows, columns] = randn(shape, dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape=(), max_try_correction=None):
        """By Bartlett's decomposition. Singular samples are drawn anew, up to `max_try_correction`
        times (3 for small matrices and 10 for others).

        PyTorch 2.13 draws anew those that are not singular, so that the same seed gives other
        samples there: its are later ones of the same stream.
        """
        if max_try_correction is None:
            max_try_correction = 3 if self._event_shape[-1] <= 3 else 10
        sample_shape = Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        singular = ~self.support.check(sample)
        for _ in range(max_try_correction):
            if all_true(~singular):
                break
            warnings.warn("Wishart: a sample is singular and is drawn anew", stacklevel=2)
            fresh = self._bartlett_sampling(sample_shape)
            sample = where(singular.unsqueeze(-1).unsqueeze(-1), fresh, sample)
            singular = ~self.support.check(sample)
        return sample

    def log_prob(self, value):
        """The log density."""
        if self._validate_args:
            self._validate_sample(value)
        nu, n = self.df, self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        half_log_det = factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        inside = cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            -nu * (n * math.log(2) / 2 + half_log_det)
            - mvlgamma(nu / 2, n)
            + (nu - n - 1) / 2 * linalg.slogdet(value).logabsdet
            - inside / 2
        )

    def entropy(self):
        """The entropy."""
        nu, n = self.df, self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        half_log_det = factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return (
            (n + 1) * (n * math.log(2) / 2 + half_log_det)
            + mvlgamma(nu / 2, n)
            - (nu - n - 1) / 2 * _multivariate_digamma(nu / 2, n)
            + nu * n / 2
        )

    @property
    def _natural_params(self):
        n = self._event_shape[-1]
        return -self.precision_matrix / 2, (self.df - n - 1) / 2

    def _log_normalizer(self, x, y):
        n = self._event_shape[-1]
        half = y + (n + 1) / 2
        log_det = linalg.slogdet(-2 * x).logabsdet
        return half * (-log_det + math.log(2) * n) + mvlgamma(half, n)

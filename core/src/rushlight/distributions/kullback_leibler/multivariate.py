"""Divergences between multivariate normal distributions with full and low-rank covariances.

``KL = (log det Q - log det P + tr(Q^-1 P) + (q - p).T Q^-1 (q - p) - n) / 2``.
"""

from __future__ import annotations

from rushlight import broadcast_shapes, linalg
from rushlight.distributions.kl import register_kl
from rushlight.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_logdet,
    _batch_lowrank_mahalanobis,
)
from rushlight.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis


def _check(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL between multivariate normals needs equal event shapes; got "
            f"{tuple(p.event_shape)} and {tuple(q.event_shape)}"
        )


def _parts(d):
    return d._unbroadcasted_cov_factor, d._unbroadcasted_cov_diag


def _log_det(d):
    """Of the covariance."""
    if isinstance(d, LowRankMultivariateNormal):
        return _batch_lowrank_logdet(*_parts(d), d._capacitance_tril)
    return 2 * d._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _distance(d, vector):
    """``vector.T covariance^-1 vector``."""
    if isinstance(d, LowRankMultivariateNormal):
        return _batch_lowrank_mahalanobis(*_parts(d), vector, d._capacitance_tril)
    return _batch_mahalanobis(d._unbroadcasted_scale_tril, vector)


def _squares(factor, columns):
    """``|factor^-1 columns|**2`` in all, with broadcast batches."""
    batch = tuple(broadcast_shapes(factor.shape[:-2], columns.shape[:-2]))
    factor = factor.expand((*batch, *factor.shape[-2:]))
    columns = columns.expand((*batch, *columns.shape[-2:]))
    solved = linalg.solve_triangular(factor, columns, upper=False)
    return solved.pow(2).sum((-2, -1))


def _trace_of_columns(q, columns):
    """``tr(Q^-1 columns columns.T)``."""
    if not isinstance(q, LowRankMultivariateNormal):
        return _squares(q._unbroadcasted_scale_tril, columns)
    factor, diagonal = _parts(q)
    plain = (columns.pow(2) / diagonal.unsqueeze(-1)).sum((-2, -1))
    projected = (factor.mT / diagonal.unsqueeze(-2)) @ columns
    return plain - _squares(q._capacitance_tril, projected)


def _trace(p, q):
    """``tr(Q^-1 P)``."""
    if not isinstance(p, LowRankMultivariateNormal):
        return _trace_of_columns(q, p._unbroadcasted_scale_tril)
    factor, diagonal = _parts(p)
    return _trace_of_columns(q, factor) + _trace_of_columns(q, diagonal.sqrt().diag_embed())


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p, q):
    _check(p, q)
    log_dets = _log_det(q) - _log_det(p)
    distance = _distance(q, q.loc - p.loc)
    return 0.5 * (log_dets + _trace(p, q) + distance - p.event_shape[0])

"""Losses and distances that ATen makes of other ops, in programs without composites."""

from __future__ import annotations

import math

from rushlight.fx.experimental.core_parts.exact_calls import exact
from rushlight.fx.experimental.core_parts.numbers import scaled, shifted
from rushlight.library.operators import lookup

_SMALL = (
    9.999999960041972e-13  # added to squared lengths: 1e-12 in single precision, as ATen has it
)
_MEAN, _SUM = 1, 2  # as ATen numbers reductions


def _reduced(loss, reduction):
    if reduction == _MEAN:
        return loss.mean()
    return loss.sum() if reduction == _SUM else loss


def _distance(x1, x2, p=2.0, eps=1e-06, keepdim=False):
    dim = max(x1.dim(), x2.dim()) - 1
    rest = (True,) if keepdim else ()
    norm = lookup("aten").linalg_vector_norm.default
    return exact(norm, shifted(x1 - x2, eps), p, [dim], *rest)


def _positive_part(input):
    return lookup("aten").clamp_min.default(input, 0)


def _where(condition, input, other):
    return lookup("aten").where.self(condition, input, other)


def _margin_ranking(input1, input2, target, margin=0.0, reduction=1):
    difference = input1 - input2
    return _reduced(_positive_part(shifted(-target * difference, margin)), reduction)


def _less(number, input):
    """A number less a tensor: of a tensor that is filled with it."""
    aten = lookup("aten")
    return aten.fill.Scalar(aten.empty_like.default(input), number) - input


def _hinge_embedding(self, target, margin=1.0, reduction=1):
    zeros = lookup("aten").zeros_like.default(self)
    apart = _positive_part(_less(margin, self))
    loss = _where(target != 1, apart, zeros) + _where(target != -1, self, zeros)
    return _reduced(loss, reduction)


def _cosine_embedding(input1, input2, target, margin=0.0, reduction=1):
    dims, total = [target.dim()], lookup("aten").sum.dim_IntList
    product = total(input1 * input2, dims)
    first, second = (shifted(total(x * x, dims), _SMALL) for x in (input1, input2))
    cosine = product / (first * second).sqrt()
    zeros = lookup("aten").zeros_like.default(cosine)
    alike = _less(1, cosine)
    apart = _positive_part(exact(lookup("aten").sub.Scalar, cosine, margin))
    loss = _where(target == 1, alike, zeros) + _where(target == -1, apart, zeros)
    return _reduced(loss, reduction)


def _triplet_margin(
    anchor, positive, negative, margin=1.0, p=2.0, eps=1e-06, swap=False, reduction=1
):
    near, far = (_distance(anchor, other, p, eps) for other in (positive, negative))
    if swap:
        far = lookup("aten").minimum.default(far, _distance(positive, negative, p, eps))
    return _reduced(_positive_part(shifted(near, margin) - far), reduction)


def _poisson_nll(input, target, log_input, full, eps, reduction):
    if log_input:
        loss = input.exp() - target * input
    else:
        loss = input - target * shifted(input, eps).log()
    if full:
        half = scaled(scaled(target, 2 * math.pi).log(), 0.5)
        stirling = target * target.log() - target + half
        loss = loss + stirling.masked_fill(target <= 1, 0.0)
    return _reduced(loss, reduction)


def _kl_div(self, target, reduction=1, *, log_target=False):
    if log_target:
        loss = target.exp() * (target - self)
    else:
        loss = lookup("aten").xlogy.Tensor(target, target) - target * self
    return _reduced(loss, reduction)


def parts() -> dict:
    """Overloads -> their parts."""
    aten = lookup("aten")
    return {
        aten.pairwise_distance.default: _distance,
        aten.margin_ranking_loss.default: _margin_ranking,
        aten.hinge_embedding_loss.default: _hinge_embedding,
        aten.cosine_embedding_loss.default: _cosine_embedding,
        aten.triplet_margin_loss.default: _triplet_margin,
        aten.poisson_nll_loss.default: _poisson_nll,
        aten.kl_div.default: _kl_div,
    }

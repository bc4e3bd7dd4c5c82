"""Divergences between two distributions of one class."""

from __future__ import annotations

import math

from rushlight import digamma, lgamma, log1p, where
from rushlight import exp as exponential
from rushlight.autograd import grad
from rushlight.distributions.bernoulli import Bernoulli
from rushlight.distributions.beta import Beta
from rushlight.distributions.binomial import Binomial
from rushlight.distributions.categorical import Categorical
from rushlight.distributions.cauchy import Cauchy
from rushlight.distributions.continuous_bernoulli import ContinuousBernoulli
from rushlight.distributions.dirichlet import Dirichlet
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.distributions.exponential import Exponential
from rushlight.distributions.gamma import Gamma
from rushlight.distributions.geometric import Geometric
from rushlight.distributions.gumbel import Gumbel
from rushlight.distributions.half_normal import HalfNormal
from rushlight.distributions.independent import Independent
from rushlight.distributions.kl import kl_divergence, register_kl
from rushlight.distributions.laplace import Laplace
from rushlight.distributions.normal import Normal
from rushlight.distributions.one_hot_categorical import OneHotCategorical
from rushlight.distributions.pareto import Pareto
from rushlight.distributions.poisson import Poisson
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.distributions.uniform import Uniform
from rushlight.distributions.utils import _sum_rightmost, all_true, euler_constant
from rushlight.nn.functional import softplus


def _weighted(p, q, difference):
    """``p * difference``; infinite where q is 0 and p is not, 0 where p is 0."""
    return where(p == 0, 0.0, where(q == 0, math.inf, p * difference))


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    one = _weighted(p.probs, q.probs, softplus(-q.logits) - softplus(-p.logits))
    zero = _weighted(1 - p.probs, 1 - q.probs, softplus(q.logits) - softplus(p.logits))
    return one + zero


@register_kl(Beta, Beta)
def _beta(p, q):
    total_p = p.concentration1 + p.concentration0
    total_q = q.concentration1 + q.concentration0
    result = q.concentration1.lgamma() + q.concentration0.lgamma() + total_p.lgamma()
    result = result - (p.concentration1.lgamma() + p.concentration0.lgamma() + total_q.lgamma())
    result = result + (p.concentration1 - q.concentration1) * digamma(p.concentration1)
    result = result + (p.concentration0 - q.concentration0) * digamma(p.concentration0)
    return result + (total_q - total_p) * digamma(total_p)


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    if not all_true(p.total_count >= q.total_count):
        raise NotImplementedError(
            "KL between Binomials is not implemented where q.total_count exceeds p.total_count. "
            "Instead: sum over p.enumerate_support()"
        )
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return where(p.total_count > q.total_count, math.inf, kl)


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    return _weighted(p.probs, q.probs, p.logits - q.logits).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p, q):
    return _categorical(p._categorical, q._categorical)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p, q):
    normalisers = p._cont_bern_log_norm() + log1p(-p.probs)
    normalisers = normalisers - q._cont_bern_log_norm() - log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + normalisers


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    parts = (q.concentration.lgamma() - p.concentration.lgamma()).sum(-1)
    slopes = p.concentration.digamma() - total_p.digamma().unsqueeze(-1)
    weighted = ((p.concentration - q.concentration) * slopes).sum(-1)
    return total_p.lgamma() - total_q.lgamma() + parts + weighted


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p, q):
    """The Bregman divergence of the log normaliser."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"KL between different exponential families, {type(p).__name__} and "
            f"{type(q).__name__}, has no general formula. Instead: register_kl one"
        )
    natural_p = [n.detach().requires_grad_() for n in p._natural_params]
    natural_q = q._natural_params
    log_p = p._log_normalizer(*natural_p)
    slopes = grad(log_p.sum(), natural_p, create_graph=True)
    result = q._log_normalizer(*natural_q) - log_p
    for n_p, n_q, slope in zip(natural_p, natural_q, slopes, strict=True):
        result = result - _sum_rightmost((n_q - n_p) * slope, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    a, b = p.concentration, q.concentration
    shapes = lgamma(b) - lgamma(a) + (a - b) * digamma(a)
    return b * (p.rate / q.rate).log() + shapes + (q.rate - p.rate) * (a / p.rate)


@register_kl(Gumbel, Gumbel)
def _gumbel(p, q):
    ratio = p.scale / q.scale
    shift = (p.loc - q.loc) / q.scale
    moment = exponential((1 + ratio).lgamma() - shift)
    return shift - ratio.log() + ratio * euler_constant + moment - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return -p.entropy() - log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p, q):
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * exponential(-distance / p.scale) - 1


@register_kl(Normal, Normal)
def _normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _pareto(p, q):
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return where(p.scale < q.scale, math.inf, result)


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "KL between transformed distributions needs equal transforms and event shapes. "
            "Instead: average p.log_prob(x) - q.log_prob(x) over samples x of p"
        )
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return where((q.low > p.low) | (q.high < p.high), math.inf, result)


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    """By Chyzak and Nielsen, "A closed-form formula for the Kullback-Leibler divergence between
    Cauchy distributions", 2019."""
    together = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return together.log() - (4 * p.scale * q.scale).log()


@register_kl(Independent, Independent)
def _independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "KL between Independents needs equal reinterpreted_batch_ndims; got "
            f"{p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}"
        )
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)

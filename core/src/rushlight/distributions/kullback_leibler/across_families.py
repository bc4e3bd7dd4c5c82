"""Divergences between distributions of different classes: minus the entropy of p less the mean
of ``log q`` under p."""

from __future__ import annotations

import math

from rushlight import digamma, erf, lgamma, log1p, where, xlogy
from rushlight import exp as exponential
from rushlight.distributions.bernoulli import Bernoulli
from rushlight.distributions.beta import Beta
from rushlight.distributions.binomial import Binomial
from rushlight.distributions.continuous_bernoulli import ContinuousBernoulli
from rushlight.distributions.exponential import Exponential
from rushlight.distributions.gamma import Gamma
from rushlight.distributions.gumbel import Gumbel
from rushlight.distributions.kl import register_infinite, register_kl
from rushlight.distributions.laplace import Laplace
from rushlight.distributions.normal import Normal
from rushlight.distributions.pareto import Pareto
from rushlight.distributions.poisson import Poisson
from rushlight.distributions.uniform import Uniform
from rushlight.distributions.utils import euler_constant

# ---------------------------------------------------------------------------- always infinite
_BOUNDED = (Beta, ContinuousBernoulli, Uniform)
_POSITIVE = (Exponential, Gamma)
register_infinite(Exponential, "rate", *_BOUNDED, Pareto)
register_infinite(Gamma, "concentration", *_BOUNDED, Pareto)
register_infinite(Pareto, "scale", *_BOUNDED)
register_infinite(Gumbel, "loc", *_BOUNDED, *_POSITIVE, Pareto)
register_infinite(Laplace, "loc", *_BOUNDED, *_POSITIVE, Pareto)
register_infinite(Normal, "loc", *_BOUNDED, *_POSITIVE, Pareto)
register_infinite(Beta, "concentration1", Pareto)
register_infinite(ContinuousBernoulli, "probs", Pareto)
register_infinite(Poisson, "rate", Bernoulli, Binomial)


# ------------------------------------------------------------------------ by mean and variance
@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Uniform, Normal)
def _to_normal(p, q):
    square = (p.variance + (p.mean - q.loc).pow(2)) / q.scale.pow(2)
    return -p.entropy() + 0.5 * (math.log(2 * math.pi) + square) + q.scale.log()


@register_kl(Pareto, Normal)
def _pareto_normal(p, q):
    return where(p.alpha <= 2, math.inf, _to_normal(p, q))


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
def _to_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Pareto, Exponential)
def _pareto_exponential(p, q):
    return where(p.alpha <= 1, math.inf, _to_exponential(p, q))


@register_kl(Uniform, Exponential)
def _uniform_exponential(p, q):
    return where(p.low < 0, math.inf, _to_exponential(p, q))


@register_kl(Beta, ContinuousBernoulli)
def _to_continuous_bernoulli(p, q):
    normaliser = log1p(-q.probs) + q._cont_bern_log_norm()
    return -p.entropy() - p.mean * q.logits - normaliser


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p, q):
    outside = (p.high > 1) | (p.low < 0)
    return where(outside, math.inf, _to_continuous_bernoulli(p, q))


@register_kl(Beta, Uniform)
@register_kl(ContinuousBernoulli, Uniform)
def _unit_to_uniform(p, q):
    result = -p.entropy() + (q.high - q.low).log()
    return where((q.high < 1) | (q.low > 0), math.inf, result)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


# ------------------------------------------------------------------ by the mean of a logarithm
def _to_gamma(p, q, mean_log):
    normaliser = q.concentration.lgamma() - q.concentration * q.rate.log()
    return -p.entropy() + normaliser - (q.concentration - 1) * mean_log + q.rate * p.mean


@register_kl(Beta, Gamma)
def _beta_gamma(p, q):
    total = p.concentration1 + p.concentration0
    return _to_gamma(p, q, digamma(p.concentration1) - digamma(total))


@register_kl(Exponential, Gamma)
def _exponential_gamma(p, q):
    return _to_gamma(p, q, -p.rate.log() - euler_constant)


@register_kl(Pareto, Gamma)
def _pareto_gamma(p, q):
    result = _to_gamma(p, q, p.scale.log() + p.alpha.reciprocal())
    return where(p.alpha <= 1, math.inf, result)


def _mean_log(low, high):
    """The mean of ``log(x)`` for uniform x."""
    return (xlogy(high, high) - xlogy(low, low)) / (high - low) - 1


@register_kl(Uniform, Gamma)
def _uniform_gamma(p, q):
    return where(p.low < 0, math.inf, _to_gamma(p, q, _mean_log(p.low, p.high)))


@register_kl(Uniform, Beta)
def _uniform_beta(p, q):
    a, b = q.concentration1, q.concentration0
    powers = (a - 1) * _mean_log(p.low, p.high) + (b - 1) * _mean_log(1 - p.high, 1 - p.low)
    result = -p.entropy() - powers + a.lgamma() + b.lgamma() - lgamma(a + b)
    return where((p.high > 1) | (p.low < 0), math.inf, result)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p, q):
    density = q.alpha.log() + q.alpha * q.scale.log()
    result = -p.entropy() - density + (q.alpha + 1) * _mean_log(p.low, p.high)
    return where(p.low < q.scale, math.inf, result)


# ------------------------------------------------------------- by the mean of an exponential
def _to_gumbel(p, q, moment):
    """`moment` is the mean of ``exp(-(x - q.loc) / q.scale)``."""
    return -p.entropy() + q.scale.log() + (p.mean - q.loc) / q.scale + moment


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p, q):
    product = p.rate * q.scale
    return _to_gumbel(p, q, exponential(q.loc / q.scale) * product / (product + 1))


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p, q):
    power = -p.concentration * (1 + 1 / (p.rate * q.scale)).log()
    return _to_gumbel(p, q, exponential(q.loc / q.scale + power))


@register_kl(Normal, Gumbel)
def _normal_gumbel(p, q):
    ratio = p.scale / q.scale
    return _to_gumbel(p, q, exponential((q.loc - p.loc) / q.scale + 0.5 * ratio.pow(2)))


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p, q):
    high = exponential((q.loc - p.high) / q.scale)
    low = exponential((q.loc - p.low) / q.scale)
    return _to_gumbel(p, q, q.scale / (p.high - p.low) * (low - high))


@register_kl(Normal, Laplace)
def _normal_laplace(p, q):
    distance = (p.loc - q.loc) / p.scale
    folded = math.sqrt(2 / math.pi) * exponential(-0.5 * distance.pow(2))
    folded = p.scale * (folded + distance * erf(distance / math.sqrt(2)))
    return -p.entropy() + (2 * q.scale).log() + folded / q.scale

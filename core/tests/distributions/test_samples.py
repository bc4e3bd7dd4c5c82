"""Samples follow their distributions: Kolmogorov-Smirnov tests and moments, values of SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rushlight
from rushlight import distributions as D

stats = pytest.importorskip("scipy.stats")
special = pytest.importorskip("scipy.special")


def t(value):
    return rushlight.tensor(value, dtype=rushlight.float64)


CONTINUOUS = {
    "beta": (lambda: D.Beta(t(0.6), t(1.7)), stats.beta(0.6, 1.7)),
    "cauchy": (lambda: D.Cauchy(t(1.0), t(2.0)), stats.cauchy(1.0, 2.0)),
    "chi2": (lambda: D.Chi2(t(3.0)), stats.chi2(3.0)),
    "exponential": (lambda: D.Exponential(t(2.0)), stats.expon(scale=0.5)),
    "fisher_snedecor": (lambda: D.FisherSnedecor(t(3.0), t(5.0)), stats.f(3.0, 5.0)),
    "gamma_small": (lambda: D.Gamma(t(0.3), t(2.0)), stats.gamma(0.3, scale=0.5)),
    "gamma": (lambda: D.Gamma(t(3.5), t(2.0)), stats.gamma(3.5, scale=0.5)),
    "generalized_pareto": (
        lambda: D.GeneralizedPareto(t(1.0), t(2.0), t(0.3)),
        stats.genpareto(0.3, 1.0, 2.0),
    ),
    "generalized_pareto_exponential": (
        lambda: D.GeneralizedPareto(t(1.0), t(2.0), t(0.0)),
        stats.genpareto(0.0, 1.0, 2.0),
    ),
    "gumbel": (lambda: D.Gumbel(t(1.0), t(2.0)), stats.gumbel_r(1.0, 2.0)),
    "half_cauchy": (lambda: D.HalfCauchy(t(2.0)), stats.halfcauchy(scale=2.0)),
    "half_normal": (lambda: D.HalfNormal(t(2.0)), stats.halfnorm(scale=2.0)),
    "inverse_gamma": (lambda: D.InverseGamma(t(3.0), t(2.0)), stats.invgamma(3.0, scale=2.0)),
    "laplace": (lambda: D.Laplace(t(1.0), t(2.0)), stats.laplace(1.0, 2.0)),
    "log_normal": (lambda: D.LogNormal(t(0.5), t(0.7)), stats.lognorm(0.7, scale=math.exp(0.5))),
    "normal": (lambda: D.Normal(t(1.0), t(2.0)), stats.norm(1.0, 2.0)),
    "pareto": (lambda: D.Pareto(t(2.0), t(1.5)), stats.pareto(1.5, scale=2.0)),
    "student_t": (lambda: D.StudentT(t(3.0), t(1.0), t(2.0)), stats.t(3.0, 1.0, 2.0)),
    "uniform": (lambda: D.Uniform(t(-1.0), t(2.0)), stats.uniform(-1.0, 3.0)),
    "von_mises": (lambda: D.VonMises(t(0.5), t(3.0)), stats.vonmises(3.0, loc=0.5)),
    "von_mises_wide": (lambda: D.VonMises(t(0.0), t(0.05)), stats.vonmises(0.05)),
    "weibull": (lambda: D.Weibull(t(2.0), t(1.5)), stats.weibull_min(1.5, scale=2.0)),
}
DISCRETE = {
    "bernoulli": (lambda: D.Bernoulli(t(0.3)), stats.bernoulli(0.3)),
    "binomial_few": (lambda: D.Binomial(7, t(0.3)), stats.binom(7, 0.3)),
    "binomial_many": (lambda: D.Binomial(100, t(0.4)), stats.binom(100, 0.4)),
    "categorical": (
        lambda: D.Categorical(t([0.2, 0.5, 0.3])),
        stats.rv_discrete(values=([0, 1, 2], [0.2, 0.5, 0.3])),
    ),
    "geometric": (lambda: D.Geometric(t(0.3)), stats.geom(0.3, loc=-1)),
    "negative_binomial": (lambda: D.NegativeBinomial(t(3.0), t(0.4)), stats.nbinom(3, 0.6)),
    "poisson_few": (lambda: D.Poisson(t(2.5)), stats.poisson(2.5)),
    "poisson_many": (lambda: D.Poisson(t(40.0)), stats.poisson(40.0)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name):
    make, reference = CONTINUOUS[name]
    rushlight.manual_seed(11)
    d = make()
    x = d.sample((4000,)).numpy()
    if name.startswith("von_mises"):  # SciPy's interval is around the location
        x = (x - d.loc.item() + math.pi) % (2 * math.pi) - math.pi + d.loc.item()
    assert stats.kstest(x, reference.cdf).pvalue > 1e-3
    values = reference.ppf(np.linspace(0.02, 0.98, 25))
    np.testing.assert_allclose(
        d.log_prob(t(values)).numpy(), reference.logpdf(values), rtol=1e-9, atol=1e-10
    )


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name):
    make, reference = DISCRETE[name]
    rushlight.manual_seed(12)
    d = make()
    x = d.sample((4000,)).numpy().astype(int)
    low, high = int(reference.ppf(1e-3)), int(reference.ppf(1 - 1e-3))
    values = np.arange(low, high + 1)
    expected = reference.pmf(values)
    counts = np.array([(x == v).sum() for v in values])
    kept = expected * len(x) >= 5
    rest = len(x) - counts[kept].sum()
    probabilities = np.append(expected[kept], 1 - expected[kept].sum())
    observed = np.append(counts[kept], rest)
    if probabilities[-1] * len(x) < 5:  # too few for the test: count them with their neighbours
        probabilities[-2] += probabilities[-1]
        observed[-2] += observed[-1]
        probabilities, observed = probabilities[:-1], observed[:-1]
    assert stats.chisquare(observed, probabilities * observed.sum()).pvalue > 1e-3
    np.testing.assert_allclose(
        d.log_prob(t(values.astype(float))).numpy(), reference.logpmf(values), rtol=1e-8, atol=1e-9
    )


def close(samples, mean, variance):
    """Whether samples have a mean and a variance, within five standard errors."""
    count = len(samples)
    error = np.sqrt(variance / count)
    assert (np.abs(samples.mean(0) - mean) <= 5 * error + 1e-12).all()
    spread = ((samples - samples.mean(0)) ** 2).std(0) / math.sqrt(count)
    assert (np.abs(samples.var(0) - variance) <= 5 * spread + 1e-12).all()


MATRIX = [[2.0, 0.5], [0.5, 1.0]]
MULTIVARIATE = {
    "dirichlet": lambda: D.Dirichlet(t([0.5, 1.5, 3.0])),
    "low_rank": lambda: D.LowRankMultivariateNormal(
        t([0.0, 1.0, 2.0]), t([[1.0], [0.5], [-0.3]]), t([0.5, 1.0, 2.0])
    ),
    "mixture": lambda: D.MixtureSameFamily(
        D.Categorical(t([0.3, 0.7])), D.Normal(t([0.0, 3.0]), t([1.0, 0.5]))
    ),
    "multinomial": lambda: D.Multinomial(5, t([0.2, 0.5, 0.3])),
    "normal_covariance": lambda: D.MultivariateNormal(t([0.0, 1.0]), t(MATRIX)),
    "normal_precision": lambda: D.MultivariateNormal(t([0.0, 1.0]), precision_matrix=t(MATRIX)),
    "one_hot": lambda: D.OneHotCategorical(t([0.2, 0.5, 0.3])),
    "wishart": lambda: D.Wishart(t(4.5), t(MATRIX)),
    "kumaraswamy": lambda: D.Kumaraswamy(t([0.5, 2.0]), t([1.5, 0.7])),
    "continuous_bernoulli": lambda: D.ContinuousBernoulli(t([0.2, 0.5, 0.9])),
}


@pytest.mark.parametrize("name", MULTIVARIATE)
def test_moments_of_samples(name):
    rushlight.manual_seed(13)
    d = MULTIVARIATE[name]()
    close(d.sample((6000,)).numpy(), d.mean.numpy(), d.variance.numpy())


def test_correlations_of_lkj():
    """Each correlation of dimension n is beta distributed on (-1, 1), with concentration
    eta + (n - 2) / 2 twice."""
    rushlight.manual_seed(14)
    for eta in (0.5, 1.0, 3.0):
        factor = D.LKJCholesky(3, t(eta)).sample((3000,))
        correlations = (factor @ factor.mT).numpy()
        alpha = eta + 0.5
        for i, j in ((1, 0), (2, 0), (2, 1)):
            half = (correlations[:, i, j] + 1) / 2
            assert stats.kstest(half, stats.beta(alpha, alpha).cdf).pvalue > 1e-3


def test_relaxed_samples_are_close_to_their_corners():
    rushlight.manual_seed(15)
    probs = t([0.2, 0.5, 0.3])
    x = D.RelaxedOneHotCategorical(t(0.1), probs).sample((4000,))
    counts = np.bincount(x.argmax(-1).numpy(), minlength=3) / 4000
    np.testing.assert_allclose(counts, probs.numpy(), atol=0.04)
    y = D.RelaxedBernoulli(t(0.1), t(0.3)).sample((4000,))
    assert float((y > 0.5).double().mean()) == pytest.approx(0.3, abs=0.04)


def test_relaxed_bernoulli_does_not_overflow():
    d = D.RelaxedBernoulli(rushlight.tensor(0.01), logits=rushlight.tensor([2.0]))
    x = rushlight.tensor([1e-6, 0.5, 1 - 1e-6])
    assert bool(d.base_dist.log_prob(x.logit() * 100).isfinite().all())


def test_von_mises_has_scipys_values():
    k = np.array([1e-3, 0.1, 3.0, 60.0, 1e4])
    d = D.VonMises(t(np.zeros(5)), t(k))
    expected = 1 - special.i1e(k) / special.i0e(k)
    np.testing.assert_allclose(d.variance.numpy(), expected, rtol=1e-9)
    np.testing.assert_allclose(
        d.log_prob(t(0.1)).numpy(), stats.vonmises(k).logpdf(0.1), rtol=1e-10
    )


def test_wishart_has_scipys_values():
    x = t([[3.0, 0.2], [0.2, 1.5]])
    found = D.Wishart(t(3.5), t(MATRIX)).log_prob(x)
    assert found.item() == pytest.approx(stats.wishart(3.5, MATRIX).logpdf(x.numpy()), rel=1e-12)


def test_samplers_leave_no_gradient_and_rsamples_do():
    loc = t(1.0).requires_grad_()
    d = D.Normal(loc, 1.0)
    assert not d.sample((2,)).requires_grad
    assert d.rsample((2,)).requires_grad

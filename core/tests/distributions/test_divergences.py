"""KL divergences: every pair that PyTorch registers, and the rules of registration."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rushlight
from rushlight import distributions as ours
from rushlight.distributions import kl as our_kl

torch = pytest.importorskip("torch")
from torch import distributions as theirs  # noqa: E402
from torch.distributions import kl as their_kl  # noqa: E402

# class -> two instances (p and q of a pair) of three
INSTANCES = {
    "Bernoulli": (
        lambda D, T: D.Bernoulli(T([0.2, 0.0, 1.0])),
        lambda D, T: D.Bernoulli(T([0.6, 0.5, 0.3])),
    ),
    "Beta": (
        lambda D, T: D.Beta(T([0.6, 2.0, 3.0]), T([1.5, 0.7, 1.0])),
        lambda D, T: D.Beta(T([1.6, 1.0, 0.4]), T([0.5, 2.7, 1.0])),
    ),
    "Binomial": (
        lambda D, T: D.Binomial(T([5.0, 5.0, 5.0]), T([0.2, 0.5, 0.9])),
        lambda D, T: D.Binomial(T([5.0, 4.0, 5.0]), T([0.3, 0.5, 0.4])),
    ),
    "Categorical": (
        lambda D, T: D.Categorical(T([[0.2, 0.8, 0.0]] * 3)),
        lambda D, T: D.Categorical(T([[0.2, 0.5, 0.3], [0.1, 0.9, 0.0], [0.0, 0.4, 0.6]])),
    ),
    "Cauchy": (
        lambda D, T: D.Cauchy(T([0.0, 1.0, 2.0]), T([1.0, 2.0, 0.5])),
        lambda D, T: D.Cauchy(T([0.5, 1.0, -2.0]), T([2.0, 2.0, 1.5])),
    ),
    "ContinuousBernoulli": (
        lambda D, T: D.ContinuousBernoulli(T([0.2, 0.5, 0.9])),
        lambda D, T: D.ContinuousBernoulli(T([0.6, 0.3, 0.4995])),
    ),
    "Dirichlet": (
        lambda D, T: D.Dirichlet(T([[0.5, 1.5, 2.5]] * 3)),
        lambda D, T: D.Dirichlet(T([[1.5, 0.5, 2.5], [1.0, 1.0, 1.0], [4.0, 3.0, 2.0]])),
    ),
    "Exponential": (
        lambda D, T: D.Exponential(T([0.5, 2.0, 1.0])),
        lambda D, T: D.Exponential(T([1.5, 2.0, 0.1])),
    ),
    "Gamma": (
        lambda D, T: D.Gamma(T([0.5, 2.5, 1.0]), T([1.5, 0.7, 1.0])),
        lambda D, T: D.Gamma(T([1.5, 0.5, 3.0]), T([0.5, 0.7, 2.0])),
    ),
    "Geometric": (
        lambda D, T: D.Geometric(T([0.2, 0.7, 0.5])),
        lambda D, T: D.Geometric(T([0.4, 0.7, 0.1])),
    ),
    "Gumbel": (
        lambda D, T: D.Gumbel(T([0.0, 1.0, 2.0]), T([1.0, 2.0, 0.5])),
        lambda D, T: D.Gumbel(T([0.5, 1.0, -2.0]), T([2.0, 1.5, 1.5])),
    ),
    "HalfNormal": (
        lambda D, T: D.HalfNormal(T([0.5, 2.0, 1.0])),
        lambda D, T: D.HalfNormal(T([1.5, 2.0, 0.1])),
    ),
    "Independent": (
        lambda D, T: D.Independent(D.Normal(T([[0.0, 1.0]] * 3), 1.0), 1),
        lambda D, T: D.Independent(D.Normal(T([[0.5, 2.0]] * 3), 2.0), 1),
    ),
    "Laplace": (
        lambda D, T: D.Laplace(T([0.0, 1.0, 2.0]), T([1.0, 2.0, 0.5])),
        lambda D, T: D.Laplace(T([0.5, 1.0, -2.0]), T([2.0, 1.5, 1.5])),
    ),
    "LowRankMultivariateNormal": (
        lambda D, T: D.LowRankMultivariateNormal(
            T([[0.0, 1.0]] * 3), T([[1.0], [0.5]]), T([0.5, 1.0])
        ),
        lambda D, T: D.LowRankMultivariateNormal(
            T([0.5, 1.0]), T([[0.3], [1.5]]), T([[1.5, 1.0], [0.2, 0.4], [1.0, 2.0]])
        ),
    ),
    "MultivariateNormal": (
        lambda D, T: D.MultivariateNormal(T([[0.0, 1.0]] * 3), T([[2.0, 0.5], [0.5, 1.0]])),
        lambda D, T: D.MultivariateNormal(T([0.5, 1.0]), T([[[1.0, 0.3], [0.3, 3.0]]] * 3)),
    ),
    "Normal": (
        lambda D, T: D.Normal(T([0.0, 1.0, 2.0]), T([1.0, 2.0, 0.5])),
        lambda D, T: D.Normal(T([0.5, 1.0, -2.0]), T([2.0, 1.5, 1.5])),
    ),
    "OneHotCategorical": (
        lambda D, T: D.OneHotCategorical(T([[0.2, 0.3, 0.5]] * 3)),
        lambda D, T: D.OneHotCategorical(T([[0.4, 0.5, 0.1]] * 3)),
    ),
    "Pareto": (
        lambda D, T: D.Pareto(T([1.0, 2.0, 3.0]), T([0.8, 3.0, 1.5])),
        lambda D, T: D.Pareto(T([0.5, 2.5, 3.0]), T([2.5, 3.0, 1.0])),
    ),
    "Poisson": (
        lambda D, T: D.Poisson(T([0.5, 4.0, 30.0])),
        lambda D, T: D.Poisson(T([1.5, 2.0, 29.0])),
    ),
    "TransformedDistribution": (
        lambda D, T: D.LogNormal(T([0.0, 1.0, 2.0]), T([1.0, 2.0, 0.5])),
        lambda D, T: D.LogNormal(T([0.5, 1.0, -2.0]), T([2.0, 1.5, 1.5])),
    ),
    "Uniform": (
        lambda D, T: D.Uniform(T([0.2, 0.0, -1.0]), T([0.8, 1.0, 3.0])),
        lambda D, T: D.Uniform(T([0.0, -0.5, -1.0]), T([1.0, 2.0, 0.5])),
    ),
}
PAIRS = sorted({(p.__name__, q.__name__) for p, q in their_kl._KL_REGISTRY})
BETWEEN = [pair for pair in PAIRS if "ExponentialFamily" not in pair]


def make(lib, name, role):
    D = ours if lib is rushlight else theirs
    return INSTANCES[name][role](D, lambda v: lib.tensor(v, dtype=lib.float64))


def test_registry_is_pytorchs():
    found = {(p.__name__, q.__name__) for p, q in our_kl._KL_REGISTRY}
    assert set(PAIRS) <= found
    assert len(PAIRS) == 87


# PyTorch has infinity here where the one's support ends where the other's does: checked by averages
# below.
SAME_ENDS = {("ContinuousBernoulli", "Uniform"), ("Uniform", "ContinuousBernoulli")}


@pytest.mark.parametrize(("p", "q"), [pair for pair in BETWEEN if pair not in SAME_ENDS])
def test_pair(p, q):
    expected = theirs.kl_divergence(make(torch, p, 0), make(torch, q, 1))
    found = ours.kl_divergence(make(rushlight, p, 0), make(rushlight, q, 1))
    assert tuple(found.shape) == tuple(expected.shape)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-8, atol=1e-10)


SAMPLED = [(p, q) for p, q in BETWEEN if p not in ("Binomial", "Categorical", "Independent")]


@pytest.fixture
def unchecked():
    """Densities outside of supports too."""
    ours.Distribution.set_default_validate_args(False)
    yield
    ours.Distribution.set_default_validate_args(True)


@pytest.mark.parametrize(("p", "q"), SAMPLED)
def test_pair_is_the_mean_of_the_difference(p, q, unchecked):
    rushlight.manual_seed(1)
    a, b = make(rushlight, p, 0), make(rushlight, q, 1)
    found = ours.kl_divergence(a, b).numpy()
    finite = np.isfinite(found)
    if not finite.any():
        assert np.isposinf(found).all()
        return
    x = a.sample((20000,))
    difference = (a.log_prob(x) - b.log_prob(x)).numpy()[:, finite]
    error = difference.std(0) / math.sqrt(len(difference))
    assert (np.abs(found[finite] - difference.mean(0)) <= 6 * error + 1e-9).all()


def test_uniform_and_continuous_bernoulli_with_equal_ends():
    uniform, other = ours.Uniform(0.0, 1.0), ours.ContinuousBernoulli(0.3)
    for p, q in ((uniform, other), (other, uniform)):
        rushlight.manual_seed(1)
        x = p.sample((50000,))
        mean = float((p.log_prob(x) - q.log_prob(x)).mean())
        assert float(ours.kl_divergence(p, q)) == pytest.approx(mean, abs=5e-3)


@pytest.mark.parametrize("name", ["Beta", "Dirichlet", "Gamma", "Exponential", "Normal", "Poisson"])
def test_bregman_divergence(name):
    """The general formula of exponential families agrees with the particular ones."""
    from rushlight.distributions.kullback_leibler.same_family import _exponential_family

    a, b = make(rushlight, name, 0), make(rushlight, name, 1)
    expected = ours.kl_divergence(a, b)
    np.testing.assert_allclose(
        _exponential_family(a, b).detach().numpy(), expected.numpy(), rtol=1e-9, atol=1e-10
    )


def test_wishart_by_the_general_formula():
    results = []
    for lib, D in ((rushlight, ours), (torch, theirs)):
        matrix = lib.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=lib.float64)
        p = D.Wishart(lib.tensor(3.0, dtype=lib.float64), matrix)
        q = D.Wishart(lib.tensor(4.0, dtype=lib.float64), lib.eye(2, dtype=lib.float64))
        results.append(D.kl_divergence(p, q).sum().item())
    assert results[0] == pytest.approx(results[1], rel=1e-9)


def test_gradient():
    found = []
    for lib, D in ((rushlight, ours), (torch, theirs)):
        loc = lib.tensor([0.5, 1.0], requires_grad=True)
        scale = lib.tensor([0.5, 2.0], requires_grad=True)
        D.kl_divergence(D.Normal(loc, scale), D.Normal(0.0, 1.0)).sum().backward()
        found.append(np.stack([loc.grad.numpy(), scale.grad.numpy()]))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_registration():
    class Base(ours.Normal):
        pass

    class Derived(Base):
        pass

    @ours.register_kl(Base, ours.Normal)
    def by_base(p, q):
        return "base"

    try:
        assert ours.kl_divergence(Derived(0.0, 1.0), ours.Normal(0.0, 1.0)) == "base"
        assert ours.kl_divergence(Base(0.0, 1.0), Base(0.0, 1.0)) == "base"
        assert float(ours.kl_divergence(ours.Normal(0.0, 1.0), Base(0.0, 1.0))) == 0

        @ours.register_kl(ours.Normal, Base)
        def by_other(p, q):
            return "other"

        with pytest.warns(RuntimeWarning, match="ambiguous"):
            ours.kl_divergence(Base(0.0, 1.0), Base(0.0, 1.0))
    finally:
        for key in ((Base, ours.Normal), (ours.Normal, Base)):
            our_kl._KL_REGISTRY.pop(key, None)
        our_kl._KL_MEMOIZE.clear()


def test_errors():
    with pytest.raises(NotImplementedError, match="Normal and q of type Cauchy"):
        ours.kl_divergence(ours.Normal(0.0, 1.0), ours.Cauchy(0.0, 1.0))
    with pytest.raises(TypeError, match="type_p"):
        ours.register_kl(3, ours.Normal)  # any class will do, as in PyTorch
    with pytest.raises(NotImplementedError, match="equal transforms"):
        ours.kl_divergence(ours.LogNormal(0.0, 1.0), ours.HalfCauchy(1.0))
    with pytest.raises(NotImplementedError, match="total_count"):
        ours.kl_divergence(
            ours.Binomial(3, rushlight.tensor(0.5)), ours.Binomial(4, rushlight.tensor(0.5))
        )
    with pytest.raises(NotImplementedError, match="reinterpreted_batch_ndims"):
        normal = ours.Normal(rushlight.zeros(2, 2), 1.0)
        ours.kl_divergence(ours.Independent(normal, 1), ours.Independent(normal, 2))
    with pytest.raises(ValueError, match="event shapes"):
        ours.kl_divergence(
            ours.MultivariateNormal(rushlight.zeros(2), rushlight.eye(2)),
            ours.MultivariateNormal(rushlight.zeros(3), rushlight.eye(3)),
        )

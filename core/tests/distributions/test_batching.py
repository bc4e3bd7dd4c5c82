"""Distributions inside of `vmap`: arguments are checked for all examples at once."""

import numpy as np
import pytest

import rushlight
from rushlight import distributions as D
from rushlight.func import grad, vmap

torch = pytest.importorskip("torch")

PROGRAMS = {
    "value": lambda D, lib, t: D.Normal(0.0, 1.0).log_prob(t),
    "parameter": lambda D, lib, t: D.Gamma(t, 1.0).log_prob(t),
    "shared value": lambda D, lib, t: D.Normal(t, 1.0).log_prob(lib.tensor(1.0)),
    "categorical": lambda D, lib, t: D.Categorical(lib.stack([t, 1 - t])).log_prob(lib.tensor(1)),
    "transformed": lambda D, lib, t: D.LogNormal(t, 1.0).log_prob(t),
    "independent": lambda D, lib, t: D.Independent(D.Normal(t.expand(2), 1.0), 1).log_prob(
        t.expand(2)
    ),
    "mixture": lambda D, lib, t: D.MixtureSameFamily(
        D.Categorical(lib.stack([t, 1 - t])), D.Normal(lib.zeros(2), 1.0)
    ).log_prob(t),
    "shared matrix": lambda D, lib, t: D.MultivariateNormal(t.expand(2), lib.eye(2)).log_prob(
        t.expand(2)
    ),
    "uniform": lambda D, lib, t: D.Uniform(t, t + 1).log_prob(t),
    "simplex": lambda D, lib, t: D.Dirichlet(lib.stack([t, 1 - t])).log_prob(
        lib.tensor([0.4, 0.6])
    ),
    "divergence": lambda D, lib, t: D.kl_divergence(D.Binomial(5, t), D.Binomial(5, 1 - t)),
    "entropy": lambda D, lib, t: D.Binomial(5, t).entropy(),
    "expanded": lambda D, lib, t: D.Normal(t, 1.0).expand((3,)).log_prob(t),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_checked_distributions_of_examples(name):
    def run(lib):
        x = lib.tensor([0.2, 0.3, 0.4])
        program = PROGRAMS[name]
        found = lib.vmap(lambda t: program(lib.distributions, lib, t))(x)
        rows = lib.stack([program(lib.distributions, lib, t) for t in x])
        np.testing.assert_allclose(found.numpy(), rows.numpy(), rtol=1e-6)
        return found.numpy()

    np.testing.assert_allclose(run(rushlight), run(torch), rtol=1e-5)


def test_matrices_of_examples():
    matrices = rushlight.stack([rushlight.eye(2) * k for k in (1.0, 2.0, 3.0)])
    value, mean = rushlight.ones(2), rushlight.zeros(2)

    def density(matrix):
        return D.MultivariateNormal(mean, matrix).log_prob(value)

    found = vmap(density)(matrices)
    np.testing.assert_allclose(found.numpy(), [density(m).item() for m in matrices], rtol=1e-6)
    with pytest.raises(ValueError, match="covariance_matrix"):
        vmap(density)(-matrices)


@pytest.mark.parametrize(
    "program",
    [
        lambda t: D.Normal(t, -t).log_prob(t),
        lambda t: D.Exponential(1.0).log_prob(-t),
        lambda t: D.Geometric(t - 0.4).log_prob(t),
    ],
)
def test_one_bad_example_is_an_error(program):
    with pytest.raises(ValueError, match="invalid values"):
        vmap(program)(rushlight.tensor([0.2, 0.3, 0.4]))


def test_samples_and_their_gradients():
    x = rushlight.tensor([0.2, 0.3, 0.4])
    for family in (D.Normal, D.VonMises, D.Gamma):
        drawn = vmap(lambda t, f=family: f(t, 1.0).sample(), randomness="different")(x)
        assert drawn.shape == (3,) and len(set(drawn.tolist())) == 3
    slopes = vmap(grad(lambda t: D.Normal(t, 1.0).rsample()), randomness="different")(x)
    assert slopes.tolist() == [1.0, 1.0, 1.0]


def test_a_wishart_of_two_dtypes():
    found = D.Wishart(rushlight.tensor(3.0), rushlight.eye(2, dtype=rushlight.float64))
    assert found.sample().dtype is rushlight.float64

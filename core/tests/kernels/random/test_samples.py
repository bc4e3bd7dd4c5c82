"""Compiled samples are those drawn one by one, and leave the generator where those leave it."""

import numpy as np
import pytest

import rushlight
from rushlight.kernels.random import samples

CHANCE = np.random.default_rng(0)
COUNT = 1500
SHAPES = rushlight.tensor(CHANCE.gamma(1.0, 3.0, COUNT))
RATES = rushlight.tensor(np.concatenate([CHANCE.uniform(0, 40, COUNT), [0.0, 9.999, 10.0, 1e6]]))
TRIALS = rushlight.tensor(CHANCE.integers(0, 300, COUNT).astype(float))
CHANCES = rushlight.tensor(np.concatenate([CHANCE.uniform(0, 1, COUNT - 4), [0.0, 1.0, 0.5, 1e-9]]))
DRAWS = {
    "gamma": lambda: rushlight._standard_gamma(SHAPES),
    "gamma in float32": lambda: rushlight._standard_gamma(SHAPES.float()),
    "dirichlet": lambda: rushlight._sample_dirichlet(SHAPES.reshape(-1, 3)),
    "poisson": lambda: rushlight.poisson(RATES),
    "poisson in float32": lambda: rushlight.poisson(RATES.float()),
    "binomial": lambda: rushlight.binomial(TRIALS, CHANCES),
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_same_numbers_either_way(name, monkeypatch):
    found = []
    for least in (1, 1 << 40):
        monkeypatch.setattr(samples, "COMPILED_FROM", least)
        rushlight.manual_seed(11)
        rushlight.randn(3)  # leaves one of a pair of normals behind
        drawn = [DRAWS[name]() for _ in range(2)]
        found.append([t.numpy() for t in (*drawn, rushlight.rand(700), rushlight.randn(3))])
        found[-1].append(rushlight.get_rng_state().numpy())
    for compiled, one_by_one in zip(*found, strict=True):
        np.testing.assert_array_equal(compiled, one_by_one)


def test_impossible_chances(monkeypatch):
    monkeypatch.setattr(samples, "COMPILED_FROM", 1)
    nan = rushlight.tensor([float("nan"), 0.5])
    found = rushlight.binomial(rushlight.tensor([4.0, -1.0]), nan)
    assert found.isnan().tolist() == [True, False] and found[1] == 0


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("name", ("gamma", "dirichlet", "poisson", "binomial"))
def test_the_same_seed_gives_pytorchs_numbers(name, dtype):
    torch = pytest.importorskip("torch")
    found = []
    for library in (rushlight, torch):
        kind = getattr(library, dtype)
        a, b, c, d = (
            library.tensor(t.numpy(), dtype=kind) for t in (SHAPES, RATES, TRIALS, CHANCES)
        )
        library.manual_seed(5)
        if name == "gamma":
            drawn = library._standard_gamma(a)
        elif name == "dirichlet":
            drawn = library._sample_dirichlet(a.reshape(-1, 3))
        elif name == "poisson":
            drawn = library.poisson(b)
        else:
            drawn = library.binomial(c, d)
        found.append(drawn.numpy())
    np.testing.assert_array_equal(*found)

"""Functions of two numbers: the kernels as the definitions on arrays."""

import numpy as np
import pytest

import rushlight
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.kernels.special import pair_kernels, pairs
from rushlight.ops.elementwise import special_gamma, special_polynomials  # noqa: F401

EDGES = np.array([0.0, -0.0, 1, -1, 0.5, 20, np.inf, -np.inf, np.nan, 1e-320, 1e5, -2.5])
DEGREES = np.array([0.0, -0.0, 1, 2, 7, -3, 2.7, -0.5, 600, 1e19, np.inf, -np.inf, np.nan])


def gammas(random):
    """Series, fraction, small arguments, Temme's expansion, Stirling's series, edges."""
    a = np.concatenate(
        [
            random.gamma(1, 3, 2000),
            random.uniform(1e-8, 0.01, 300),
            random.uniform(1e5, 1e7, 300),
            random.uniform(10, 300, 500),
        ]
    )
    x = a * random.uniform(0.7, 1.4, a.size) + random.uniform(0, 1.2, a.size)
    return a, x


def degrees(random):
    x = np.concatenate([random.uniform(-1, 1, 2000), random.uniform(-3, 3, 2000)])
    return x, random.uniform(-2, 60, x.size)


@pytest.mark.parametrize("name", pair_kernels.FUNCTIONS)
def test_kernel_is_the_reference(name):
    random = np.random.default_rng(0)
    gamma = name.startswith("igamma")
    first, second = (gammas if gamma else degrees)(random)
    edges = np.meshgrid(EDGES, EDGES if gamma else DEGREES)
    first, second = (
        np.concatenate([values, more.ravel()])
        for values, more in zip((first, second), edges, strict=True)
    )
    limit = (2.0**-52,) if gamma else (512.0,) if "hermite" in name else ()
    with np.errstate(all="ignore"):
        reference = pairs.references[name]
        expected = reference(first, second, *limit)
        found = pairs.compiled_pair(name, reference)(first, second, *limit)
    # cos(n * angle) for n = 1e19 says nothing.
    sure = np.abs(second) < 1e18 if not gamma else np.ones(first.shape, bool)
    sure |= ~np.isfinite(second)
    np.testing.assert_allclose(found[sure], expected[sure], rtol=1e-10, atol=1e-12)


@pytest.mark.skipif(REFERENCE, reason="the reference takes all arrays")
def test_kernels_run(monkeypatch):
    jobs = []
    run = pairs.threads.run
    monkeypatch.setattr(pairs.threads, "run", lambda *job: (jobs.append(job), run(*job)))
    rushlight.igamma(rushlight.ones(3), rushlight.ones(3))
    rushlight.special.legendre_polynomial_p(rushlight.ones(3), 4)
    assert len(jobs) == 2


def test_empty_arrays_and_numbers():
    empty = rushlight.zeros(0, 3)
    assert rushlight.igamma(empty, rushlight.ones(3)).shape == (0, 3)
    x = rushlight.tensor(2.0)
    found = rushlight.special.legendre_polynomial_p(x, 2)
    assert found.shape == () and found.item() == 5.5
    assert rushlight.igamma(x, x).shape == ()
    assert x.igamma_(rushlight.tensor(1.0)).shape == ()

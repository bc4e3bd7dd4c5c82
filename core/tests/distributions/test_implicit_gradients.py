"""Implicit gradients of gamma and beta variables: against numeric derivatives of the cdf and
against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.ops.random import reparameterization as implicit

torch = pytest.importorskip("torch")
special = pytest.importorskip("scipy.special")


def log_uniform(low, high, count, seed):
    return np.exp(np.random.default_rng(seed).uniform(np.log(low), np.log(high), count))


def slope(function, a):
    """The derivative of ``function(a)`` by a five-point rule."""
    h = 1e-3 * a
    near, far = function(a + h) - function(a - h), function(a + 2 * h) - function(a - 2 * h)
    return (8 * near - far) / (12 * h)


def gamma_samples(low, high, count=2000):
    a = log_uniform(low, high, count, 0)
    x = np.maximum(np.random.default_rng(1).gamma(a), 1e-200)
    return a, x


@pytest.mark.parametrize(("low", "high"), [(1e-2, 1.0), (1.0, 10.0), (10.0, 300.0)])
def test_gamma_is_the_derivative_of_the_cdf(low, high):
    a, x = gamma_samples(low, high)
    found = implicit._standard_gamma_grad(rushlight.tensor(a), rushlight.tensor(x)).numpy()
    lower = x < a
    numeric = slope(lambda v: np.where(lower, special.gammainc(v, x), -special.gammaincc(v, x)), a)
    density = np.exp((a - 1) * np.log(x) - x - special.gammaln(a))
    np.testing.assert_allclose(found, -numeric / density, rtol=1e-6)


def test_gamma_agrees_with_pytorch():
    a, x = gamma_samples(1e-3, 1e5)
    found = implicit._standard_gamma_grad(rushlight.tensor(a), rushlight.tensor(x)).numpy()
    expected = torch._standard_gamma_grad(torch.tensor(a), torch.tensor(x)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-3)  # theirs has 4 digits


def beta_samples(low, high, count=2000):
    a, b = log_uniform(low, high, count, 0), log_uniform(low, high, count, 1)
    x = np.clip(np.random.default_rng(2).beta(a, b), 1e-150, 1 - 1e-8)
    return a, b, x


@pytest.mark.parametrize(("low", "high"), [(5e-2, 1.0), (1.0, 10.0), (0.1, 300.0)])
def test_beta_is_the_derivative_of_the_cdf(low, high):
    a, b, x = beta_samples(low, high)
    found = implicit._dirichlet_grad(*(rushlight.tensor(v) for v in (x, a, a + b))).numpy()
    lower = x < a / (a + b)
    numeric = slope(
        lambda v: np.where(lower, special.betainc(v, b, x), -special.betainc(b, v, 1 - x)), a
    )
    log_density = (a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - special.betaln(a, b)
    np.testing.assert_allclose(found, -numeric / np.exp(log_density) / (1 - x), rtol=1e-5)


def test_beta_agrees_with_pytorch():
    a, b, x = beta_samples(0.05, 100.0)
    found = implicit._dirichlet_grad(*(rushlight.tensor(v) for v in (x, a, a + b))).numpy()
    expected = torch._dirichlet_grad(*(torch.tensor(v) for v in (x, a, a + b))).numpy()
    error = np.abs(found - expected) / np.abs(expected)
    assert np.quantile(error, 0.5) < 1e-6
    assert error.max() < 4e-3  # the error of theirs: see the test with the cdf


def test_dtypes_shapes_and_errors():
    for dtype in (rushlight.float32, rushlight.float64):
        a = rushlight.full((2, 3), 1.5, dtype=dtype, requires_grad=True)
        for draw in (implicit._standard_gamma, implicit._sample_dirichlet):
            sample = draw(a)
            assert sample.dtype is dtype
            (gradient,) = rushlight.autograd.grad(sample.pow(2).sum(), a)
            assert gradient.dtype is dtype
            assert tuple(gradient.shape) == (2, 3)
    assert tuple(implicit._standard_gamma(rushlight.ones(0, 2)).shape) == (0, 2)
    with pytest.raises(RuntimeError, match="not implemented for"):
        implicit._standard_gamma(rushlight.ones(2, dtype=rushlight.int64))
    with pytest.raises(RuntimeError, match="one shape"):
        implicit._dirichlet_grad(rushlight.ones(2), rushlight.ones(3), rushlight.ones(2))


def test_names_of_the_top_level():
    for name in ("_standard_gamma", "_standard_gamma_grad", "_dirichlet_grad", "_sample_dirichlet"):
        assert getattr(rushlight, name) is getattr(implicit, name)
        assert hasattr(torch, name)


def test_generator():
    generator = rushlight.Generator()
    generator.manual_seed(4)
    first = implicit._standard_gamma(rushlight.ones(5), generator=generator)
    rushlight.manual_seed(4)
    np.testing.assert_array_equal(first.numpy(), implicit._standard_gamma(rushlight.ones(5)))

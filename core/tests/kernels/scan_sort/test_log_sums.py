"""Logarithms of running sums of exponentials and their gradient, against the oracle in float64."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
SHAPES = [(256, 256), (5, 1), (3, 300, 2), (4, 700), (0, 4), (4, 0, 2), (9,), (2, 30, 259)]


def numbers(kind, shape, dtype):
    rng = np.random.default_rng(0)
    x, drawn = rng.standard_normal(shape).astype(dtype), rng.random(shape)
    if kind == "far apart":
        x *= 1000
    elif kind == "far away":
        x += 1000
    elif kind == "some -inf":
        x[drawn < 0.05] = -np.inf
    elif kind == "mostly -inf":
        x[drawn < 0.7] = -np.inf
    elif kind == "inf":
        x[drawn < 0.01] = np.inf
    elif kind == "nan":
        x[drawn < 0.01] = np.nan
    return x


def slopes(library, x, grad, dim, **options):
    leaf = torch.tensor(x, requires_grad=True)
    if library is rushlight:
        leaf = rushlight.from_numpy(x).requires_grad_()
    found = leaf.logcumsumexp(dim)
    (pulled,) = library.autograd.grad(found, leaf, library.tensor(grad), **options)
    return found.detach().numpy(), pulled.detach().numpy()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "kind", ["close", "far apart", "far away", "some -inf", "mostly -inf", "inf", "nan"]
)
def test_log_sums(kind, shape, dtype):
    x = numbers(kind, shape, dtype)
    grad = np.random.default_rng(1).standard_normal(shape).astype(dtype)
    rtol = 2e-6 if dtype == "float32" else 1e-12
    size = np.abs(x[np.isfinite(x)]).max(initial=1)
    for dim in range(len(shape)):
        exact, slope = slopes(torch, x.astype("float64"), grad.astype("float64"), dim)
        for way in (np.ascontiguousarray, np.asfortranarray):
            for record in (False, True):
                found, pulled = slopes(rushlight, way(x), grad, dim, create_graph=record)
                assert found.dtype == pulled.dtype == x.dtype
                np.testing.assert_allclose(found, exact, rtol=rtol, atol=rtol)
                there = np.isfinite(x) | np.isnan(x)  # PyTorch has NaN at -inf, which pulls nothing
                np.testing.assert_array_equal(pulled[x == -np.inf], 0)
                if not record:  # sums of rounded logarithms: relative to their size
                    near = 20 * rtol * size
                    np.testing.assert_allclose(pulled[there], slope[there], rtol=near, atol=near)


def test_far_below_what_follows():
    """A block relative to its largest element alone would have no bits for the first ones."""
    x = np.array([-1000.0, -999.0] + [0.0] * 300 + [900.0] * 20, "float64")
    for dtype in ("float32", "float64"):
        found = rushlight.from_numpy(x.astype(dtype)).logcumsumexp(0).numpy()
        np.testing.assert_allclose(found, torch.tensor(x).logcumsumexp(0).numpy(), rtol=1e-6)


def test_gradients_of_gradients():
    x = rushlight.randn(3, 5, dtype=rushlight.float64, requires_grad=True)
    for dim in (0, 1):
        assert rushlight.autograd.gradcheck(lambda x, dim=dim: x.logcumsumexp(dim), x)
        assert rushlight.autograd.gradgradcheck(lambda x, dim=dim: x.logcumsumexp(dim), x)

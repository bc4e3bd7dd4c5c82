"""cov: weights in a narrower dtype than the values."""

import numpy as np
import pytest

import rushlight


@pytest.mark.parametrize("correction", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_narrow_weights_lose_no_precision(dtype, correction):
    """Float32 weights count as the float64 ones of the same values, also where the divisor
    cancels; their gradient has their own dtype."""
    random = np.random.default_rng(0)
    values = rushlight.tensor(random.standard_normal((2, 5))).to(getattr(rushlight, dtype))
    values.requires_grad_()
    found = []
    for wide in (False, True):
        weights = rushlight.tensor(random.random(5) if not found else found[0][1].detach().numpy())
        weights = (weights.double() if wide else weights.float()).requires_grad_()
        result = rushlight.cov(values, correction=correction, aweights=weights)
        gradients = rushlight.autograd.grad(result.abs().square().sum(), (values, weights))
        assert gradients[1].dtype == weights.dtype
        found.append((result, weights, *gradients))
    narrow, wide = found
    for a, b, relative in zip(narrow, wide, (1e-12, 0.0, 1e-12, 1e-6), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), relative)

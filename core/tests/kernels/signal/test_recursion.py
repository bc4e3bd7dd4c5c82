"""The kernels of filters with feedback against their references."""

import numpy as np
import pytest

from rushlight.kernels.signal import recursion


def numbers(*shape, dtype=np.float64, seed=0, scale=1.0):
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def coefficients(channels, order, taps, dtype=np.float64):
    """Stable ones, the first being 1."""
    feedback = numbers(channels, order, dtype=dtype, seed=1, scale=0.3 / order)
    feedback[:, 0] = 1
    return feedback, numbers(channels, taps, dtype=dtype, seed=2)


def delayed(channels, length, terms, dtype=np.float64):
    gains = numbers(channels, length, terms, dtype=dtype, seed=3, scale=0.3)
    delays = np.random.default_rng(4).integers(1, 6, (channels, length, terms))
    return gains, delays


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order, taps", [(1, 1), (2, 1), (3, 3), (1, 5), (5, 2), (12, 9)])
@pytest.mark.parametrize("length", [1, 2, 7, 1023, 1024, 1025, 2500])
def test_kernel_agrees_with_the_reference(order, taps, length, dtype):
    x, (a, b) = numbers(2, 3, length, dtype=dtype), coefficients(3, order, taps, dtype)
    expected = recursion.filtered_reference(x, a, b)
    tolerance = 1e-6 if dtype is np.float32 else 1e-12
    found = recursion.filtered(x, a, b)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, tolerance, tolerance)


def test_half_precision_is_rounded_once():
    x, (a, b) = numbers(1, 1, 100).astype(np.float16), coefficients(1, 3, 3, np.float16)
    expected = recursion.filtered_reference(x.astype(np.float64), a, b).astype(np.float16)
    found = recursion.filtered(x, a, b)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, expected, 1e-3, 1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("length, terms", [(1, 1), (9, 2), (1200, 3)])
def test_varying_feedback_agrees_with_the_reference(length, terms, backward, dtype):
    x, (gains, delays) = numbers(3, 2, length, dtype=dtype), delayed(2, length, terms, dtype)
    expected = recursion.fed_back_reference(x, gains, delays, backward)
    tolerance = 1e-6 if dtype is np.float32 else 1e-12
    found = recursion.fed_back(x, gains, delays, backward)
    np.testing.assert_allclose(found, expected, tolerance, tolerance)

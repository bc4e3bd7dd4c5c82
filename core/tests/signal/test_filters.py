"""Filters with feedback: kernels against their references, SciPy, and numerical gradients."""

import numpy as np
import pytest

import rushlight
from rushlight.autograd import gradcheck, gradgradcheck
from rushlight.ops.signal import recursive_filters as ops


def numbers(*shape, dtype=np.float64, seed=0, scale=1.0):
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def coefficients(channels, order, taps, dtype=np.float64):
    """Stable ones, the first being 1."""
    feedback = numbers(channels, order, dtype=dtype, seed=1, scale=0.3 / order)
    feedback[:, 0] = 1
    return feedback, numbers(channels, taps, dtype=dtype, seed=2)


@pytest.mark.parametrize("order, taps", [(2, 3), (5, 4)])
def test_agrees_with_scipy(order, taps):
    signal = pytest.importorskip("scipy.signal")
    x, (a, b) = numbers(2, 500), coefficients(1, order, taps)
    a, b = 1.7 * a[0], b[0]
    found = rushlight.signal.recursive_filter(*(rushlight.tensor(each) for each in (x, a, b)))
    np.testing.assert_allclose(found.numpy(), signal.lfilter(b, a, x), 1e-10, 1e-12)


@pytest.mark.parametrize("order, taps, length", [(3, 3, 6), (5, 1, 5), (2, 6, 4)])
def test_gradients(order, taps, length):
    values = numbers(2, 2, length), *coefficients(2, order, taps)
    given = [rushlight.tensor(each, requires_grad=True) for each in values]
    assert gradcheck(rushlight.signal.recursive_filter, given)
    assert gradgradcheck(rushlight.signal.recursive_filter, given)


@pytest.mark.parametrize(
    "x, feedback, forward, error",
    [
        ((5,), (2,), (3, 1), ValueError),
        ((5,), (2, 2), (2, 2), ValueError),
        ((3, 5), (2, 2), (2, 2), ValueError),
        ((5,), (0,), (1,), ValueError),
    ],
)
def test_errors(x, feedback, forward, error):
    with pytest.raises(error, match="recursive_filter"):
        rushlight.signal.recursive_filter(
            *(rushlight.ones(each) for each in (x, feedback, forward))
        )


def test_dtypes_must_agree():
    with pytest.raises(TypeError, match="one floating-point dtype"):
        one = rushlight.ones(2)
        rushlight.signal.recursive_filter(rushlight.ones(5).double(), one, one)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 5), (2, 3, 0), (0, 3, 4)])
def test_empty_signals(shape):
    x = rushlight.ones(shape, requires_grad=True)
    found = rushlight.signal.recursive_filter(x, rushlight.ones(2), rushlight.ones(3))
    assert found.shape == x.shape
    found.sum().backward()
    assert x.grad.shape == x.shape


def delayed(channels, length, terms, dtype=np.float64):
    gains = numbers(channels, length, terms, dtype=dtype, seed=3, scale=0.3)
    delays = np.random.default_rng(4).integers(1, 6, (channels, length, terms))
    return gains, delays


@pytest.mark.parametrize("backward", [False, True])
def test_gradients_of_varying_feedback(backward):
    gains, delays = delayed(2, 7, 2)
    delays = rushlight.tensor(delays)
    given = [rushlight.tensor(each, requires_grad=True) for each in (numbers(2, 2, 7), gains)]

    def call(x, gains):
        return ops._varying_feedback(x, gains, delays, backward)

    assert gradcheck(call, given)
    assert gradgradcheck(call, given)


def test_varying_feedback_is_the_filter_where_nothing_varies():
    x = rushlight.tensor(numbers(2, 3, 40))
    gains, delays = rushlight.full((3, 40, 1), -0.4), rushlight.full((3, 40, 1), 2)
    expected = rushlight.signal.recursive_filter(
        x, rushlight.tensor([1.0, 0, 0.4]).double(), rushlight.ones(1).double()
    )
    rushlight.testing.assert_close(
        rushlight.signal.varying_feedback(x, gains, delays), expected, atol=1e-7, rtol=1e-6
    )


def test_delays_are_checked():
    x, gains = rushlight.ones(1, 4), rushlight.ones(1, 4, 1)
    with pytest.raises(ValueError, match="at least 1"):
        rushlight.signal.varying_feedback(x, gains, rushlight.zeros(1, 4, 1, dtype=rushlight.int64))
    with pytest.raises(ValueError, match="expected gains and delays"):
        rushlight.signal.varying_feedback(x, gains, rushlight.ones(1, 3, 1, dtype=rushlight.int64))

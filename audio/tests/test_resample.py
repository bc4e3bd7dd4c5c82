"""Resampling against the definition: a sum over samples of a windowed sinc."""

import math

import numpy as np
import pytest

import rushlight as rl
from rushlight_audio import functional as F
from rushlight_audio import transforms as T


def noise(*shape):
    return np.random.default_rng(3).standard_normal(shape)


def by_sum(x, orig, new, width=6, rolloff=0.99, beta=None):
    """y(t) = sum over n of x[n] h(t - n / orig), with h the windowed sinc."""
    divisor = math.gcd(orig, new)
    orig, new = orig // divisor, new // divisor
    edge = min(orig, new) * rolloff
    n = np.arange(len(x))
    out = []
    for k in range(math.ceil(len(x) * new / orig)):
        t = np.clip((n / orig - k / new) * edge, -width, width)
        if beta is None:
            window = np.cos(t * np.pi / width / 2) ** 2
        else:
            window = np.i0(beta * np.sqrt(np.maximum(1 - (t / width) ** 2, 0))) / np.i0(beta)
            window[np.abs(t) == width] = 0
        out.append((x * np.sinc(t) * window).sum() * edge / orig)
    return np.array(out)


RATES = [(16000, 8000), (8000, 16000), (44100, 16000), (16000, 22050), (3, 7)]


@pytest.mark.parametrize(("orig", "new"), RATES)
def test_resample_is_the_sum(orig, new):
    x = noise(700)
    ours = F.resample(rl.from_numpy(x), orig, new)
    np.testing.assert_allclose(ours.numpy(), by_sum(x, orig, new), atol=1e-12)


def test_width_and_rolloff():
    x = noise(300)
    ours = F.resample(rl.from_numpy(x), 3, 2, lowpass_filter_width=16, rolloff=0.85)
    np.testing.assert_allclose(ours.numpy(), by_sum(x, 3, 2, 16, 0.85), atol=1e-12)


@pytest.mark.parametrize("beta", [None, 6.5])
def test_kaiser_window(beta):
    x = noise(300)
    ours = F.resample(rl.from_numpy(x), 3, 2, resampling_method="sinc_interp_kaiser", beta=beta)
    # The edge of a Kaiser window is 1 / I0(beta), not 0, but sinc(6) is.
    expected = by_sum(x, 3, 2, beta=14.769656459379492 if beta is None else beta)
    np.testing.assert_allclose(ours.numpy(), expected, atol=1e-12)


def test_transform_is_the_function():
    x = rl.from_numpy(noise(2, 3, 500).astype(np.float32))
    steps = T.Resample(44100, 16000)
    assert list(steps.state_dict()) == ["kernel"]
    assert steps(x).shape == (2, 3, 182)
    assert rl.equal(steps(x), F.resample(x, 44100, 16000))
    exact = T.Resample(44100, 16000, dtype=rl.float64)
    assert rl.equal(exact(x.double()), F.resample(x.double(), 44100, 16000))


def test_equal_rates_give_the_waveform():
    x = rl.zeros(10)
    assert F.resample(x, 8000, 8000) is x
    assert T.Resample(8000, 8000)(x) is x
    assert T.Resample()(x) is x


def test_a_tone_keeps_its_frequency():
    time = np.arange(8000) / 8000
    x = rl.from_numpy(np.sin(2 * np.pi * 440 * time))
    ours = F.resample(x, 8000, 11025).numpy()
    expected = np.sin(2 * np.pi * 440 * np.arange(11025) / 11025)
    assert np.abs(ours - expected)[200:-200].max() < 2e-3


def test_gradient():
    x, y = noise(100), noise(67)
    waveform = rl.from_numpy(x).requires_grad_()
    out = F.resample(waveform, 3, 2)
    (out * rl.from_numpy(y)).sum().backward()
    # Linear, so <grad, x> is <y, out>.
    assert waveform.grad.numpy() @ x == pytest.approx(out.detach().numpy() @ y)


def test_bad_input():
    x = rl.zeros(100)
    with pytest.raises(TypeError, match="orig_freq must be an integer, got 44100.5"):
        F.resample(x, 44100.5, 16000)
    with pytest.raises(ValueError, match="new_freq must be positive, got 0"):
        T.Resample(16000, 0)
    with pytest.raises(ValueError, match="resampling_method must be one of .*got 'linear'"):
        F.resample(x, 2, 3, resampling_method="linear")
    with pytest.raises(ValueError, match="lowpass_filter_width must be positive, got 0"):
        F.resample(x, 2, 3, lowpass_filter_width=0)
    with pytest.raises(TypeError, match="floating-point type, got rushlight.int16"):
        F.resample(x.to(rl.int16), 2, 3)
    with pytest.raises(TypeError, match="Resample.*must be a tensor, not list"):
        T.Resample(2, 3)([0.0])

"""PitchShift's filter: made at first need, saved, loaded, trained."""

import pytest

import rushlight as rl
from rushlight_audio import functional as F
from rushlight_audio import transforms as T

SIZES = {"n_fft": 64, "hop_length": 16}


def test_the_filter_is_made_saved_and_loaded():
    x = 0.3 * rl.randn(2, 400)
    first = T.PitchShift(8, 4, **SIZES)
    expected = first(x)
    assert list(first.state_dict()) == ["kernel", "window"]
    second = T.PitchShift(8, 4, **SIZES)
    second.load_state_dict(first.state_dict())
    rl.testing.assert_close(second(x), expected)
    with rl.no_grad():
        second.kernel *= 2
    rl.testing.assert_close(second(x), 2 * expected)
    rl.testing.assert_close(F.pitch_shift(x, 8, 4, window=first.window, **SIZES), expected)


def test_the_filter_has_gradients():
    module = T.PitchShift(8, 4, **SIZES)
    module(rl.randn(1, 400)).square().sum().backward()
    assert module.kernel.grad.shape == module.kernel.shape
    assert module.kernel.grad.abs().sum() > 0


def test_a_large_filter_is_not_kept():
    module = T.PitchShift(16000, 5, **SIZES)
    assert list(module.state_dict()) == ["window"]
    x = rl.randn(1, 800, requires_grad=True)
    out = module(x)
    assert out.shape == x.shape
    (grad,) = rl.autograd.grad(out.sum(), x)
    assert grad.isfinite().all()
    state = {**module.state_dict(), "kernel": rl.zeros(2, 1, 3)}
    module.load_state_dict(state)
    rl.testing.assert_close(module(x), out)


def test_time_stretch_needs_a_rate_and_complex_numbers():
    spectrum = rl.randn(9, 20, dtype=rl.complex64)
    with pytest.raises(ValueError, match="fixed_rate"):
        T.TimeStretch(8, 9)(spectrum)
    with pytest.warns(UserWarning, match="expected a complex spectrogram"):
        T.TimeStretch(8, 9)(spectrum.real, 1.2)

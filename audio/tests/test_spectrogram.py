"""Spectrograms against NumPy's FFT frame by frame, and PyTorch's where it is installed."""

import numpy as np
import pytest

import rushlight as rl
from rushlight_audio import functional as F
from rushlight_audio import transforms as T


def noise(*shape, dtype=np.float64):
    return np.random.default_rng(1).standard_normal(shape).astype(dtype)


def by_fft(x, n_fft, hop, win, center=True, mode="reflect", onesided=True, pad=0):
    """Frames cut in a loop, Hann window in the middle, NumPy's FFT."""
    x = np.pad(x, pad)
    if center:
        x = np.pad(x, n_fft // 2, mode=mode)
    window = np.zeros(n_fft)
    left = (n_fft - win) // 2
    window[left : left + win] = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(win) / win)
    frames = [x[s : s + n_fft] * window for s in range(0, len(x) - n_fft + 1, hop)]
    return np.stack([(np.fft.rfft if onesided else np.fft.fft)(f) for f in frames], axis=1), window


CASES = [
    {"n_fft": 400, "hop": 200, "win": 400},
    {"n_fft": 64, "hop": 10, "win": 64, "pad": 7},
    {"n_fft": 64, "hop": 16, "win": 41},
    {"n_fft": 63, "hop": 16, "win": 63, "onesided": False},
    {"n_fft": 64, "hop": 16, "win": 64, "center": False},
    {"n_fft": 64, "hop": 64, "win": 64, "mode": "constant"},
]


def transform(n_fft, hop, win, center=True, mode="reflect", onesided=True, pad=0, **options):
    wkwargs = {"dtype": rl.float64}
    return T.Spectrogram(
        n_fft,
        win,
        hop,
        pad,
        wkwargs=wkwargs,
        center=center,
        pad_mode=mode,
        onesided=onesided,
        **options,
    )


@pytest.mark.parametrize("case", CASES)
def test_complex_spectrum(case):
    x = noise(1000)
    expected, _ = by_fft(x, **case)
    ours = transform(**case, power=None)(rl.from_numpy(x))
    assert ours.dtype == rl.complex128
    np.testing.assert_allclose(ours.numpy(), expected, atol=1e-11)


@pytest.mark.parametrize("power", [1.0, 2.0, 0.7])
@pytest.mark.parametrize("normalized", [False, True, "window", "frame_length"])
def test_power_and_normalization(power, normalized):
    x = noise(500)
    spectrum, window = by_fft(x, 64, 32, 64)
    scale = {False: 1.0, "frame_length": 1 / np.sqrt(64)}.get(
        normalized, 1 / np.sqrt((window**2).sum())
    )
    ours = transform(64, 32, 64, power=power, normalized=normalized)(rl.from_numpy(x))
    np.testing.assert_allclose(ours.numpy(), np.abs(spectrum * scale) ** power, rtol=1e-9)


def test_defaults_and_shapes():
    spectrogram = T.Spectrogram()
    assert (spectrogram.n_fft, spectrogram.win_length, spectrogram.hop_length) == (400, 400, 200)
    assert list(spectrogram.state_dict()) == ["window"]
    assert T.Spectrogram(512, win_length=300).hop_length == 150
    x = noise(3, 2, 16000, dtype=np.float32)
    ours = spectrogram(rl.from_numpy(x))
    assert (ours.dtype, ours.shape) == (rl.float32, (3, 2, 201, 81))
    expected, _ = by_fft(x[1, 1].astype(np.float64), 400, 200, 400)
    np.testing.assert_allclose(ours[1, 1].numpy(), np.abs(expected) ** 2, rtol=1e-3, atol=2e-3)


def test_gradient_against_finite_differences():
    x = noise(120)
    steps = transform(32, 8, 32, power=1.0)
    weight = rl.from_numpy(noise(17, 16))
    waveform = rl.from_numpy(x).requires_grad_()
    (steps(waveform) * weight).sum().backward()

    def value(array):
        return (steps(rl.from_numpy(array)) * weight).sum().item()

    direction = noise(120)[::-1].copy()
    numeric = (value(x + 1e-6 * direction) - value(x - 1e-6 * direction)) / 2e-6
    assert numeric == pytest.approx(float(waveform.grad.numpy() @ direction), rel=1e-6)


def test_silence_has_no_nan_in_its_gradient():
    waveform = rl.zeros(800, requires_grad=True)
    T.Spectrogram(power=1.0)(waveform).sum().backward()
    assert waveform.grad.abs().max().item() == 0.0


def test_use_in_inference_mode_leaves_training_possible():
    waveform = rl.from_numpy(noise(200))
    with rl.inference_mode():
        transform(50, 25, 50)(waveform)
    waveform.requires_grad_()
    transform(50, 25, 50)(waveform).sum().backward()
    assert waveform.grad.abs().max().item() > 0


@pytest.mark.parametrize("case", CASES)
def test_against_torch(case):
    torch = pytest.importorskip("torch")
    case = {"center": True, "mode": "reflect", "onesided": True, "pad": 0} | case
    x = noise(2, 1000)
    theirs = torch.stft(
        torch.nn.functional.pad(torch.from_numpy(x), (case["pad"], case["pad"])),
        case["n_fft"],
        case["hop"],
        case["win"],
        torch.hann_window(case["win"], dtype=torch.float64),
        center=case["center"],
        pad_mode=case["mode"],
        onesided=case["onesided"],
        return_complex=True,
    )
    ours = transform(**case, power=None)(rl.from_numpy(x))
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), atol=1e-11)


def test_gradient_against_torch():
    torch = pytest.importorskip("torch")
    x = noise(600)
    ours, theirs = rl.from_numpy(x).requires_grad_(), torch.from_numpy(x.copy()).requires_grad_()
    transform(100, 30, 100, power=1.0)(ours).log().sum().backward()
    window = torch.hann_window(100, dtype=torch.float64)
    torch.stft(theirs, 100, 30, window=window, return_complex=True).abs().log().sum().backward()
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", ["hann_window", "hamming_window", "blackman_window"])
def test_windows(name):
    reference = {"hann_window": np.hanning, "hamming_window": np.hamming}.get(name, np.blackman)
    for length in (1, 2, 5, 16):
        symmetric = getattr(F, name)(length, periodic=False, dtype=rl.float64)
        np.testing.assert_allclose(symmetric.numpy(), reference(length), atol=1e-15)
        if length > 1:
            periodic = getattr(F, name)(length, dtype=rl.float64)
            np.testing.assert_allclose(periodic.numpy(), reference(length + 1)[:-1], atol=1e-15)


def test_bad_input():
    steps = T.Spectrogram()
    with pytest.raises(TypeError, match="'waveform' must be a tensor, not list"):
        steps([0.0])
    with pytest.raises(TypeError, match="floating-point type, got rushlight.int16"):
        steps(rl.zeros(1000, dtype=rl.int16))
    with pytest.raises(ValueError, match=r"1 or more dimensions, got shape \[\]"):
        steps(rl.tensor(1.0))
    with pytest.raises(ValueError, match=r"200 samples at each end .* than 150 .*shape \[2, 150\]"):
        steps(rl.zeros(2, 150))
    with pytest.raises(ValueError, match="n_fft=400 needs as many samples, the waveform has 150"):
        T.Spectrogram(center=False)(rl.zeros(150))
    with pytest.raises(ValueError, match="win_length must not exceed n_fft=400, got 500"):
        T.Spectrogram(win_length=500)(rl.zeros(1000))
    with pytest.raises(ValueError, match="hop_length must be positive, got 0"):
        T.Spectrogram(hop_length=0)(rl.zeros(1000))
    with pytest.raises(ValueError, match="normalized must be a bool or one of.*'energy'"):
        T.Spectrogram(normalized="energy")(rl.zeros(1000))
    with pytest.raises(ValueError, match=r"window must have shape \[400\].*got \[10\]"):
        F.spectrogram(rl.zeros(1000), 0, rl.ones(10), 400, 200, 400, 2.0, False)


def test_default_sizes():
    x = rl.from_numpy(noise(2, 500))
    window = F.hann_window(64, dtype=rl.float64)
    default = F.spectrogram(x, 0, window, 64, None, None, 2.0, False)
    assert rl.equal(default, F.spectrogram(x, 0, window, 64, 16, 64, 2.0, False))
    short = F.hann_window(41, dtype=rl.float64)
    ours = F.spectrogram(x, 0, short, 64, None, 41, None, False)
    expected, _ = by_fft(x[1].numpy(), 64, 16, 41)
    np.testing.assert_allclose(ours[1].numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("shape", [(0, 800), (2, 0, 800)])
def test_no_waveforms(shape):
    x = rl.zeros(shape)
    leading = shape[:-1]
    for center, frames in ((True, 5), (False, 3)):
        ours = T.Spectrogram(400, center=center)(x)
        assert ours.shape == (*leading, 201, frames)
        assert T.AmplitudeToDB(top_db=80)(ours).shape == ours.shape
    assert T.MelSpectrogram(n_mels=20)(x).shape == (*leading, 20, 5)
    assert T.MFCC(n_mfcc=5, melkwargs={"n_mels": 20})(x).shape == (*leading, 5, 5)


@pytest.mark.parametrize("shape", [(0,), (2, 0)])
def test_waveforms_without_samples(shape):
    x = rl.zeros(shape)
    with pytest.raises(ValueError, match="needs a longer waveform than 0 samples"):
        T.Spectrogram(400)(x)
    with pytest.raises(ValueError, match="n_fft=400 needs as many samples, the waveform has 0"):
        T.Spectrogram(400, center=False)(x)
    padded = T.Spectrogram(400, pad_mode="constant")(x)
    assert padded.shape == (*shape[:-1], 201, 1) and not padded.any()

"""Mel filters, the cosine transform and decibels against their formulas in NumPy."""

import numpy as np
import pytest

import rushlight as rl
from rushlight_audio import functional as F
from rushlight_audio import transforms as T


def noise(*shape):
    return np.random.default_rng(2).standard_normal(shape).astype(np.float32)


def to_mel(hz, scale):
    if scale == "htk":
        return 2595 * np.log10(1 + hz / 700)
    return hz * 3 / 200 if hz < 1000 else 15 + 27 * np.log(hz / 1000) / np.log(6.4)


def to_hz(mel, scale):
    if scale == "htk":
        return 700 * (10 ** (mel / 2595) - 1)
    return mel * 200 / 3 if mel < 15 else 1000 * 6.4 ** ((mel - 15) / 27)


def filters(n_freqs, f_min, f_max, n_mels, rate, norm, scale):
    """One triangle after the other, frequency by frequency."""
    edges = [
        to_hz(m, scale) for m in np.linspace(to_mel(f_min, scale), to_mel(f_max, scale), n_mels + 2)
    ]
    out = np.zeros((n_freqs, n_mels))
    for band in range(n_mels):
        low, middle, high = edges[band : band + 3]
        for place, hz in enumerate(np.linspace(0, rate // 2, n_freqs)):
            if low < hz < high:
                rising, falling = (hz - low) / (middle - low), (high - hz) / (high - middle)
                out[place, band] = min(rising, falling)
        if norm == "slaney":
            out[:, band] *= 2 / (high - low)
    return out


@pytest.mark.parametrize("scale", ["htk", "slaney"])
@pytest.mark.parametrize("norm", [None, "slaney"])
@pytest.mark.parametrize("case", [(201, 0.0, 8000.0, 23, 16000), (257, 300.0, 9000.0, 40, 22050)])
def test_filters_are_triangles_in_mel(case, norm, scale):
    ours = F.melscale_fbanks(*case, norm, scale)
    assert (ours.dtype, ours.shape) == (rl.float32, (case[0], case[3]))
    np.testing.assert_allclose(ours.numpy(), filters(*case, norm, scale), rtol=1e-5, atol=1e-7)


def test_slaney_filters_have_one_area():
    ours = F.melscale_fbanks(8001, 0.0, 8000.0, 20, 16000, "slaney", "slaney")
    np.testing.assert_allclose(ours.sum(0).numpy(), 1.0, rtol=1e-3)


def test_an_empty_filter_warns():
    with pytest.warns(UserWarning, match=r"n_mels .128. is too large, or n_freqs .201. too small"):
        F.melscale_fbanks(201, 0.0, 8000.0, 128, 16000)
    with pytest.warns(UserWarning):
        assert T.MelSpectrogram()(rl.zeros(2, 1600)).shape == (2, 128, 9)


@pytest.mark.parametrize("scale", ["htk", "slaney"])
def test_mel_spectrogram_is_filters_times_power(scale):
    x = noise(2, 4000)
    steps = T.MelSpectrogram(8000, n_fft=256, hop_length=100, n_mels=20, f_min=50.0, norm="slaney",
                             mel_scale=scale)  # fmt: skip
    assert list(steps.state_dict()) == ["spectrogram.window", "mel_scale.fb"]
    ours = steps(rl.from_numpy(x))
    padded = np.pad(x.astype(np.float64), ((0, 0), (128, 128)), mode="reflect")
    window = np.hanning(257)[:-1]
    frames = np.stack([padded[:, s : s + 256] * window for s in range(0, 4001, 100)], axis=1)
    power = np.abs(np.fft.rfft(frames)) ** 2
    expected = power @ filters(129, 50.0, 4000.0, 20, 8000, "slaney", scale)
    np.testing.assert_allclose(ours.numpy(), expected.swapaxes(1, 2), rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("norm", ["ortho", None])
def test_cosine_transform(norm):
    x = noise(4, 30)
    n, k = np.arange(30), np.arange(13)
    expected = 2 * x @ np.cos(np.pi * np.outer(2 * n + 1, k) / 60)
    if norm == "ortho":
        expected *= np.where(k == 0, np.sqrt(1 / 120), np.sqrt(1 / 60))
    matrix = F.create_dct(13, 30, norm)
    assert (matrix.dtype, matrix.shape) == (rl.float32, (30, 13))
    np.testing.assert_allclose((rl.from_numpy(x) @ matrix).numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("norm", ["ortho", None])
def test_cosine_transform_against_scipy(norm):
    fft = pytest.importorskip("scipy.fft")
    x = noise(4, 30)
    ours = rl.from_numpy(x) @ F.create_dct(30, 30, norm)
    np.testing.assert_allclose(ours.numpy(), fft.dct(x, type=2, norm=norm), atol=2e-5)


@pytest.mark.parametrize("log_mels", [False, True])
def test_mfcc(log_mels):
    x = rl.from_numpy(noise(3, 2, 4000))
    options = {"n_fft": 256, "hop_length": 100, "n_mels": 20}
    steps = T.MFCC(8000, n_mfcc=13, log_mels=log_mels, melkwargs=options)
    assert list(steps.state_dict()) == [
        "dct_mat",
        "MelSpectrogram.spectrogram.window",
        "MelSpectrogram.mel_scale.fb",
    ]
    mel = T.MelSpectrogram(8000, **options)(x).numpy().astype(np.float64)
    if log_mels:
        levels = np.log(mel + 1e-6)
    else:
        levels = 10 * np.log10(np.maximum(mel, 1e-10))
        levels = np.maximum(levels, levels.max(axis=(1, 2, 3), keepdims=True) - 80)
    n, k = np.arange(20), np.arange(13)
    matrix = np.cos(np.pi * np.outer(2 * n + 1, k) / 40) * np.where(k == 0, 0.05, 0.1) ** 0.5
    expected = np.einsum("abmt,mk->abkt", levels, matrix)
    ours = steps(x)
    assert ours.shape == (3, 2, 13, 41)
    np.testing.assert_allclose(ours.numpy(), expected, atol=2e-3)


def test_mfcc_learns_through():
    x = rl.from_numpy(noise(4000)).requires_grad_()
    T.MFCC(8000, 13, melkwargs={"n_fft": 256, "n_mels": 20})(x).square().mean().backward()
    assert rl.isfinite(x.grad).all() and x.grad.abs().max().item() > 0


@pytest.mark.parametrize(("stype", "factor"), [("power", 10), ("magnitude", 20)])
@pytest.mark.parametrize("shape", [(5, 7), (2, 5, 7), (3, 2, 5, 7)])
def test_decibels(stype, factor, shape):
    x = np.abs(noise(*shape)) ** 8
    x.flat[0] = 0.0
    ours = T.AmplitudeToDB(stype, top_db=60.0)(rl.from_numpy(x))
    expected = factor * np.log10(np.maximum(x, 1e-10))
    axes = tuple(range(max(len(shape) - 3, 0), len(shape)))
    expected = np.maximum(expected, expected.max(axis=axes, keepdims=True) - 60)
    np.testing.assert_allclose(ours.numpy(), expected, rtol=1e-5, atol=1e-4)
    plain = T.AmplitudeToDB(stype)(rl.from_numpy(x))
    assert plain.flatten()[0].item() == pytest.approx(-10.0 * factor)


def test_decibels_and_back():
    x = rl.from_numpy(np.abs(noise(5, 7)) + 0.1)
    power = F.DB_to_amplitude(T.AmplitudeToDB("power")(x), 1.0, 1.0)
    amplitude = F.DB_to_amplitude(T.AmplitudeToDB("magnitude")(x), 1.0, 0.5)
    np.testing.assert_allclose(power.numpy(), x.numpy(), rtol=1e-5)
    np.testing.assert_allclose(amplitude.numpy(), x.numpy(), rtol=1e-5)
    shifted = F.amplitude_to_DB(x, 10.0, 1e-10, 2.0)
    np.testing.assert_allclose(shifted.numpy(), 10 * np.log10(x.numpy()) - 20, rtol=1e-5)


def test_bad_input():
    with pytest.raises(ValueError, match="norm must be None or 'slaney', got 'area'"):
        F.melscale_fbanks(201, 0.0, 8000.0, 40, 16000, norm="area")
    with pytest.raises(ValueError, match="mel_scale must be one of .*got 'bark'"):
        T.MelScale(40, mel_scale="bark")
    with pytest.raises(ValueError, match="f_min 9000.0 must not exceed f_max 8000.0"):
        T.MelScale(40, f_min=9000.0)
    with pytest.raises(
        ValueError, match=r"shape \[..., 201, T\] \(n_stft=201\), got \[2, 100, 5\]"
    ):
        T.MelScale(40)(rl.zeros(2, 100, 5))
    with pytest.raises(ValueError, match="must not exceed the number of mel bands, 20; got 40"):
        T.MFCC(melkwargs={"n_mels": 20})
    with pytest.raises(ValueError, match="dct_type must be 2, got 3"):
        T.MFCC(dct_type=3)
    with pytest.raises(ValueError, match="norm must be None or 'ortho', got 'unit'"):
        F.create_dct(13, 40, "unit")
    with pytest.raises(ValueError, match="top_db must not be negative, got -1"):
        T.AmplitudeToDB(top_db=-1)
    with pytest.raises(ValueError, match="'power' or 'magnitude', got 'energy'"):
        T.AmplitudeToDB("energy")
    with pytest.raises(ValueError, match="onesided"):
        T.MelSpectrogram(onesided=False)


@pytest.mark.parametrize("scale", ["htk", "slaney"])
def test_frequencies_as_mels_and_back(scale):
    hertz = [0.0, 120.0, 999.0, 1000.0, 4321.5]
    mels = [F.functional._hz_to_mel(value, mel_scale=scale) for value in hertz]
    np.testing.assert_allclose(mels, [to_mel(value, scale) for value in hertz], rtol=1e-12)
    back = F.functional._mel_to_hz(rl.tensor(mels, dtype=rl.float64), mel_scale=scale)
    np.testing.assert_allclose(back.numpy(), hertz, rtol=1e-12, atol=1e-9)
    assert F.functional._hz_to_mel(700.0) == to_mel(700.0, "htk")


def test_an_unknown_scale_of_mels_is_refused():
    for function, value in (("_hz_to_mel", 1.0), ("_mel_to_hz", rl.ones(1))):
        with pytest.raises(ValueError, match=function + r".*'htk', 'slaney'.*got 'bark'"):
            getattr(F.functional, function)(value, mel_scale="bark")

"""Streams: what they give for pieces of any size is what their transforms give for the whole."""

import pytest

import rushlight as rl
from rushlight_audio import functional as F
from rushlight_audio import streaming
from rushlight_audio import transforms as T

EXACT = {"wkwargs": {"dtype": rl.float64}}
SHORT = {"n_fft": 64, "hop_length": 20, **EXACT}
PIECES = (1, 7, 64, 250, 5000)


def sound(*shape, seed=0):
    generator = rl.Generator().manual_seed(seed)
    return 0.3 * rl.randn(*shape, generator=generator, dtype=rl.float64)


WAVEFORMS = {
    "spectrogram": T.Spectrogram(**SHORT),
    "padded spectrogram": T.Spectrogram(**SHORT, pad=9, power=1.0, normalized=True),
    "spectrogram from the first sample": T.Spectrogram(**SHORT, center=False),
    "spectrogram of zeros around": T.Spectrogram(**SHORT, pad_mode="constant", power=None),
    "spectrogram of far frames": T.Spectrogram(n_fft=16, hop_length=70, **EXACT),
    "mel": T.MelSpectrogram(8000, n_mels=9, **SHORT),
    "mfcc": T.MFCC(8000, 5, log_mels=True, melkwargs={"n_mels": 9, **SHORT}),
    "lfcc": T.LFCC(8000, 9, n_lfcc=5, log_lf=True, speckwargs=SHORT),
    "centroid": T.SpectralCentroid(8000, **SHORT),
    "volume": T.Vol(2.5),
    "mu-law": T.MuLawEncoding(64),
    "levels": T.MuLawDecoding(64),
    "decibels": T.AmplitudeToDB(),
    "preemphasis": T.Preemphasis(0.9),
    "deemphasis": T.Deemphasis(0.95),
    "fade": T.Fade(100, 300, "half_sine"),
    "overlapping fades": T.Fade(700, 900),
    "down": T.Resample(441, 160, dtype=rl.float64),
    "up": T.Resample(2, 7, dtype=rl.float64),
    "half": T.Resample(2, 1, dtype=rl.float64),
    "large rates": T.Resample(10007, 9973, dtype=rl.float64),
    "same rate": T.Resample(5, 5),
    "chain": rl.nn.Sequential(
        T.Preemphasis(),
        T.Resample(2, 1, dtype=rl.float64),
        T.Spectrogram(**SHORT),
        T.AmplitudeToDB(),
    ),
}


@pytest.mark.parametrize("size", PIECES)
@pytest.mark.parametrize("name", WAVEFORMS)
def test_pieces_of_a_waveform(name, size):
    transform = WAVEFORMS[name].double()
    x = sound(1100)
    opened = streaming.stream(transform)
    expected = transform(x)
    for _ in range(2):  # a finished stream begins anew
        found = opened.run(x.split(size))
        rl.testing.assert_close(found, expected, atol=1e-9, rtol=1e-9)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize("name", ["mel", "fade", "down", "deemphasis", "chain", "centroid"])
def test_batches(name):
    transform = WAVEFORMS[name].double()
    x = sound(2, 3, 1000)
    found = streaming.stream(transform).run(x.split(130, -1))
    rl.testing.assert_close(found, transform(x), atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("size", (1, 2, 5, 40))
@pytest.mark.parametrize(
    "transform",
    [
        T.ComputeDeltas(),
        T.ComputeDeltas(9, "constant"),
        T.MelScale(4, 8000, n_stft=17),
        T.InverseMelScale(17, 5, 8000),
    ],
    ids=["deltas", "wide deltas", "mel scale", "inverse mel scale"],
)
def test_pieces_of_frames(transform, size):
    rows = 5 if isinstance(transform, T.InverseMelScale) else 17
    x = sound(2, rows, 40).abs()
    found = streaming.stream(transform.double()).run(x.split(size, -1))
    rl.testing.assert_close(found, transform(x), atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("size", (1, 3, 10, 60))
@pytest.mark.parametrize("frames", (5, 12, 60))
@pytest.mark.parametrize("center", (False, True))
@pytest.mark.parametrize("window", (10, 11))
def test_moving_means(window, center, frames, size):
    transform = T.SlidingWindowCmn(window, 4, center, True)
    x = sound(2, frames, 3)
    opened = streaming.stream(transform)
    found = opened.run(x.split(size, -2))
    rl.testing.assert_close(found, transform(x), atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("size", (1, 4, 30))
@pytest.mark.parametrize("options", ({}, {"normalized": True}, {"normalized": "frame_length"}))
def test_sound_from_pieces_of_frames(options, size):
    spectrum = T.Spectrogram(64, hop_length=16, power=None, **EXACT, **options)(sound(2, 500))
    transform = T.InverseSpectrogram(64, hop_length=16, **EXACT, **options)
    found = streaming.stream(transform).run(spectrum.split(size, -1))
    rl.testing.assert_close(found, transform(spectrum), atol=1e-9, rtol=1e-9)
    rl.testing.assert_close(found, sound(2, 500)[..., : found.shape[-1]], atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("size", (1, 2, 7, 60))
@pytest.mark.parametrize("rate", (0.7, 1.0, 1.3, 2.5))
def test_stretched_frames(rate, size):
    frames = rl.complex(sound(2, 9, 40), sound(2, 9, 40, seed=1))
    transform = T.TimeStretch(8, 9, rate).double()
    found = streaming.stream(transform).run(frames.split(size, -1))
    rl.testing.assert_close(found, transform(frames), atol=1e-9, rtol=1e-9)
    with pytest.raises(ValueError, match="needs a fixed_rate"):
        streaming.stream(T.TimeStretch(8, 9))


@pytest.mark.parametrize("size", (10, 333, 5000))
@pytest.mark.parametrize("steps", (4, 0, -7))
def test_shifted_pitches(steps, size):
    x = sound(2, 1500)
    transform = T.PitchShift(800, steps, n_fft=64, **EXACT)
    expected = F.pitch_shift(x, 800, steps, n_fft=64, window=transform.window)
    found = streaming.stream(transform).run(x.split(size, -1))
    rl.testing.assert_close(found, expected, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("size", (1, 50, 999))
@pytest.mark.parametrize("taps", (1, 2, 5))
def test_filters(taps, size):
    a = rl.cat([rl.tensor([2.0]).double(), 0.4 * sound(taps - 1)])
    b, x = sound(taps, seed=1), sound(2, 999)
    found = streaming.FilterStream(a, b, clamp=False).run(x.split(size, -1))
    rl.testing.assert_close(found, F.lfilter(x, a, b, clamp=False), atol=1e-12, rtol=1e-9)
    single = streaming.FilterStream(a, b).run(x.float().split(size, -1))
    rl.testing.assert_close(single, F.lfilter(x.float(), a.float(), b.float()))


@pytest.mark.parametrize("size", (1, 50, 999))
def test_convolution(size):
    x, impulse = sound(2, 999), sound(40)
    found = streaming.stream(T.FFTConvolve(), impulse).run(x.split(size, -1))
    expected = F.convolve(x, impulse.expand(2, -1))
    rl.testing.assert_close(found, expected, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("size", (100, 1000, 16000))
def test_silence_is_trimmed(size):
    time = rl.arange(16000) / 8000
    voice = sum(rl.sin(2 * rl.pi * 120 * k * time) / k for k in range(1, 12))
    x = 0.01 * sound(16000).float() + 0.2 * voice * (time > 0.9)
    transform = T.Vad(8000, pre_trigger_time=0.05, search_time=0.5)
    expected = transform(x)
    assert 8000 < len(expected) < 11000
    rl.testing.assert_close(streaming.stream(transform).run(x.split(size)), expected)
    two = rl.stack([x, x.flip(0) * 0.001])
    opened = streaming.stream(transform)
    rl.testing.assert_close(opened.run(two.split(size, -1)), transform(two))
    assert opened.run(rl.zeros(5000).split(size)).shape == (0,)


def test_speeds():
    x = sound(900).float()
    found = streaming.stream(T.Speed(100, 1.25)).run(x.split(100))
    rl.testing.assert_close(found, T.Speed(100, 1.25)(x)[0])
    rl.manual_seed(3)
    perturbed = streaming.stream(T.SpeedPerturbation(100, [0.8, 1.0, 1.25])).run(x.split(100))
    rl.manual_seed(3)
    rl.testing.assert_close(perturbed, T.SpeedPerturbation(100, [0.8, 1.0, 1.25])(x)[0])


def test_frames_come_as_soon_as_their_samples():
    opened = streaming.stream(T.Spectrogram(64, hop_length=16))
    counts = [opened.push(piece).shape[-1] for piece in sound(160).float().split(16)]
    # Frame t ends at sample 16 t + 32.
    assert counts == [0, 0, 2, 1, 1, 1, 1, 1, 1, 1]
    assert opened.finish().shape[-1] == 2


def test_memory_is_that_of_a_frame():
    opened = streaming.stream(T.MelSpectrogram(8000, n_fft=64, n_mels=5))
    resampled = streaming.stream(T.Resample(441, 160))
    for _ in range(200):
        opened.push(rl.randn(100))
        resampled.push(rl.randn(100))
    assert opened._buffer.shape[-1] < 300
    assert resampled._buffer.shape[-1] < 3000


@pytest.mark.parametrize(
    "transform, what",
    [
        (T.MFCC(8000), "log_mels=True"),
        (T.AmplitudeToDB(top_db=80.0), "top_db=None"),
        (T.Loudness(8000), "Loudness needs the whole sound; there are streams of AmplitudeToDB"),
        (T.Spectrogram(pad_mode="circular"), "pad_mode 'circular'"),
        (T.ComputeDeltas(mode="reflect"), "mode 'reflect'"),
        (T.InverseSpectrogram(64, hop_length=48), "hop_length 48"),
    ],
)
def test_what_needs_the_whole(transform, what):
    with pytest.raises(NotImplementedError, match=what):
        streaming.stream(transform)


def test_misuse():
    with pytest.raises(RuntimeError, match="nothing was pushed"):
        streaming.stream(T.Vol(1.0)).finish()
    with pytest.raises(ValueError, match="needs an impulse"):
        streaming.stream(T.Convolve())
    with pytest.raises(ValueError, match="no streams"):
        streaming.stream(rl.nn.Sequential())
    with pytest.raises(ValueError, match="must both have shape"):
        streaming.FilterStream(rl.ones(2), rl.ones(3))
    with pytest.raises(RuntimeError, match="longer than the waveform"):
        streaming.stream(T.Fade(5, 9)).run([rl.ones(6)])

"""Odd inputs: a clear error or a result, whatever the function."""

import inspect

import pytest

import rushlight as rl
from rushlight_audio import functional as F
from rushlight_audio import transforms as T

INPUTS = {
    "no samples": rl.zeros(0),
    "no samples of channels": rl.zeros(2, 0),
    "no channels": rl.zeros(0, 50),
    "one sample": rl.ones(1),
    "a sample a channel": rl.ones(2, 1),
    "NaN": rl.full((2, 50), rl.nan),
    "infinity": rl.full((2, 50), rl.inf),
    "silence": rl.zeros(2, 50),
    "huge": rl.full((2, 50), 3e38),
}
WINDOW = rl.hann_window(16)
ONE = rl.tensor([1.0, 0.2])
MORE = {
    "DB_to_amplitude": (1.0, 0.5),
    "amplitude_to_DB": (10.0, 1e-10, 0.0, 80.0),
    "biquad": (1.0, 0.2, 0.1, 1.0, 0.1, 0.1),
    "dcshift": (0.1, 0.05),
    "deemph_biquad": (44100,),
    "detect_pitch_frequency": (1000, 0.01, 2),
    "filtfilt": (ONE, ONE),
    "griffinlim": (WINDOW, 16, 4, 16, 2.0, 2, 0.5, None, False),
    "lfilter": (ONE, ONE),
    "loudness": (100,),
    "mask_along_axis": (3, 0.0, 1),
    "mask_along_axis_iid": (3, 0.0, 1),
    "mu_law_decoding": (16,),
    "mu_law_encoding": (16,),
    "pitch_shift": (8000, 3, 12, 16),
    "resample": (3, 2),
    "riaa_biquad": (44100,),
    "spectral_centroid": (8000, 0, WINDOW, 16, 4, 16),
    "spectrogram": (0, WINDOW, 16, 4, 16, 2.0, False),
    "speed": (10, 1.5),
    "vad": (2000,),
}
FILTERS = {
    name: (8000, 1000.0) if name != "equalizer_biquad" else (8000, 1000.0, 3.0)
    for name in F.filtering.__all__
    if name.endswith("_biquad") and name not in MORE
}
ALONE = ("compute_deltas", "contrast", "deemphasis", "dither", "gain", "overdrive", "preemphasis")
CALLS = {
    **{name: (getattr(F, name), options) for name, options in {**MORE, **FILTERS}.items()},
    **{name: (getattr(F, name), ()) for name in ALONE},
    "flanger": (F.flanger, (8000,)),
    "phaser": (F.phaser, (8000,)),
    "sliding_window_cmn": (F.sliding_window_cmn, (5, 2)),
    "convolve": (lambda x: F.convolve(x, x), ()),
    "fftconvolve": (lambda x: F.fftconvolve(x, x), ()),
    "add_noise": (lambda x: F.add_noise(x, x, rl.ones(x.shape[:-1])), ()),
    "Fade": (T.Fade(1, 1), ()),
    "MFCC": (T.MFCC(8000, 3, melkwargs={"n_fft": 16, "n_mels": 3}), ()),
    "LFCC": (T.LFCC(8000, 3, n_lfcc=2, speckwargs={"n_fft": 16}), ()),
    "Vol": (T.Vol(0.5), ()),
}
CLEAR = (TypeError, ValueError, RuntimeError, NotImplementedError)


@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("name", CALLS)
def test_a_clear_error_or_a_result(name, given):
    call, options = CALLS[name]
    before = INPUTS[given].clone()
    try:
        found = call(INPUTS[given], *options)
    except CLEAR as error:
        assert len(str(error)) > 20
        assert given not in ("NaN", "infinity", "silence", "huge") or name in UNSUITED, str(error)
    else:
        found = found[0] if isinstance(found, tuple) else found
        assert isinstance(found, rl.Tensor)
    assert rl.equal(before.isnan(), INPUTS[given].isnan())
    assert rl.equal(before.nan_to_num(), INPUTS[given].nan_to_num())


UNSUITED = (
    "griffinlim",
    "mask_along_axis_iid",
)  # [2, 50] is no spectrogram of these sizes, no batch


def test_no_channels_for_long():
    assert F.vad(rl.zeros(0, 9000), 2000).shape == (0, 0)


@pytest.mark.parametrize("rate", [1, 10_000_000])
def test_odd_rates(rate):
    x = rl.randn(2, 3000)
    assert F.lowpass_biquad(x, rate, 0.3).shape == x.shape
    assert F.resample(x, rate, 7)[..., :1].shape[0] == 2
    assert T.MelSpectrogram(rate, 64, n_mels=2)(x).shape[1] == 2


@pytest.mark.parametrize("value", [None, "abc", [0.1, 0.2], rl.arange(50).reshape(1, 50)])
@pytest.mark.parametrize("name", sorted(set(F.filtering.__all__) - {"vad", "equalizer_biquad"}))
def test_what_is_no_waveform(name, value):
    function = getattr(F, name)
    required = [
        each for each in list(inspect.signature(function).parameters.values())[1:]
        if each.default is each.empty
    ]  # fmt: skip
    options = MORE.get(name, (44100, 1000.0))[: len(required)]
    with pytest.raises(TypeError, match="argument 'waveform' must be"):
        function(value, *options)


@pytest.mark.parametrize("dtype", [rl.float16, rl.bfloat16])
@pytest.mark.parametrize(
    "name", ["Spectrogram", "MelSpectrogram", "MFCC", "LFCC", "SpectralCentroid"]
)
def test_spectrograms_of_half_width_are_float32(name, dtype):
    options = {
        "Spectrogram": {"n_fft": 64},
        "MelSpectrogram": {"n_fft": 64, "n_mels": 8},
        "MFCC": {"n_mfcc": 5, "melkwargs": {"n_fft": 64, "n_mels": 8}},
        "LFCC": {"n_filter": 9, "n_lfcc": 5, "speckwargs": {"n_fft": 64}},
        "SpectralCentroid": {"sample_rate": 8000, "n_fft": 64},
    }[name]
    transform, x = getattr(T, name)(**options), rl.randn(2, 400).to(dtype)
    found = transform(x)
    assert found.dtype == rl.float32
    assert rl.allclose(found, transform(x.float()), rtol=1e-4, atol=1e-4)

"""Models that begin with a spectrogram as ONNX, run by ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as rl
import rushlight_audio as rl_audio
import rushlight_audio.transforms as T  # noqa: N812 - the package's usual name

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
runtime.set_default_logger_severity(4)

MEL = {"n_fft": 256, "n_mels": 20}
MODELS = {
    "power": lambda: T.Spectrogram(n_fft=256),
    "amplitude": lambda: T.Spectrogram(n_fft=400, power=1.0),
    "mel": lambda: T.MelSpectrogram(**MEL),
    "decibels": lambda: rl.nn.Sequential(T.MelSpectrogram(**MEL), T.AmplitudeToDB()),
    "mfcc": lambda: T.MFCC(n_mfcc=10, melkwargs=MEL),
    "lfcc": lambda: T.LFCC(),
    "convolution": lambda: _Convolved(),
    "centroid": lambda: T.SpectralCentroid(16000, n_fft=256),
}


class _Applied(rl.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


F = rl_audio.functional
FILTERED = {
    "deemphasis": T.Deemphasis,
    "loudness": lambda: T.Loudness(16000),
    "low": lambda: _Applied(lambda x: F.lowpass_biquad(x, 16000, 3000.0)),
    "high": lambda: _Applied(lambda x: F.highpass_biquad(x, 16000, 40.0)),
    "treble": lambda: _Applied(lambda x: F.treble_biquad(x, 16000, 3.0)),
    "equalizer": lambda: _Applied(lambda x: F.equalizer_biquad(x, 16000, 1000.0, 6.0)),
    "twice": lambda: _Applied(
        lambda x: F.filtfilt(x, rl.tensor([1.0, -0.5, 0.2]), rl.tensor([0.5, 0.1, 0.0]))
    ),
}


@pytest.mark.parametrize("name", FILTERED)
def test_filters_of_a_second_of_sound(name):
    rl.manual_seed(0)
    model, wave = FILTERED[name]().eval(), rl.randn(2, 16000) * 0.2
    (found,) = rl.onnx.export(model, (wave,))(wave * 0.9)
    np.testing.assert_allclose(found.numpy(), model(wave * 0.9).numpy(), rtol=0, atol=1e-4)


@pytest.mark.filterwarnings("ignore:melscale_fbanks")
@pytest.mark.parametrize("driver", ["gels", "gelsd"])
def test_spectrograms_of_mel_bands(driver):
    rl.manual_seed(0)
    model, bands = T.InverseMelScale(65, 20, 16000, driver=driver), rl.rand(2, 20, 30)
    shapes = ({0: rl.export.Dim("batch"), 2: rl.export.Dim("frames")},)
    program = rl.onnx.export(model, (bands,), dynamic_shapes=shapes)
    for given in (bands, rl.rand(5, 20, 77)):
        expected = model(given)
        assert expected.abs().max() > 1
        np.testing.assert_allclose(program(given)[0].numpy(), expected.numpy(), rtol=0, atol=1e-4)


class _Convolved(rl.nn.Module):
    def forward(self, x):
        return rl_audio.functional.fftconvolve(x, x[:, :700])


@pytest.mark.parametrize("name", MODELS)
def test_spectrograms_run_in_onnx_runtime(name):
    rl.manual_seed(0)
    model, wave = MODELS[name]().eval(), rl.randn(2, 4000)
    expected = model(wave)
    (found,) = rl.onnx.export(model, (wave,))(wave)
    scale = expected.abs().max().item()
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=0, atol=1e-5 * scale)


def test_mel_spectrograms_of_any_length():
    rl.manual_seed(0)
    model = T.MelSpectrogram(16000, 400, hop_length=160, n_mels=40)
    shapes = {"waveform": {1: rl.export.Dim("time", min=400, max=100000)}}
    program = rl.onnx.export(model, (rl.randn(2, 2000),), dynamic_shapes=shapes)
    for length in (400, 1119, 1120, 1121, 2000, 16000):
        wave = rl.randn(2, length)
        expected = model(wave)
        scale = expected.abs().max().item()
        np.testing.assert_allclose(
            program(wave)[0].numpy(), expected.numpy(), rtol=0, atol=1e-5 * scale
        )


def test_another_pitch():
    rl.manual_seed(0)
    model, wave = T.PitchShift(16000, 2, n_fft=256), rl.randn(2, 4000)
    expected = model(wave)
    (found,) = rl.onnx.export(model, (wave,))(wave)
    # phases are sums over frames: what is rounded adds up
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=0, atol=3e-3)


def test_phases_are_found_for_any_number_of_frames():
    rl.manual_seed(0)
    model = T.GriffinLim(n_fft=64, n_iter=3, rand_init=False)
    shapes = {"specgram": {2: rl.export.Dim("frames", min=8, max=4000)}}
    program = rl.onnx.export(model, (rl.rand(2, 33, 20),), dynamic_shapes=shapes)
    for frames in (20, 21, 300):
        magnitudes = rl.rand(2, 33, frames)
        expected = model(magnitudes)
        (found,) = program(magnitudes)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", ["phaser", "flanger"])
def test_effects_with_feedback_that_changes(name):
    rl.manual_seed(0)
    options = {"regen": 50.0} if name == "flanger" else {"decay": 0.8}
    model = _Applied(lambda x: getattr(F, name)(x, 8000, **options))
    shapes = ({1: rl.export.Dim("time", min=100)},)
    program = rl.onnx.export(model, (rl.rand(2, 2000) - 0.5,), dynamic_shapes=shapes)
    for length in (2000, 300, 9000):
        wave = rl.rand(2, length) - 0.5
        expected = model(wave)
        assert (expected - wave).abs().max() > 0.1
        np.testing.assert_allclose(program(wave)[0].numpy(), expected.numpy(), rtol=0, atol=1e-6)


def test_the_detector_of_speech_says_what_to_do_instead():
    x = (rl.rand(1, 8000) - 0.5,)
    for export in (rl.onnx.export, rl.export.export):
        with pytest.raises(NotImplementedError, match="Trim before the exported model is called"):
            export(T.Vad(8000), x)

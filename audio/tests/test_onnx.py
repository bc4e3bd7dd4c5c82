"""Models that begin with a spectrogram as ONNX, run by ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as rl
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
    "centroid": lambda: T.SpectralCentroid(16000, n_fft=256),
}


@pytest.mark.parametrize("name", MODELS)
def test_spectrograms_run_in_onnx_runtime(name):
    rl.manual_seed(0)
    model, wave = MODELS[name]().eval(), rl.randn(2, 4000)
    expected = model(wave)
    (found,) = rl.onnx.export(model, (wave,))(wave)
    scale = expected.abs().max().item()
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=0, atol=1e-5 * scale)

"""Complex numbers between inputs and outputs: pairs of real values in ONNX."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as rl
from rushlight import fft

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
runtime.set_default_logger_severity(4)


class Model(rl.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def arithmetic(x):
    f = fft.fft(x[:, :50])
    return (f * f.conj()).abs() + f.angle() + f.real - f.imag + (f / (f + 3)).abs()


FUNCTIONS = {
    "pairs": lambda x: rl.view_as_real(fft.fft(x[:, :50])),
    "half and back": lambda x: fft.irfft(fft.rfft(x[:, :50]), 50),
    "odd, scaled": lambda x: fft.irfft(fft.rfft(x[:, :51] * 2) * (2 + 1j), 51),
    "ortho": lambda x: fft.ifft(fft.fft(x[:, :51], norm="ortho"), norm="ortho").real,
    "forward": lambda x: fft.rfft(x[:, :16], norm="forward").abs(),
    "arithmetic": arithmetic,
    "two dimensions": lambda x: fft.fft2(x[:, :64].reshape(2, 8, 8)).abs(),
    "halves of two": lambda x: fft.irfft2(fft.rfft2(x[:, :64].reshape(2, 8, 8)) * 2),
    "cut and filled": lambda x: fft.rfft(x[:, :64], 100).abs() + fft.rfft(x, 100).abs(),
    "joined": lambda x: rl.cat([fft.fft(x[:, :50]), fft.ifft(x[:, :50])]).abs(),
    "polar": lambda x: rl.view_as_real(rl.polar(x.abs(), x)),
    "rotations": lambda x: rl.view_as_real(
        rl.view_as_complex(x.reshape(2, 50, 2, 2)) * rl.polar(rl.ones(2), rl.arange(2.0))
    ),
    "stft": lambda x: rl.stft(
        x, 64, 16, 48, rl.hann_window(48), return_complex=True
    ).abs().square(),
    "stft, both sides": lambda x: rl.view_as_real(
        rl.stft(x, 32, return_complex=True, onesided=False, center=False, normalized=True)
    ),
}  # fmt: skip


@pytest.mark.parametrize("opset", [13, 20])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_runs_in_onnx_runtime(name, opset):
    rl.manual_seed(0)
    x = rl.randn(2, 200)
    model = Model(FUNCTIONS[name])
    expected = model(x)
    (found,) = rl.onnx.export(model, (x,), opset_version=opset)(x)
    scale = expected.abs().max().item()
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=0, atol=2e-6 * scale)


def test_constants_may_be_complex():
    x, factor = rl.randn(3), rl.tensor([1 + 2j, 3j, 0.5])
    model = Model(lambda x: (x * factor).abs())
    (found,) = rl.onnx.export(model, (x,))(x)
    np.testing.assert_allclose(found.numpy(), model(x).numpy(), rtol=1e-6)


def test_batches_may_have_any_size():
    model = Model(lambda x: rl.stft(x, 32, return_complex=True).abs())
    shapes = {"x": {0: rl.export.Dim("batch")}}
    program = rl.onnx.export(model, (rl.randn(3, 100),), dynamic_shapes=shapes)
    x = rl.randn(5, 100)
    np.testing.assert_allclose(program(x)[0].numpy(), model(x).numpy(), atol=2e-5)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("hop", [16, 100, 160])
def test_spectrograms_may_have_any_length(hop, center):
    rl.manual_seed(0)
    window = rl.hann_window(200)
    model = Model(
        lambda x: rl.stft(x, 256, hop, 200, window, center, return_complex=True).abs()
    )  # fmt: skip
    shapes = {"x": {1: rl.export.Dim("time", min=256, max=100000)}}
    program = rl.onnx.export(model, (rl.randn(2, 1000),), dynamic_shapes=shapes)
    for length in (256, 257, 319, 320, 321, 416, 455, 456, 457, 1000, 9999, 16000):
        x = rl.randn(2, length)
        np.testing.assert_allclose(program(x)[0].numpy(), model(x).numpy(), atol=1e-4)


OPTIONS = [
    {"center": center, "pad_mode": mode, "normalized": normalized, "onesided": onesided}
    for center, mode in [(False, "reflect"), (True, "reflect"), (True, "constant"),
                         (True, "replicate"), (True, "circular")]
    for normalized in (False, True) for onesided in (False, True)
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("size", [None, 50, 64])
def test_spectrograms_with_all_options(options, size):
    rl.manual_seed(0)
    window = None if size is None else rl.hann_window(size)
    model = Model(lambda x: rl.view_as_real(
        rl.stft(x, 64, 20, size, window, return_complex=True, **options)
    ))  # fmt: skip
    for x in (rl.randn(300), rl.randn(2, 300)):
        (found,) = rl.onnx.export(model, (x,), opset_version=20)(x)
        np.testing.assert_allclose(found.numpy(), model(x).numpy(), rtol=0, atol=5e-5)


def test_ends_of_a_model_are_real():
    with pytest.raises(rl.onnx.OnnxExporterError, match="give its view_as_real"):
        rl.onnx.export(Model(fft.fft), (rl.randn(4),))
    with pytest.raises(rl.onnx.OnnxExporterError, match="input 'x' is complex"):
        rl.onnx.export(Model(rl.abs), (rl.randn(4, dtype=rl.complex64),))


def test_what_has_no_pairs_says_so():
    with pytest.raises(rl.onnx.OnnxExporterError, match="4099 points"):
        rl.onnx.export(Model(lambda x: fft.fft(x).abs()), (rl.randn(4099),))
    with pytest.raises(rl.onnx.OnnxExporterError, match="tan"):
        rl.onnx.export(Model(lambda x: fft.fft(x).tan().abs()), (rl.randn(8),))

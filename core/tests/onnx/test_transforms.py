"""Fourier transforms of many points and signals from spectrograms, in ONNX Runtime."""

import numpy as np
import pytest

import rushlight
from rushlight import fft, nn, view_as_complex, view_as_real
from rushlight.export import Dim
from rushlight.onnx.errors import OnnxExporterError

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def drawn(*shape):
    return rushlight.randn(*shape, generator=rushlight.Generator().manual_seed(len(shape)))


def compare(model, path, x, *others, **options):
    """A model's values in ONNX Runtime and here, relative to the largest."""
    rushlight.onnx.export(model.eval(), (x,), path, dynamo=True, **options)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for each in (x, *others):
        expected = model(each).numpy()
        (found,) = session.run(None, {session.get_inputs()[0].name: each.numpy()})
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * np.abs(expected).max())


TRANSFORMS = {
    "rfft": lambda n: (lambda x: view_as_real(fft.rfft(x)), drawn(2, n)),
    "rfft along the first": lambda n: (lambda x: view_as_real(fft.rfft(x, dim=0)), drawn(n, 3)),
    "fft": lambda n: (
        lambda x: view_as_real(fft.fft(view_as_complex(x), norm="ortho")), drawn(2, n, 2)
    ),
    "ifft": lambda n: (lambda x: view_as_real(fft.ifft(view_as_complex(x))), drawn(2, n, 2)),
    "irfft": lambda n: (lambda x: fft.irfft(view_as_complex(x), n=n), drawn(2, n // 2 + 1, 2)),
    "padded": lambda n: (lambda x: view_as_real(fft.rfft(x, n=n)), drawn(2, n - n // 3)),
    "cut": lambda n: (lambda x: view_as_real(fft.rfft(x, n=n)), drawn(2, n + n // 3)),
}  # fmt: skip


@pytest.mark.parametrize("n", [60, 63, 4096, 4095, 6000])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name, n, tmp_path):
    function, x = TRANSFORMS[name](n)
    compare(Calls(function), tmp_path / "model.onnx", x)


def test_sizes_with_a_large_prime_factor_are_refused(tmp_path):
    model = Calls(lambda x: view_as_real(fft.rfft(x)))
    with pytest.raises(OnnxExporterError, match="4099 points, 1 times 4099: expected a product"):
        rushlight.onnx.export(model, (drawn(2, 4099),), tmp_path / "model.onnx", dynamo=True)


class Signal(nn.Module):
    def __init__(self, window, n_fft=64, hop=16, win_length=None, **options):
        super().__init__()
        self.register_buffer("window", window)
        self.lengths, self.options = (n_fft, hop, win_length), options

    def forward(self, x):
        spectra = view_as_complex(x)
        return rushlight.istft(spectra, *self.lengths, window=self.window, **self.options)


SIGNALS = {
    "as it is": Signal(rushlight.hann_window(64)),
    "normalized": Signal(rushlight.hann_window(64), normalized=True),
    "cut": Signal(rushlight.hann_window(64), length=100),
    "a short window": Signal(rushlight.hann_window(48), win_length=48),
    "not centred": Signal(rushlight.hamming_window(64), center=False),
    "another hop": Signal(rushlight.hann_window(64), hop=21),
}


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("shape", [(33,), (2, 33)])
def test_signals_of_any_number_of_frames(name, shape, tmp_path):
    frames = len(shape)
    examples = [drawn(*shape, count, 2) for count in (20, 21, 33, 400)]
    shapes = {"x": {frames: Dim("frames", min=8, max=4000)}}
    compare(SIGNALS[name], tmp_path / "model.onnx", *examples, dynamic_shapes=shapes)


def test_complex_numbers_that_are_made(tmp_path):
    def made(x):
        size, kind = tuple(x.shape), rushlight.complex64
        ones = rushlight.ones(size, dtype=kind)
        filled = rushlight.full(size, 2 - 3j, dtype=kind)
        return view_as_real(x * ones + filled + rushlight.zeros(size, dtype=kind))

    compare(Calls(made), tmp_path / "model.onnx", drawn(2, 3))

"""Models whose sizes are compared with lengths of the program, at sizes far beyond these."""

import numpy as np
import pytest

import rushlight
from rushlight import nn
from rushlight.export import Dim

runtime = pytest.importorskip("onnxruntime")
SIZES = (600, 601, 1203, 2999, 3001, 4999, 5000, 5003, 5004, 11000, 19999)


class Windows(nn.Module):
    def __init__(self, length, step):
        super().__init__()
        self.length, self.step = length, step

    def forward(self, x):
        windows = x.unfold(1, self.length, self.step)
        return windows.sum(-1).sum(1) + x[:, 0], windows.amax(1)


class Ends(nn.Module):
    def forward(self, x):
        return (2 * x[:, :5000]).amax(1), x[:, 3000:], nn.functional.max_pool1d(x, 4, 700)


class Spectra(nn.Module):
    def forward(self, x):
        window = rushlight.hann_window(512)
        return rushlight.stft(x, 512, 2000, window=window, return_complex=True).abs()


MODELS = {
    **{f"windows of {k} every {step}": Windows(k, step)
       for k, step in ((4, 64), (400, 160), (4, 500), (4, 5000))},
    "ends": Ends(),
    "spectra": Spectra(),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_values_at_sizes_beyond_all_lengths(name, tmp_path):
    model, path = MODELS[name].eval(), tmp_path / "model.onnx"
    shapes = {"x": {1: Dim("n", min=600, max=20000)}}
    example = (rushlight.zeros(2, 600),)
    rushlight.onnx.export(model, example, path, dynamic_shapes=shapes, dynamo=True)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for n in SIZES:
        x = rushlight.randn(2, n, generator=rushlight.Generator().manual_seed(n))
        found = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        expected = model(x)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for ours, theirs in zip(expected, found, strict=True):
            assert tuple(ours.shape) == theirs.shape
            np.testing.assert_allclose(theirs, ours.numpy(), rtol=1e-4, atol=1e-3)

"""LSTM layers whose outputs are projected, step by step in ONNX, which has no such layer."""

import numpy as np
import pytest

import rushlight

runtime = pytest.importorskip("onnxruntime")
UNSUPPORTED = rushlight.onnx.errors.UnsupportedOperatorError


class Layer(rushlight.nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.layer = rushlight.nn.LSTM(4, 6, proj_size=3, **options)

    def forward(self, x):
        found, (hidden, cells) = self.layer(x)
        return found, hidden, cells


@pytest.mark.parametrize(
    "options", [{}, {"num_layers": 2, "bidirectional": True, "batch_first": True}]
)
def test_values(options, tmp_path):
    rushlight.manual_seed(0)
    model, x, path = Layer(**options).eval(), rushlight.rand(5, 2, 4), tmp_path / "model.onnx"
    rushlight.onnx.export(model, (x,), path)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    found = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    for ours, theirs in zip(model(x), found, strict=True):
        np.testing.assert_allclose(theirs, ours.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_lengths_that_may_differ_are_refused(tmp_path):
    model, x = Layer().eval(), rushlight.rand(5, 2, 4)
    with pytest.raises(UNSUPPORTED, match="the number of operators differs between sizes"):
        rushlight.onnx.export(
            model, (x,), tmp_path / "model.onnx", input_names=["x"], dynamic_axes={"x": {0: "t"}}
        )

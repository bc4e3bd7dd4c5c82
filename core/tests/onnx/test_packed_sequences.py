"""Models over packed sequences in ONNX, at batches and lengths of their own."""

import numpy as np
import packed_models
import pytest
from packed_models import CASES

import rushlight

runtime = pytest.importorskip("onnxruntime")
SHAPES = ((3, 6), (5, 9), (1, 2))


def agree(session, model, values):
    names = [i.name for i in session.get_inputs()]
    given = {name: v.numpy() for name, v in zip(names, values, strict=True)}
    for ours, theirs in zip(model(*values), session.run(None, given), strict=True):
        assert tuple(ours.shape) == theirs.shape
        np.testing.assert_allclose(theirs, ours.detach().numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("opset", [17, None])
@pytest.mark.parametrize("name", CASES)
def test_values(name, opset, tmp_path):
    case, path = CASES[name], tmp_path / "model.onnx"
    model = packed_models.encoder(rushlight, **case)
    given = [packed_models.tokens(rushlight, case, *shape, i) for i, shape in enumerate(SHAPES)]
    dims = {0: "batch", 1: "steps"} if case.get("batch_first", True) else {0: "steps", 1: "batch"}
    rushlight.onnx.export(
        model, given[0], path, input_names=["tokens", "lengths"], opset_version=opset,
        dynamic_axes={"tokens": dims, "lengths": {0: "batch"}},
    )  # fmt: skip
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for values in given:
        agree(session, model, values)


def test_states_that_are_given_are_sorted_with_the_batch(tmp_path):
    model, path = packed_models.decoder(rushlight), tmp_path / "model.onnx"
    lengths = (rushlight.tensor([2, 5, 3]), rushlight.tensor([1, 3, 2, 4, 1]))
    given = [(rushlight.randn(len(n), 5, 4), n, rushlight.randn(len(n), 3)) for n in lengths]
    rushlight.onnx.export(
        model, given[0], path, input_names=["x", "lengths", "context"],
        dynamic_axes={"x": {0: "batch", 1: "steps"}, "lengths": {0: "batch"},
                      "context": {0: "batch"}},
    )  # fmt: skip
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for values in given:
        agree(session, model, values)

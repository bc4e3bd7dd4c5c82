"""Products of whole numbers in loaded models: what ONNX Runtime gives, for every kind of bytes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import rushlight
from rushlight.onnx import load

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

KINDS = {"int8": onnx.TensorProto.INT8, "uint8": onnx.TensorProto.UINT8}
# Shapes of zero points: none, one number, one for each row of A or column of B.
ZEROS = {"none": None, "one": (), "each": 0}


def both(node, inputs):
    """What a model of one node gives, here and there."""
    element = onnx.helper.np_dtype_to_tensor_dtype
    given = [
        onnx.helper.make_tensor_value_info(name, element(value.dtype), value.shape)
        for name, value in inputs.items()
    ]
    out = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.INT32, None)
    graph = onnx.helper.make_graph([node], "products", given, [out])
    opsets = [onnx.helper.make_opsetid("", 19)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9)
    data = model.SerializeToString()
    theirs = runtime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, inputs)
    ours = load(model)(*map(rushlight.from_numpy, inputs.values()))
    return ours.numpy(), theirs[0]


def drawn(rng, kind, shape):
    about = np.iinfo(kind)
    return np.asarray(rng.integers(about.min, about.max + 1, shape), kind)


@pytest.mark.parametrize("a_kind, b_kind", [*itertools.product(KINDS, KINDS)])
@pytest.mark.parametrize("a_zero, b_zero", [*itertools.product(("none", "one"), ZEROS)])
def test_products_of_bytes_with_zero_points(a_kind, b_kind, a_zero, b_zero):
    rng = np.random.default_rng(0)
    for shape in ((3, 70), (2, 5, 70), (1, 1)):
        columns = 33
        inputs = {"a": drawn(rng, a_kind, shape), "b": drawn(rng, b_kind, (shape[-1], columns))}
        names = ["a", "b", "", ""]
        if a_zero == "one":
            inputs["za"], names[2] = drawn(rng, a_kind, ()), "za"
        if b_zero != "none":
            size = () if b_zero == "one" else (columns,)
            inputs["zb"], names[3] = drawn(rng, b_kind, size), "zb"
        while not names[-1]:
            names.pop()
        ours, theirs = both(onnx.helper.make_node("MatMulInteger", names, ["y"]), inputs)
        assert ours.dtype == np.int32
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("shapes", [((2, 3, 4), (2, 4, 5)), ((4,), (4, 5)), ((3, 4), (4,))])
def test_batches_of_matrices_and_vectors(shapes):
    rng = np.random.default_rng(1)
    inputs = {"a": drawn(rng, "uint8", shapes[0]), "b": drawn(rng, "int8", shapes[1])}
    inputs["za"] = drawn(rng, "uint8", ())
    ours, theirs = both(onnx.helper.make_node("MatMulInteger", ["a", "b", "za"], ["y"]), inputs)
    np.testing.assert_array_equal(ours, theirs)

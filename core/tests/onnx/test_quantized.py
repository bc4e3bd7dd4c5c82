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
    kind = "INT32" if node.op_type.endswith("Integer") else inputs["zy"].dtype.name.upper()
    out = onnx.helper.make_tensor_value_info("y", getattr(onnx.TensorProto, kind), None)
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


CONVOLUTIONS = {
    "plain": ((2, 5, 9, 8), (7, 5, 3, 3), {}),
    "steps": ((1, 3, 12, 11), (4, 3, 3, 5), {"strides": [2, 3], "pads": [1, 0, 2, 4]}),
    "apart": ((2, 4, 11, 9), (3, 4, 3, 2), {"dilations": [2, 3], "pads": [2, 1, 2, 1]}),
    "pixels": ((2, 6, 5, 5), (8, 6, 1, 1), {}),
    "groups": ((2, 6, 7, 7), (4, 3, 3, 3), {"group": 2, "pads": [1, 1, 1, 1]}),
    "planes": ((2, 6, 9, 9), (12, 1, 3, 3), {"group": 6, "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "large planes": ((1, 2, 16, 16), (2, 1, 13, 13), {"group": 2}),
    "same": ((1, 3, 10, 10), (2, 3, 4, 4), {"auto_pad": "SAME_LOWER", "strides": [3, 3]}),
    "a line": ((2, 3, 20), (4, 3, 5), {"pads": [2, 2], "strides": [2]}),
    "a volume": ((1, 2, 6, 7, 5), (3, 2, 3, 3, 2), {"pads": [1, 0, 1, 1, 2, 1]}),
}


def convolved(operator, case, kinds, zeros):
    """A node and its inputs."""
    shape, weight, options = CONVOLUTIONS[case]
    rng = np.random.default_rng(2)
    x, w = drawn(rng, kinds[0], shape), drawn(rng, kinds[1], weight)
    zx = drawn(rng, kinds[0], ())
    zw = np.full(
        () if zeros == "none" else (weight[0],), 128 if kinds[1] == "uint8" else 0, kinds[1]
    )
    if zeros == "each":
        zw = drawn(rng, kinds[1], weight[:1]) // 8
    if operator == "ConvInteger":
        inputs = {"x": x, "w": w, "zx": zx, "zw": zw}
        return onnx.helper.make_node(operator, list(inputs), ["y"], **options), inputs
    scale = rng.uniform(0.5, 2.0, zw.shape).astype(np.float32)
    inputs = {"x": x, "sx": np.float32(0.03), "zx": zx, "w": w, "sw": scale, "zw": zw}
    spread = 0.03 * 75 * 75 * 1.25 * np.sqrt(w[0].size)
    inputs |= {"sy": np.float32(spread / 60), "zy": drawn(rng, kinds[0], ())}
    inputs["b"] = rng.integers(-9999, 9999, weight[0]).astype(np.int32)
    inputs = {name: np.asarray(value) for name, value in inputs.items()}
    return onnx.helper.make_node(operator, list(inputs), ["y"], **options), inputs


@pytest.mark.parametrize("case", CONVOLUTIONS)
@pytest.mark.parametrize("kinds", [("uint8", "int8"), ("uint8", "uint8")])
def test_sums_of_convolved_bytes(case, kinds):
    ours, theirs = both(*convolved("ConvInteger", case, kinds, "none"))
    assert ours.dtype == np.int32
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("case", CONVOLUTIONS)
@pytest.mark.parametrize("kinds", [("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8")])
@pytest.mark.parametrize("zeros", ["none", "zeros"])
def test_convolved_bytes(case, kinds, zeros):
    ours, theirs = both(*convolved("QLinearConv", case, kinds, zeros))
    assert ours.dtype == theirs.dtype
    assert len(np.unique(theirs)) > 10
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_a_zero_point_for_each_channel(kind):
    """ONNX Runtime takes one for all; so sums are compared with those in int64."""
    node, inputs = convolved("ConvInteger", "plain", ("uint8", kind), "each")
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            [node],
            "convolution",
            [
                onnx.helper.make_tensor_value_info(
                    name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
                )
                for name, value in inputs.items()
            ],
            [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.INT32, None)],
        ),
        opset_imports=[onnx.helper.make_opsetid("", 19)],
    )
    ours = load(model)(*map(rushlight.from_numpy, inputs.values())).numpy()
    x = inputs["x"].astype(np.int64) - int(inputs["zx"])
    w = inputs["w"].astype(np.int64) - inputs["zw"].astype(np.int64).reshape(-1, 1, 1, 1)
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    np.testing.assert_array_equal(ours, np.einsum("nchwij,ocij->nohw", windows, w))

"""Models whose sizes differ from call to call, run by ONNX Runtime at several sizes."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_cases import ABSENT, narrowed
from op_models import NAMES, cases, rows_free, with_other_rows

import rushlight as torch
from rushlight import nn
from rushlight.export import Dim
from rushlight.onnx import errors
from rushlight.utils import _pytree as pytree

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
runtime.set_default_logger_severity(4)

# Their translations hold tables of the sizes, or have another form for each.
FIXED = frozenset("""
bucketize combinations fft_hfft2
fft_hfftn fft_irfft2 fft_irfftn linalg_multi_dot
searchsorted segment_reduce unfold unfold_copy
""".split())  # fmt: skip
LEAST = 300  # ops whose models may have sizes that differ
MOVED = frozenset(["resize_as"])  # resizes its input


def compare(program, model, given):
    expected = [v for v in pytree.tree_leaves(model(*given)) if torch.is_tensor(v)]
    for ours, theirs in zip(expected, program(*given), strict=bool(expected)):
        assert ours.dtype is theirs.dtype and ours.shape == theirs.shape
        np.testing.assert_allclose(
            theirs.numpy(), ours.detach().numpy(), rtol=2e-4, atol=2e-5, equal_nan=True
        )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [n for n in NAMES if n not in ABSENT | MOVED])
def test_ops_at_other_sizes(name):
    for model, inputs in cases(name, narrowed):
        program = torch.export.export(model, inputs, dynamic_shapes=rows_free(inputs))
        given = with_other_rows(program, inputs)
        if given is None:
            continue
        try:
            made = torch.onnx.export(program)
        except errors.UnsupportedOperatorError as error:
            assert name in FIXED and "sizes that may differ" in str(error)
            continue
        onnx.checker.check_model(made.model_proto, full_check=True)
        try:
            model(*given)
        except (RuntimeError, IndexError, ValueError):
            continue  # the op has no such sizes
        compare(made, model, given)


def test_enough_ops_are_written_with_sizes_that_differ():
    assert len(set(NAMES) - ABSENT - FIXED - MOVED) >= LEAST


class Numbers(nn.Module):
    """Sizes as numbers of all kinds."""

    def forward(self, x, y):
        n = x.shape[0]
        scaled = x.mean() * n**-0.5 + y.sum() / n
        return torch.zeros(n, 2) + scaled, torch.arange(n) * 2, x.reshape(n * 2, -1), y[: n // 2]


def sizes_of(values):
    return [[d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in values]


def test_what_depends_on_sizes_is_computed():
    shapes = {"x": {0: Dim("n", min=2)}, "y": {0: Dim("m", min=8)}}
    model, inputs = Numbers(), (torch.randn(6, 4), torch.randn(9, 3))
    program = torch.onnx.export(model, inputs, dynamic_shapes=shapes)
    graph = program.model_proto.graph
    assert sizes_of(graph.input) == [["n", 4], ["m", 3]]
    assert sizes_of(graph.output)[:3] == [["n", 2], ["n"], ["2*n", 2]]
    for given in (inputs, (torch.randn(3, 4), torch.randn(8, 3))):
        compare(program, model, given)


def test_networks():
    r, batch = torch.randn, Dim("batch")
    network = nn.Sequential(
        nn.Conv2d(3, 4, 3, 2, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2),
    ).eval()  # fmt: skip
    sizes = {0: batch, 2: Dim("height", min=16), 3: Dim("width", min=16)}
    program = torch.onnx.export(network, (r(2, 3, 30, 22),), dynamic_shapes=(sizes,))
    compare(program, network, (r(5, 3, 17, 41),))
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    program = torch.onnx.export(layer, (r(2, 7, 8),), dynamic_shapes=({0: batch, 1: Dim("w")},))
    compare(program, layer, (r(3, 9, 8),))
    recurrent = nn.LSTM(4, 5, batch_first=True).eval()
    program = torch.onnx.export(recurrent, (r(2, 7, 4),), dynamic_shapes=({0: batch, 1: Dim("w")},))
    compare(program, recurrent, (r(3, 9, 4),))


def test_axes_by_names_of_inputs():
    """The former argument: names of outputs are taken too, sizes that are fixed stay so."""
    layer = nn.Linear(4, 3).eval()
    program = torch.onnx.export(
        layer, (torch.randn(2, 4),), input_names=["rows"], output_names=["found"],
        dynamic_axes={"rows": {0: "n", 1: "width"}, "found": {0: "n"}},
    )  # fmt: skip
    assert sizes_of(program.model_proto.graph.input) == [["n", 4]]
    assert sizes_of(program.model_proto.graph.output) == [["n", 3]]
    compare(program, layer, (torch.randn(7, 4),))
    program = torch.onnx.export(layer, (torch.randn(2, 4),), input_names=["x"],
                                dynamic_axes={"x": [0]})  # fmt: skip
    compare(program, layer, (torch.randn(5, 4),))


def test_programs_whose_translation_needs_the_sizes():
    model = nn.AdaptiveMaxPool2d(3, return_indices=True)
    with pytest.raises(errors.UnsupportedOperatorError, match="positions for pictures whose size"):
        torch.onnx.export(model, (torch.randn(1, 2, 9, 9),), dynamic_shapes=({2: Dim("h")},))

"""Whole models as ONNX: outputs, opsets, names, files, errors."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.onnx import OnnxExporterError
from rushlight.onnx.errors import UnsupportedOperatorError

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime").set_default_logger_severity(4)


class Small(nn.Module):
    """Convolution, normalization, attention-like products, a view that is written to."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.line = nn.Linear(8, 4)

    def forward(self, x, scale=2.0):
        x = torch.relu(self.norm(self.conv(x)))
        rows = x.flatten(2).transpose(1, 2)
        shares = torch.softmax(rows @ rows.mT / scale, -1)
        out = self.line(shares @ rows).mean(1)
        out[:, 0] += 1
        return out, x.amax((2, 3))


MODELS = {
    "small": lambda: (Small(), (torch.randn(2, 3, 6, 6),)),
    "layer norm, gelu": lambda: (
        nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.RMSNorm(16)),
        (torch.randn(3, 8),),
    ),
    "group norm": lambda: (
        nn.Sequential(nn.Conv1d(4, 8, 3), nn.GroupNorm(2, 8), nn.InstanceNorm1d(8, affine=True)),
        (torch.randn(2, 4, 9),),
    ),
    "encoder": lambda: (
        nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu"),
        (torch.randn(2, 5, 16),),
    ),
    "lstm": lambda: (
        nn.LSTM(4, 6, 2, bidirectional=True, batch_first=True),
        (torch.randn(2, 5, 4),),
    ),
    "gru": lambda: (nn.GRU(4, 6), (torch.randn(5, 2, 4), torch.randn(1, 2, 6))),
    "rnn": lambda: (nn.RNN(4, 6, nonlinearity="relu", bias=False), (torch.randn(5, 4),)),
    "upsampling": lambda: (
        nn.Sequential(
            nn.ConvTranspose2d(3, 4, 3, stride=2),
            nn.Upsample(scale_factor=2),
            nn.Upsample(scale_factor=1.5, mode="bilinear"),
            nn.AvgPool2d(2),
            nn.AdaptiveAvgPool2d((3, 5)),
        ),
        (torch.randn(1, 3, 5, 7),),
    ),
    "embedding": lambda: (nn.Embedding(9, 4, padding_idx=0), (torch.tensor([[0, 3], [8, 1]]),)),
    "loss": lambda: (nn.CrossEntropyLoss(), (torch.randn(4, 3), torch.tensor([0, 2, 1, 1]))),
}


def agree(program, model, args):
    """ONNX Runtime gives what the model gives."""
    with torch.no_grad():
        expected = torch.utils._pytree.tree_leaves(model(*args))
    for ours, theirs in zip(expected, program(*args), strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(theirs.numpy(), ours.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("opset", [13, 17, 18, 20, 23])
@pytest.mark.parametrize("name", MODELS)
def test_models_at_every_opset(name, opset):
    torch.manual_seed(0)
    model, args = MODELS[name]()
    model.eval()
    program = torch.onnx.export(model, args, opset_version=opset)
    onnx.checker.check_model(program.model_proto, full_check=True)
    assert program.model_proto.opset_import[0].version == opset
    agree(program, model, args)


def test_weights_have_the_models_names_and_can_be_changed():
    model, args = MODELS["small"]()
    model.eval()
    program = torch.onnx.export(model, args, input_names=["picture"], output_names=["a", "b"])
    graph = program.model_proto.graph
    assert [v.name for v in graph.input] == ["picture"]
    assert [v.name for v in graph.output] == ["a", "b"]
    names = {value.name for value in graph.initializer}
    assert {"conv.weight", "norm.running_mean", "line.bias"} <= names
    assert [d.dim_value for d in graph.input[0].type.tensor_type.shape.dim] == [2, 3, 6, 6]
    with torch.no_grad():
        model.conv.weight.mul_(2)
    program.apply_weights({"conv.weight": model.conv.weight})
    agree(program, model, args)
    with pytest.raises(ValueError, match="no weights called 'none'"):
        program.apply_weights({"none": torch.ones(1)})
    with pytest.raises(ValueError, match=r"must have the shape \(8,\), got \(3,\)"):
        program.apply_weights({"conv.bias": torch.ones(3)})
    with pytest.raises(OnnxExporterError, match="input_names: the model has no input for 'second'"):
        torch.onnx.export(model, args, input_names=["picture", "second"])
    with pytest.raises(OnnxExporterError, match="output_names: the model has no output for 'c'"):
        torch.onnx.export(model, args, output_names=["a", "b", "c"])


def test_files(tmp_path):
    import onnxruntime

    model, args = nn.Linear(40, 30).eval(), (torch.randn(2, 40),)
    path = tmp_path / "model.onnx"
    for _ in range(2):  # a second export does not grow what is there
        torch.onnx.export(model, args, path)
        assert sorted(os.listdir(tmp_path)) == ["model.onnx", "model.onnx.data"]
        assert os.path.getsize(tmp_path / "model.onnx.data") < 40 * 30 * 4 + 8192
    session = onnxruntime.InferenceSession(path)
    (found,) = session.run(None, {session.get_inputs()[0].name: args[0].numpy()})
    np.testing.assert_allclose(found, model(*args).detach().numpy(), rtol=1e-5, atol=1e-6)
    inside = tmp_path / "inside"
    inside.mkdir()
    program = torch.onnx.export(model, args, str(inside / "a.onnx"), external_data=False)
    assert os.listdir(inside) == ["a.onnx"]
    program.save(inside / "b.onnx", include_initializers=False)
    bare = onnx.load(inside / "b.onnx").graph
    assert not bare.initializer and len(bare.input) == 3
    program.save(inside / "c.onnx", keep_initializers_as_inputs=True)
    both = onnx.load(inside / "c.onnx").graph
    assert len(both.initializer) == 2 and len(both.input) == 3


def test_exported_programs_and_the_slow_evaluator():
    model, args = MODELS["layer norm, gelu"]()
    program = torch.onnx.export(torch.export.export(model.eval(), args))
    agree(program, model, args)
    np.testing.assert_allclose(
        program.call_reference(*args)[0].numpy(),
        model(*args).detach().numpy(),
        rtol=1e-4,
        atol=1e-5,
    )
    assert repr(program).startswith("ONNXProgram(") and "nodes" in repr(program)
    with pytest.raises(ValueError, match="the model takes 1 tensors"):
        program()


def test_integers_numbers_and_masks():
    class Odd(nn.Module):
        def forward(self, x, n, mask):
            y = torch.where(mask, x, x.new_full((1,), -1.0))
            y = y + torch.arange(3, dtype=torch.float32) * n
            return y.masked_fill(~mask, 0), (n // 2) % 3, n.float() / 2, x[:, [2, 0]], mask.sum()

    args = (torch.randn(2, 3), torch.tensor([[5], [-7]]), torch.tensor([[True, False, True]] * 2))
    agree(torch.onnx.export(Odd(), args, verify=True), Odd(), args)


def test_writes_to_parts_are_seen_by_all_that_read_them():
    class Writes(nn.Module):
        def forward(self, x):
            x = x.clone()
            row, column = x[1], x[:, 0]
            row.mul_(10)
            column.add_(1)
            x[:2, 1:].relu_()
            return x, row

    args = (torch.randn(3, 4),)
    agree(torch.onnx.export(Writes(), args), Writes(), args)


def test_a_translation_of_ones_own():
    class Model(nn.Module):
        def forward(self, x):
            return torch.erfinv(x) * 2

    args = (torch.rand(3) * 0.5,)

    def twice(g, self):
        return g.op("Mul", self, g.like(2, self))

    table = {torch.ops.aten.erfinv.default: twice}
    program = torch.onnx.export(Model(), args, custom_translation_table=table)
    np.testing.assert_allclose(program(*args)[0].numpy(), args[0].numpy() * 4, rtol=1e-6)


def test_ops_that_onnx_lacks_are_named_with_the_line():
    class Model(nn.Module):
        def forward(self, x):
            return torch.erfinv(x)  # here

    with pytest.raises(UnsupportedOperatorError, match=r"aten\.erfinv.*") as error:
        torch.onnx.export(Model(), (torch.rand(3),))
    assert "test_export.py" in str(error.value) and "custom_translation_table" in str(error.value)
    with pytest.raises(OnnxExporterError, match="need opset_version=18"):
        torch.onnx.export(Bits(), (torch.tensor([1, 2]),), opset_version=17)


class Bits(nn.Module):
    def forward(self, x):
        return x & 3


def test_arguments_that_are_wrong():
    layer, args = nn.Linear(2, 2).eval(), (torch.ones(1, 2),)
    for opset in (0, 12, 99):
        with pytest.raises(OnnxExporterError, match=f"opset_version must be 13 to 23, got {opset}"):
            torch.onnx.export(layer, args, opset_version=opset)
    for wrong in ("18", 18.0, True):
        with pytest.raises(TypeError, match="opset_version must be an int, not"):
            torch.onnx.export(layer, args, opset_version=wrong)
    for named in ({"input_names": "x"}, {"output_names": [1]}):
        with pytest.raises(TypeError, match="must be a list of strings, got"):
            torch.onnx.export(layer, args, **named)
    with pytest.raises(NotImplementedError, match="report=True is not available"):
        torch.onnx.export(layer, args, report=True)
    with pytest.warns(UserWarning, match="the model is in training mode"):
        torch.onnx.export(nn.Sequential(nn.Dropout(0.0)), args)
    assert not torch.onnx.is_in_onnx_export()


def test_a_model_knows_that_it_is_exported():
    class Model(nn.Module):
        def forward(self, x):
            return x + 1 if torch.onnx.is_in_onnx_export() else x

    program = torch.onnx.export(Model().eval(), (torch.zeros(2),))
    assert program(torch.zeros(2))[0].tolist() == [1, 1]


def test_pytorch_gives_the_same(tmp_path):
    theirs = pytest.importorskip("torch")
    from torch import nn as their_nn

    torch.manual_seed(0)
    ours = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 5)).eval()
    other = their_nn.Sequential(
        their_nn.Conv2d(1, 4, 3), their_nn.ReLU(), their_nn.Flatten(), their_nn.Linear(64, 5)
    ).eval()
    state = {k: theirs.from_numpy(v.numpy()) for k, v in ours.state_dict().items()}
    other.load_state_dict(state)
    x = torch.randn(2, 1, 6, 6)
    (found,) = torch.onnx.export(ours, (x,))(x)
    expected = other(theirs.from_numpy(x.numpy())).detach().numpy()
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-6)


def test_supported_ops_are_overloads_of_aten():
    names = torch.onnx.supported_ops()
    assert len(names) > 350 and "add.Tensor" in names and "conv2d.default" in names
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sorted(names) == names


class Called(nn.Module):
    """A function as a model."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *values):
        return self.function(*values)


PICTURE = torch.rand(1, 2, 5, 7, generator=torch.Generator().manual_seed(0))
FUNCTIONS = {
    "corners": (lambda x: nn.functional.interpolate(
        x, scale_factor=1.7, mode="bilinear", align_corners=True), PICTURE),
    "smoothed": (lambda x: nn.functional.interpolate(
        x, scale_factor=0.6, mode="bilinear", antialias=True), PICTURE),
    "smoothed cubic": (lambda x: nn.functional.interpolate(
        x, size=(3, 4), mode="bicubic", antialias=True), PICTURE),
    "factors anew": (lambda x: nn.functional.interpolate(
        x, scale_factor=0.6, mode="bilinear", recompute_scale_factor=True), PICTURE),
    "exact": (lambda x: nn.functional.interpolate(
        x, size=(3, 9), mode="nearest-exact"), PICTURE),
    "filled in place": (lambda x: x.clone().masked_fill_(x > 0.5, 0), PICTURE),
    "dropped in place": (nn.Dropout(inplace=True).eval(), PICTURE),
    "classes": (lambda x: nn.functional.one_hot(x, 5), torch.tensor([1, 4])),
    "distances": (lambda x: torch.cdist(x[0], x[0].flip(1)), PICTURE),
    "distances of another norm": (lambda x: torch.cdist(x[0], x[0].flip(1), 1.5), PICTURE),
    "folded": (nn.Fold((4, 4), 2, dilation=1, padding=0, stride=2), torch.rand(2, 12, 4)),
    "folded with padding": (nn.Fold((5, 4), (2, 3), padding=1, stride=2), torch.rand(1, 6, 6)),
    "cosines": (nn.CosineSimilarity(), PICTURE[0], PICTURE[0].flip(-1)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_as_onnx_runtime_and_loaded(name):
    function, *inputs = FUNCTIONS[name]
    model = Called(function).eval()
    program = torch.onnx.export(model, tuple(inputs))
    expected = model(*inputs).numpy()
    np.testing.assert_allclose(program(*inputs)[0].numpy(), expected, rtol=1e-5, atol=1e-6)
    loaded = torch.onnx.load(program.model_proto)
    np.testing.assert_allclose(loaded(*inputs).numpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("hidden", [[2], [1]])
def test_encoders_hide_positions_as_in_eager_mode(hidden):
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2).eval().requires_grad_(False)
    x, padding = torch.randn(2, 3, 8), torch.zeros(2, 3, dtype=torch.bool)
    padding[0, hidden] = True
    model = Called(lambda x, m: encoder(x, src_key_padding_mask=m))
    expected = encoder(x, src_key_padding_mask=padding).numpy()
    found = torch.onnx.export(model, (x, padding))(x, padding)[0]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-5)
    captured = torch.export.export(model, (x, torch.zeros_like(padding))).module()
    np.testing.assert_allclose(captured(x, padding).numpy(), expected, rtol=1e-4, atol=1e-5)


def test_axes_of_unknown_inputs_are_refused():
    with pytest.raises(ValueError, match=r"dynamic_axes: .* got \['x'\]"):
        torch.onnx.export(nn.Linear(2, 2).eval(), (torch.ones(1, 2),), dynamic_axes={"x": {0: "n"}})


def test_statistics_of_the_batch_in_training():
    model, x = (
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()),
        torch.randn(2, 3, 6, 6),
    )
    with pytest.warns(UserWarning, match="training"):
        program = torch.onnx.export(model, (x,))
    np.testing.assert_allclose(
        program(x)[0].numpy(), model(x).detach().numpy(), rtol=1e-4, atol=1e-5
    )


def test_files_that_are_open():
    model, x, file = nn.Linear(3, 2).eval(), torch.randn(1, 3), io.BytesIO()
    torch.onnx.export(model, (x,), file)
    np.testing.assert_allclose(
        torch.onnx.load(file.getvalue())(x).detach().numpy(), model(x).detach().numpy(), rtol=1e-5
    )


def test_all_translations_are_there_where_some_were_imported_before():
    """A family imported by hand counted as all of them."""
    program = """
import rushlight.onnx._translations.shaping
import rushlight

class Shifted(rushlight.nn.Module):
    def forward(self, x):
        return x + rushlight.ones(2)

print(len(rushlight.onnx.export(Shifted(), (rushlight.zeros(2),)).model_proto.graph.node) > 0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr[-2000:]

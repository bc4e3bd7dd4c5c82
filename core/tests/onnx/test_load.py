"""ONNX models as modules: the cases of the onnx package, weights, training, damaged files."""

from __future__ import annotations

import contextlib
import io
import random
import warnings

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.onnx.errors import OnnxImporterError, UnsupportedOperatorError

onnx = pytest.importorskip("onnx")
LEAST = 1400  # node cases that pass; the package's later versions have more
# Operators of which no case is asked: strings, images, trees, training, previews; those that draw
# random numbers; and those whose cases are of eight-bit floats.
ABSENT = frozenset(
    """
Adagrad Adam ArrayFeatureExtractor Bernoulli Binarizer CausalConvWithState DeformConv FlexAttention
Gradient ImageDecoder LabelEncoder LinearAttention Momentum Multinomial RandomUniformLike
RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer TreeEnsemble
""".split()
)
SKIPPED = frozenset(
    """
test_scan_sum test_training_dropout test_training_dropout_default test_training_dropout_default_mask
test_training_dropout_mask test_equal_string test_equal_string_broadcast
""".split()
)
# Lengths of size * factor where ONNX Runtime and PyTorch take the whole one.
FRACTIONS = frozenset(
    """
test_resize_downsample_scales_linear_align_corners
test_resize_downsample_scales_cubic_align_corners
""".split()
)
SKIPPED |= FRACTIONS
# NumPy rounds these after every step, Rushlight after each operator: two units in the last place.
HALVES = {torch.bfloat16: 2**-6, torch.float16: 2**-9}


def collected():
    """The node cases of the installed onnx package, by their operator."""
    from onnx.backend.test.case.node import collect_testcases

    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    found = {}
    for case in cases:
        found.setdefault(case.model.graph.node[0].op_type, []).append(case)
    return found


CASES = collected()
PASSED = {}  # by name of a case: what `passes` has answered, which is asked of all cases twice


class OtherElementsError(Exception):
    """A case of elements that are not here: strings, floats of eight or four bits."""


def given(value):
    """A value of a case as a tensor, a list or None."""
    if value is None or isinstance(value, list | tuple):
        return value if value is None else [given(v) for v in value]
    array = np.array(value)
    if str(array.dtype) == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    if array.dtype.kind not in "biuf" or array.dtype.name not in np.sctypeDict:
        raise OtherElementsError(str(array.dtype))
    return torch.from_numpy(array)


def check(found, expected, case):
    if expected is None or isinstance(expected, list | tuple):
        assert (found is None) == (expected is None)
        for one, other in zip(found or (), expected or (), strict=True):
            check(one, other, case)
        return
    expected = given(expected)
    assert found.dtype is expected.dtype and found.shape == expected.shape
    rtol = max(case.rtol, HALVES.get(found.dtype, 0))
    if found.dtype in HALVES:
        found, expected = found.float(), expected.float()
    np.testing.assert_allclose(
        found.detach().numpy(), expected.numpy(), rtol=rtol, atol=max(case.atol, 1e-6)
    )


def passes(case):
    """Run one case; False where its elements are not here."""
    if case.name not in PASSED:
        PASSED[case.name] = agrees(case)
    return PASSED[case.name]


def agrees(case):
    try:
        module = torch.onnx.load(case.model)
        for inputs, outputs in case.data_sets:
            found = module(*[given(v) for v in inputs])
            found = found if isinstance(found, tuple) else (found,)
            for one, other in zip(found, outputs, strict=True):
                check(one, other, case)
    except OtherElementsError:
        return False
    except NotImplementedError as error:
        assert "elements of the type" in str(error), case.name
        return False
    return True


@pytest.mark.parametrize("name", sorted(set(CASES) - ABSENT))
def test_node_cases(name):
    for case in CASES[name]:
        if case.name not in SKIPPED:
            try:
                passes(case)
            except Exception as error:
                error.add_note(case.name)
                raise


def test_most_node_cases_pass():
    count = 0
    for name, cases in CASES.items():
        if name not in ABSENT:
            count += sum(passes(case) for case in cases if case.name not in SKIPPED)
    assert count >= LEAST


class Net(nn.Module):
    """A small network of several kinds of layers."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.recurrent = nn.LSTM(8, 6, batch_first=True, bidirectional=True)
        self.head = nn.Linear(12, 4)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        x, _ = self.recurrent(x.flatten(2).transpose(1, 2))
        return self.head(x.mean(1)).log_softmax(-1)


def exported():
    torch.manual_seed(0)
    model, x = Net().eval(), torch.randn(2, 3, 8, 8)
    return model, x, torch.onnx.export(model, (x,))


def test_what_was_exported_comes_back(tmp_path):
    model, x, program = exported()
    path = tmp_path / "net.onnx"
    program.save(path, external_data=True)
    for source in (path, str(path), program.model_proto, program.model_proto.SerializeToString()):
        module = torch.onnx.load(source)
        np.testing.assert_allclose(
            module(x).detach().numpy(), model(x).detach().numpy(), rtol=1e-4, atol=1e-5
        )
    names = dict(module.named_parameters())
    assert names["conv_weight"].shape == (8, 3, 3, 3) and "norm_running_mean" in names
    assert "call_function" in {node.op for node in module.graph.nodes}
    again = torch.onnx.export(torch.onnx.load(path), (x,))
    pytest.importorskip("onnxruntime")
    np.testing.assert_allclose(again(x)[0].numpy(), model(x).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_it_trains_and_is_traced():
    model, x, program = exported()
    module = torch.onnx.load(program.model_proto)
    optimizer = torch.optim.Adam(module.parameters(), 0.03)
    target = torch.tensor([1, 3])
    losses = []
    for _ in range(12):
        optimizer.zero_grad()
        loss = nn.functional.nll_loss(module(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
    assert not list(torch.onnx.load(program.model_proto, trainable=False).parameters())
    captured = torch.export.export(module, (x,)).module()
    np.testing.assert_allclose(
        captured(x).detach().numpy(), module(x).detach().numpy(), rtol=1e-5, atol=1e-6
    )


def test_gradients_are_those_of_the_model():
    model, x, program = exported()
    module = torch.onnx.load(program.model_proto)
    model(x).square().sum().backward()
    module(x).square().sum().backward()
    np.testing.assert_allclose(
        module.conv_weight.grad.numpy(), model.conv.weight.grad.numpy(), rtol=1e-3, atol=1e-5
    )


def test_what_is_no_model(tmp_path):
    path = tmp_path / "net.onnx"
    with pytest.raises(FileNotFoundError, match=r"net\.onnx does not exist"):
        torch.onnx.load(path)
    path.write_bytes(b"no model at all")
    with pytest.raises(OnnxImporterError, match=r"net\.onnx is no ONNX model"):
        torch.onnx.load(path)
    with pytest.raises(OnnxImporterError, match="has no graph"):
        torch.onnx.load(b"")
    node = onnx.helper.make_node("Sunrise", ["x"], ["y"], name="dawn")
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph([node], "g", [value("x", 1, [1])], [value("y", 1, [1])])
    with pytest.raises(UnsupportedOperatorError, match="no operator Sunrise .* node 'dawn'"):
        torch.onnx.load(onnx.helper.make_model(graph))
    node = onnx.helper.make_node("Relu", ["nothing"], ["y"])
    graph = onnx.helper.make_graph([node], "g", [value("x", 1, [1])], [value("y", 1, [1])])
    with pytest.raises(OnnxImporterError, match="'nothing' is read before it is made"):
        torch.onnx.load(onnx.helper.make_model(graph))


def test_damaged_models_give_errors_that_say_so():
    content = exported()[2].model_proto.SerializeToString()
    draw = random.Random(0)
    kinds = set()
    for _ in range(400):
        data = bytearray(content)
        for _ in range(draw.choice((1, 4, 30))):
            data[draw.randrange(len(data))] = draw.randrange(256)
        if draw.random() < 0.3:
            del data[draw.randrange(len(data)) :]
        try:
            torch.onnx.load(bytes(data))
        except (OnnxImporterError, UnsupportedOperatorError, NotImplementedError) as error:
            assert str(error)
            kinds.add(type(error))
    assert OnnxImporterError in kinds


OUTSIDE = {
    "../weights.bin": "not inside the model's folder",
    "/etc/passwd": "not inside the model's folder",
    "link": "not inside the model's folder",
    "": "not inside the model's folder",
    "none": "no such file",
}


@pytest.mark.parametrize("location", OUTSIDE)
def test_external_data_outside_of_the_folder_is_refused(location, tmp_path):
    model, _, program = exported()
    folder = tmp_path / "models"
    folder.mkdir()
    proto = program.model_proto
    onnx.save(proto, folder / "net.onnx", save_as_external_data=True, location="weights.bin",
              size_threshold=0)  # fmt: skip
    weight = torch.onnx.load(folder / "net.onnx").conv_weight
    np.testing.assert_array_equal(weight.detach().numpy(), model.conv.weight.detach().numpy())
    (tmp_path / "weights.bin").write_bytes((folder / "weights.bin").read_bytes())
    (folder / "link").symlink_to(tmp_path / "weights.bin")
    changed = onnx.load(folder / "net.onnx", load_external_data=False)
    changed.graph.initializer[0].external_data[0].value = location
    (folder / "net.onnx").write_bytes(changed.SerializeToString())
    with pytest.raises(OnnxImporterError, match=rf"net\.onnx: .*{OUTSIDE[location]}"):
        torch.onnx.load(folder / "net.onnx")
    with pytest.raises(OnnxImporterError, match="give onnx.load the model's path"):
        torch.onnx.load(changed)

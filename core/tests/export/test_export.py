"""`rushlight.export.export`: programs, their signatures, and the modules they give."""

import copy
import sys
from pathlib import Path

import pytest

import rushlight
import rushlight.nn.functional as F
from rushlight import nn
from rushlight._dynamo.exc import UserError
from rushlight.export import ExportedProgram, export
from rushlight.export.graph_signature import InputKind, OutputKind
from rushlight.export.verifier import SpecViolationError
from rushlight.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

sys.path.insert(0, str(Path(__file__).parent))


class Counting(nn.Module):
    """Parameters, buffers of both kinds, a plain tensor, and a number of its calls."""

    def __init__(self, library=nn):
        super().__init__()
        self.inner = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4))
        self.head = nn.Linear(4, 2)
        self.register_buffer("calls", rushlight.zeros(()))
        self.register_buffer("shift", rushlight.ones(2), persistent=False)
        self.scale = rushlight.full((2,), 2.0)

    def forward(self, x, pair, *, extra=None, twice=False):
        self.calls = self.calls + 1
        x = F.relu(self.inner(x), inplace=True).mean((2, 3))
        x = self.head(x.view(x.shape[0], -1)) * self.scale + self.shift + rushlight.tensor(0.5)
        if twice:
            x = x * 2
        return {"out": x + pair[0], "pair": (pair[1]["key"] - 1, 3), "extra": extra}


def arguments():
    rushlight.manual_seed(0)
    pair = (rushlight.ones(2), {"key": rushlight.zeros(1)})
    return (rushlight.randn(2, 3, 4, 4), pair), {"extra": rushlight.ones(3), "twice": True}


def program():
    args, kwargs = arguments()
    return export(Counting(), args, kwargs)


def test_the_signature_names_every_input():
    found = program()
    signature = found.graph_signature
    assert signature.parameters[:2] == ("inner.0.weight", "inner.0.bias")
    assert set(signature.buffers) >= {"calls", "shift", "inner.1.running_mean"}
    assert signature.non_persistent_buffers == {"shift"}
    assert signature.lifted_tensor_constants == ("scale", "lifted_tensor_0")
    assert signature.user_inputs == ("x", "pair_0", "pair_1_key", "extra", True)
    assert signature.inputs_to_parameters["p_head_weight"] == "head.weight"
    kinds = [spec.kind for spec in signature.input_specs]
    assert kinds == sorted(kinds, key=list(dict.fromkeys(kinds)).index)  # kind after kind
    assert all(s.kind is OutputKind.USER_OUTPUT for s in signature.output_specs)
    assert signature.user_outputs[2] == 3
    assert set(found.state_dict) == set(Counting().state_dict())
    assert set(found.constants) == {"shift", "scale", "lifted_tensor_0"}


def test_the_signature_is_pytorchs():
    torch = pytest.importorskip("torch")

    class Small(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(3)
            self.register_buffer("shift", torch.ones(3), persistent=False)
            self.scale = torch.ones(3)

        def forward(self, x, y=None):
            return self.norm(x) + self.shift * self.scale + y[0], 2

    class Ours(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(3)
            self.register_buffer("shift", rushlight.ones(3), persistent=False)
            self.scale = rushlight.ones(3)

        forward = Small.forward

    import torch.export as _  # noqa: F401

    theirs = torch.export.export(Small(), (torch.ones(2, 3),), {"y": [torch.ones(1)]})
    ours = export(Ours(), (rushlight.ones(2, 3),), {"y": [rushlight.ones(1)]})
    shown = [str(s) for s in theirs.graph_signature.input_specs]
    assert sorted(map(str, ours.graph_signature.input_specs)) == sorted(shown)
    assert ours.graph_signature.user_inputs == theirs.graph_signature.user_inputs


def test_the_module_does_what_the_model_does():
    from capture_agreement import same_values

    args, kwargs = arguments()
    model = Counting()
    module = copy.deepcopy(export(model, args, kwargs).module())
    assert model.calls.item() == 0  # the export changed nothing
    for _ in range(2):
        same_values(list(module(*args, **kwargs).values()), list(model(*args, **kwargs).values()))
    assert module.calls.item() == model.calls.item() == 2
    state = module.state_dict()
    for name, value in model.state_dict().items():
        assert state[name].tolist() == value.tolist()
    assert isinstance(module.get_parameter("head.weight"), nn.Parameter)


def test_the_module_trains():
    model = nn.Linear(3, 1)
    x = rushlight.ones(2, 3)
    module = export(model, (x,)).module()
    module(x).sum().backward()
    assert model.weight.grad is not None  # the parameters are the model's


def test_calls_are_checked():
    args, kwargs = arguments()
    module = program().module()
    with pytest.raises(AssertionError, match=r"input 'x' must have the shape \[2, 3, 4, 4\]"):
        module(args[0][:1], args[1], **kwargs)
    with pytest.raises(AssertionError, match="input 'x' must be of dtype rushlight.float32"):
        module(args[0].double(), args[1], **kwargs)
    with pytest.raises(AssertionError, match="input 'twice' was True"):
        module(*args, extra=kwargs["extra"], twice=False)
    with pytest.raises(ValueError, match=r"missing: \['extra'\]"):
        module(*args, twice=True)
    with pytest.raises(ValueError, match=r"unknown: \['other'\]"):
        module(*args, **kwargs, other=1)
    with pytest.raises(ValueError, match="structure"):
        module(args[0], (args[1][0], rushlight.ones(1)), **kwargs)
    with pytest.raises(TypeError, match="'extra' must be a Tensor"):
        module(*args, extra=3, twice=True)
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly"):
        program()(*args)


def test_what_cannot_be_exported():
    class Choosing(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    x = rushlight.ones(2)
    with pytest.raises(GuardOnDataDependentSymNode, match=r"test_export.py:\d+, in forward"):
        export(Choosing(), (x,))
    with pytest.raises(ValueError, match="Expected `mod` to be an instance"):
        export(lambda x: x, (x,))
    for given in (x, [x], None):
        with pytest.raises(UserError, match="'args' must be a tuple"):
            export(nn.Identity(), given)
    for given, named in (((x, x), {}), ((), {}), ((x,), {"other": x}), ((x,), [x])):
        with pytest.raises(TypeError, match="argument"):
            export(nn.Identity(), given, named)
    with pytest.raises(ValueError, match="Unsupported input type"):
        export(nn.Identity(), (object(),))
    assert isinstance(export(nn.ReLU(), (x,), dynamic_shapes={"input": None}), ExportedProgram)
    assert isinstance(export(nn.ReLU(), (x,), strict=True), ExportedProgram)


def test_what_is_printed():
    text = str(program())
    for part in ("ExportedProgram:", "aten.conv2d.default", "test_export.py", "Graph signature:"):
        assert part in text
    assert "p_head_bias: PARAMETER target='head.bias'" in text


def test_nodes_know_their_modules():
    found = program()
    node = next(n for n in found.graph.nodes if str(n.target) == "aten.conv2d.default")
    assert [path for path, _ in node.meta["nn_module_stack"].values()] == ["", "inner", "inner.0"]
    assert "torch.nn" not in str(node.meta["stack_trace"])


def test_parts_that_contradict_each_other():
    found = program()
    found.graph_signature.input_specs[0].arg.name = "other"
    with pytest.raises(SpecViolationError, match="the graph's inputs"):
        found.validate()
    found = program()
    del found.state_dict["head.bias"]
    with pytest.raises(SpecViolationError, match="parameter 'head.bias'"):
        found.validate()


def test_the_call_is_described():
    found = program()
    assert found.call_spec.in_spec.num_leaves == 5
    assert found.call_spec.out_spec.num_leaves == 4
    assert found.module_call_graph[0].fqn == ""
    assert "inner.1" in [entry.fqn for entry in found.module_call_graph]
    assert found.example_inputs[1]["twice"] is True
    assert found.range_constraints == {}
    assert [n for n, _ in found.named_parameters()] == list(found.graph_signature.parameters)
    assert [n for n, _ in found.named_buffers()] == list(found.graph_signature.buffers)
    assert InputKind.PARAMETER.name == "PARAMETER"


def test_truth_values_that_pad():
    class Padded(nn.Module):
        def forward(self, x):
            return nn.functional.pad(x > 0.5, (1, 1), value=True)

    x = rushlight.rand(2, 3)
    assert rushlight.equal(export(Padded(), (x,)).module()(x), Padded()(x))

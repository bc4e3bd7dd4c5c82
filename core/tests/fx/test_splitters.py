"""Graphs divided between a backend and the CPU, beside PyTorch's."""

import contextlib
import importlib
import io
import operator
import random
import sys
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from graph_agreement import same_graphs, same_values  # noqa: E402
from programs import models  # noqa: E402

LIBRARIES = (rushlight, torch)


def of(library, name="splitter_base"):
    return importlib.import_module(f"{library.__name__}.fx.passes.{name}")


def supporting(library, names):
    make = of(library, "operator_support").create_op_support
    return make(lambda modules, node: node.name in names)


def splitter(library, module, inputs, names, **settings):
    base = of(library)
    setting = base._SplitterSettingBase(**settings)
    return base._SplitterBase(module, inputs, supporting(library, names), setting)


def quiet(call, *args, **kwargs):
    """The result of a call, or its error, and what it printed."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        try:
            return call(*args, **kwargs), text.getvalue()
        except Exception as error:
            return error, text.getvalue()


def divide(*args, **settings):
    return splitter(*args, **settings)()


def random_module(library, seed):
    """A module of random calls, some of which give sizes, and the names a backend takes."""
    choose = random.Random(seed)
    graph = library.fx.Graph()
    tensors, numbers = [graph.placeholder("x"), graph.placeholder("y")], []
    taken = set()
    for _ in range(16):
        kind = choose.choice(["add", "relu", "size", "scale", "halves", "number"])
        x = choose.choice(tensors)
        if kind == "add":
            made = graph.call_function(library.add, (x, choose.choice(tensors)))
        elif kind == "relu":
            made = graph.call_method("relu", (x,))
        elif kind == "size":
            made = graph.call_method("size", (x, 0))
            numbers.append(made)
        elif kind == "scale" and numbers:
            made = graph.call_function(operator.mul, (x, choose.choice(numbers)))
        elif kind == "number" and numbers:
            made = graph.call_function(operator.add, (choose.choice(numbers), 1))
            numbers.append(made)
        else:
            pair = graph.call_function(library.chunk, (x, 1))
            made = graph.call_function(operator.getitem, (pair, 0))
            if choose.random() < 0.6:
                taken.add(pair.name)
        if made not in numbers:
            tensors.append(made)
        if choose.random() < 0.6:
            taken.add(made.name)
    graph.output((tensors[-1], tensors[-2]))
    return library.fx.GraphModule({}, graph), taken


def parts(module):
    return {name: part for name, part in module.named_children()}


SETTINGS = [
    {},
    {"min_acc_module_size": 3},
    {"allow_non_tensor": True},
    {"skip_fusion": True},
    {"move_non_tensor_nodes_on_boundary": True, "allow_non_tensor": True},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_random_graphs_are_divided_as_pytorch_divides_them(settings):
    divided = 0
    for seed in range(30):
        found = []
        for library in LIBRARIES:
            module, taken = random_module(library, seed)
            x = (library.ones(2, 2), library.full((2, 2), -1.0))
            found.append((*quiet(divide, library, module, x, taken, **settings), module, x))
        (ours, text, whole, x), (theirs, expected, *_) = found
        if isinstance(theirs, Exception):
            assert type(ours).__name__ == type(theirs).__name__, seed
            assert str(ours) == str(theirs)
            continue
        # PyTorch's also tells which calls it moves
        assert text.splitlines()[-1] == expected.splitlines()[-1]
        assert list(parts(ours)) == list(parts(theirs)), seed
        same_graphs_in_any_order(theirs, ours)
        same_values(ours(*x), whole(*x))
        divided += len(parts(ours)) > 1
    assert divided >= 15


def same_graphs_in_any_order(theirs, ours):
    """PyTorch takes the calls of a part in the order of a set."""
    for name, part in parts(ours).items():
        expected = parts(theirs)[name]
        assert sorted(n.name for n in part.graph.nodes) == sorted(
            n.name for n in expected.graph.nodes
        )


@pytest.mark.parametrize("name", ["ResNet", "MobileNet"])
def test_parts_of_models_are_pytorchs(name):
    found = []
    for library in LIBRARIES:
        model, shapes = models(library)[name]
        module = library.fx.symbolic_trace(model.eval())
        x = [library.ones(*shape) for shape in shapes]
        taken = {n.name for i, n in enumerate(module.graph.nodes) if i % 7 < 4}
        (split, inputs, prefix), _ = quiet(
            splitter(library, module, x, taken, min_acc_module_size=2).generate_split_results
        )
        found.append((split, inputs, prefix, module, x))
    (ours, inputs, prefix, module, x), (theirs, expected, their_prefix, *_) = found
    assert prefix == their_prefix == "_run_on_cpu_"
    same_graphs(theirs.graph, ours.graph)
    assert list(parts(ours)) == list(parts(theirs)) and len(parts(ours)) > 3
    for part in parts(ours):
        same_graphs(parts(theirs)[part].graph, parts(ours)[part].graph)
        shapes = [[tuple(value.shape) for value in given[part]] for given in (inputs, expected)]
        assert shapes[0] == shapes[1]
    same_values(ours(*x), module(*x))


def sized(library):
    """A module in which a size passes between calls."""
    module = library.fx.symbolic_trace(lambda x: library.relu(x.view(x.size(0), -1)) + 1)
    return module, (library.ones(2, 3, 2),)


def test_calls_that_pass_sizes_stay_together():
    for library in LIBRARIES:
        module, x = sized(library)
        whole, _ = quiet(splitter, library, module, x, {"size", "view", "relu"})
        assert {n.name for n in whole.acc_nodes} == {"size", "view", "relu"}
        assert sorted(n.name for n in whole.fusions) == ["size", "view"]
        cut, _ = quiet(splitter, library, module, x, {"size", "relu"})
        assert {n.name for n in cut.acc_nodes} == {"relu"}


def test_the_finder_keeps_a_diary(tmp_path):
    diaries = []
    for library in LIBRARIES:
        module, x = sized(library)
        of(library, "shape_prop").ShapeProp(module).propagate(*x)
        finder = of(library).FxNetAccNodesFinder(
            module, supporting(library, {"size", "relu"}), False
        )
        prefix = str(tmp_path / library.__name__)
        finder.tracker = of(library).NodeEventTracker(3, prefix)
        finder()
        files = [Path(prefix + end).read_text() for end in ("_all.txt", "_nodes.txt")]
        diaries.append((finder.tracker.to_dict(), files))
    assert diaries[0] == diaries[1]
    assert diaries[0][0]["size"][-1].startswith("size: acc_del|non_tensor_output_with_cpu_user")


def test_previews_are_pytorchs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = []
    for library in LIBRARIES:
        module = library.fx.symbolic_trace(lambda x: (x.sin() + x.cos()).relu())
        x = (library.ones(2, 3),)
        report = quiet(splitter(library, module, x, {"sin", "cos", "relu"}).split_preview)
        support = quiet(splitter(library, module, x, {"sin"}).node_support_preview)
        found.append([report, support])
    assert found[0][0] == found[1][0]
    assert "Total input size in bytes is 24" in found[0][0][0]
    words = [sorted(text.replace("rushlight.", "torch.").split("\n")) for _, (text, _) in found]
    assert words[0] == words[1] and any("relu" in line for line in words[0])
    quiet(splitter(rushlight, module_of_one(), x_of_one(), {"sin"}).split_preview, True)
    assert "digraph" in (tmp_path / "preview.dot").read_text()
    quiet(splitter(rushlight, module_of_one(), x_of_one(), {"sin"}).node_support_preview, True)
    assert "chartreuse1" in (tmp_path / "node_support.dot").read_text()


def module_of_one():
    return rushlight.fx.symbolic_trace(lambda x: x.sin())


def x_of_one():
    return (rushlight.ones(2),)


def test_a_failing_backend_is_in_the_preview():
    base = of(rushlight)

    class Failing(base._SplitterBase):
        def _lower_model_to_backend(self, mod, inputs):
            raise RuntimeError("no such device")

    setting = base._SplitterSettingBase()
    made = Failing(module_of_one(), x_of_one(), supporting(rushlight, {"sin"}), setting)
    report, _ = quiet(made.split_preview)
    assert "Run into an error during lowering!" in report


def test_too_many_parts_and_options_of_the_command_line(monkeypatch):
    for library in LIBRARIES:
        module = library.fx.symbolic_trace(lambda x: x.sin().cos())
        made, _ = quiet(splitter, library, module, (library.ones(2),), {"sin"}, max_acc_splits=1)
        error, _ = quiet(made.generate_split_results)
        assert isinstance(error, ValueError) and "max_acc_splits" in str(error)
        monkeypatch.setattr(sys, "argv", ["tool", "--min-acc-module-size", "4", "--skip_fusion"])
        settings = of(library)._SplitterSettingBase(2)
        assert (settings.min_acc_module_size, settings.skip_fusion) == (4, True)
        monkeypatch.setattr(sys, "argv", ["tool"])
        assert of(library)._SplitterSettingBase(2).min_acc_module_size == 2


def test_parts_are_extended_backwards():
    found = []
    for library in LIBRARIES:
        module = library.fx.symbolic_trace(lambda x: x.sin().cos().relu() + x.exp())
        made, _ = quiet(splitter, library, module, (library.ones(2),), {"sin", "cos", "relu"})
        for node in module.graph.nodes:
            if node.op.startswith("call"):
                node.tag = "_run_on_acc_1" if node.name == "relu" else "_run_on_cpu_0"
        made.extend_acc_subgraph("_run_on_acc_1")
        found.append({n.name: n.tag for n in module.graph.nodes if hasattr(n, "tag")})
    assert found[0] == found[1]
    assert found[0]["sin"] == "_run_on_acc_1" and found[0]["exp"] == "_run_on_cpu_0"


def test_inputs_of_submodules_may_be_copies():
    class Writing(rushlight.nn.Module):
        def forward(self, x):
            return x.add_(1)

    net = rushlight.nn.Sequential(Writing())
    for deepcopy, expected in ((False, 1.0), (True, 0.0)):
        found = of(rushlight).generate_inputs_for_submodules(
            net, (rushlight.zeros(1),), ["0"], deepcopy
        )
        assert found["0"][0].item() == expected
    error, _ = quiet(of(rushlight).generate_inputs_for_submodules, net, (), ["0"])
    assert isinstance(error, TypeError) and not net[0]._forward_pre_hooks


def scaled_by_size(x):
    return operator.mul(x.size(0), x)


def test_support_by_dtype_takes_any_and_types():
    """None stands for any dtype; an input that is no tensor has its type."""
    answers = []
    for library in LIBRARIES:
        support = of(library, "operator_support")
        module = library.fx.symbolic_trace(scaled_by_size)
        of(library, "shape_prop").ShapeProp(module).propagate(library.ones(2))
        node = next(n for n in module.graph.nodes if n.name == "mul")
        name = of(library, "tools_common").get_node_target({}, node)
        answers.append([
            support.OperatorSupport({name: (dtypes, {})}).is_node_supported({}, node)
            for dtypes in (
                (None, [library.float32]), ([int], [library.float32]),
                ([library.float32], None), (None, [library.float64]),
            )
        ])  # fmt: skip
        declines = support.OpSupports.decline_if_input_dtype(int)
        answers[-1].append(declines.is_node_supported({}, node))
    assert answers[0] == answers[1] == [True, True, False, False, False]


def test_names_of_targets():
    for library in LIBRARIES:
        tools = of(library, "tools_common")
        own = type("conv", (), {"__module__": "glow.acc_ops"})
        assert tools.get_acc_ops_name(own) == "acc_ops.conv"
        layer = library.nn.ReLU()
        layer._base_class_origin = library.nn.Linear
        node = library.fx.Graph().call_module("layer")
        assert tools.get_node_target({"layer": layer}, node).endswith(".linear.Linear")

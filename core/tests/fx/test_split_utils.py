"""Graphs divided by tags, and attributes by their paths, beside PyTorch's."""

import importlib
import random
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from graph_agreement import same_graphs, same_values  # noqa: E402
from programs import models  # noqa: E402

LIBRARIES = (rushlight, torch)
NAME = "fx.passes.split_utils"


def of(library, name=NAME):
    return importlib.import_module(f"{library.__name__}.{name}")


def tagged(library, name):
    """A model with three tags, some of which come early."""
    model = models(library)[name][0].eval()
    module = library.fx.symbolic_trace(model)
    nodes = list(module.graph.nodes)
    for position, node in enumerate(nodes):
        node.tag = "abc"[3 * position // len(nodes)]
    return module


@pytest.mark.parametrize("name", ["ResNet", "MobileNet", "Encoder"])
@pytest.mark.parametrize("as_tuple", [False, True])
def test_parts_are_pytorchs(name, as_tuple):
    found = [
        of(library).split_by_tags(tagged(library, name), ["a", "b", "c"], True, as_tuple)
        for library in LIBRARIES
    ]
    (ours, moved), (theirs, expected) = found
    assert moved == expected and len(moved) > 1
    same_graphs(theirs.graph, ours.graph)
    for part in "abc":
        same_graphs(getattr(theirs, part).graph, getattr(ours, part).graph)
        assert all(n.tag == part for n in getattr(ours, part).graph.nodes if hasattr(n, "tag"))


def test_parts_compute_what_the_whole_does():
    module = tagged(rushlight, "MobileNet")
    x = rushlight.randn(2, 3, 8, 8)
    split = of(rushlight).split_by_tags(module, ["a", "b", "c"])
    same_values(split(x), module(x))


def attributes(library):
    """A module whose graph reads attributes, also as results, and has an unused tag."""

    class Net(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = library.nn.Linear(2, 2)
            self.register_buffer("table", library.ones(2))

        def forward(self, x, y=None):
            return (x * self.table).relu() + self.inner.weight, self.table, x

    module = library.fx.symbolic_trace(Net())
    for node in module.graph.nodes:
        node.tag = "late" if node.name == "add" else "early"
    return module


def test_attributes_go_where_they_are_read():
    parts = []
    for library in LIBRARIES:
        base = type("Own", (library.fx.GraphModule,), {})
        split = of(library).split_by_tags(
            attributes(library), ["early", "none", "late"], GraphModuleCls=base
        )
        assert isinstance(split, base)
        parts.append(split)
    ours, theirs = parts
    same_graphs(theirs.graph, ours.graph)
    for part in ("early", "none", "late"):
        same_graphs(getattr(theirs, part).graph, getattr(ours, part).graph)
    x = rushlight.tensor([-1.0, 2.0])
    whole = attributes(rushlight)
    whole.load_state_dict({"inner.weight": ours.late.inner.weight, "table": ours.early.table})
    same_values(ours(x), whole(x))  # without y, which keeps its default


@pytest.mark.parametrize("change, error", [("missing", AssertionError), ("late", AssertionError),
                                           ("other", KeyError)])  # fmt: skip
def test_bad_tags_are_refused(change, error):
    for library in LIBRARIES:
        module = library.fx.symbolic_trace(lambda x: x.relu().neg())
        tags = {"missing": [None, "a"], "late": ["b", "a"], "other": ["a", "c"]}[change]
        for node, tag in zip(list(module.graph.nodes)[1:3], tags, strict=True):
            if tag is not None:
                node.tag = tag
        with pytest.raises(error):
            of(library).split_by_tags(module, ["a", "b"])


def test_a_graph_without_output_is_refused():
    for library in LIBRARIES:
        graph = library.fx.Graph()
        graph.call_method("neg", (graph.placeholder("x"),)).tag = "a"
        module = library.fx.GraphModule(library.nn.Module(), graph)
        with pytest.raises(RuntimeError, match="output"):
            of(library).split_by_tags(module, ["a"])


def test_attributes_by_their_paths():
    answers = []
    for library in LIBRARIES:
        get, put = of(library).getattr_recursive, of(library).setattr_recursive
        net = library.nn.Module()
        net.layers = library.nn.ModuleList([library.nn.Linear(2, 3), library.nn.ReLU()])
        net.deep = SimpleNamespace(a=SimpleNamespace(b=3))
        put(net, "deep.a.b", 5)
        put(net, "name", "n")
        with pytest.raises(AttributeError):
            put(net, "nowhere.a", 1)
        paths = ("layers.0.out_features", "layers.2.x", "layers.training", "deep.a.b", "deep.c",
                 "name")  # fmt: skip
        answers.append([get(net, path) for path in paths])
    assert answers[0] == answers[1] == [3, None, None, 5, None, "n"]


def random_parts(library, seed):
    """Random calls in three parts; some give sizes."""
    choose = random.Random(seed)
    graph = library.fx.Graph()
    nodes = [graph.placeholder("x")]
    parts = [SimpleNamespace(is_acc=i != 1, nodes=[]) for i in range(3)]
    for i in range(14):
        read = tuple(choose.sample(nodes, min(len(nodes), choose.choice((1, 2)))))
        node = graph.call_function(library.add, read)
        node.meta["type"] = library.Tensor if choose.random() < 0.4 else int
        parts[min(2, max(0, i // 5 + choose.choice((0, 0, 1))))].nodes.append(node)
        nodes.append(node)
    graph.output(nodes[-1])
    return parts, graph


def test_sizes_move_as_in_pytorch(capsys):
    moved = 0
    for seed in range(150):
        found = []
        for library in LIBRARIES:
            parts, graph = random_parts(library, seed)
            before = [sorted(node.name for node in part.nodes) for part in parts]
            of(library).move_non_tensor_nodes_on_boundary(parts)
            found.append([sorted(node.name for node in part.nodes) for part in parts])
        assert found[0] == found[1], seed
        moved += found[0] != before
    assert moved > 30

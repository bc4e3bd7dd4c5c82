"""Constant parts of graphs, computed once, beside PyTorch's."""

import importlib
import sys
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")
# PyTorch's, about attributes that it adds later.
pytestmark = pytest.mark.filterwarnings("ignore:Attempted to insert", "ignore:Failed to fetch")
sys.path.insert(0, str(Path(__file__).parent))

from graph_agreement import same_graphs, same_values  # noqa: E402

LIBRARIES = (rushlight, torch)


def of(library):
    return importlib.import_module(f"{library.__name__}.fx.experimental.const_fold")


def module_class(library):
    class Base(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = library.nn.Parameter(library.tensor([[1.0, -2.0], [3.0, 0.5]]))
            self.register_buffer("table", library.tensor([1.0, 2.0]))
            self.inner = library.nn.Module()
            self.inner.bias = library.nn.Parameter(library.tensor([0.5, -1.0]), False)
            self.inner.act = library.nn.ReLU()

    return Base


def one(self, library, x):
    return x @ (self.weight * 2) + x


def several(self, library, x):
    return (x + self.weight.exp()) * self.inner.act(self.table - self.inner.bias), self.table


def layers(self, library, x):
    return self.inner.act(x + self.inner.act(self.inner.bias)).sum(0), x.neg()


def all_constant(self, library, x):
    return self.weight.sum() + 1


def unread(self, library, x):
    self.weight.relu()
    return x + self.weight


def nothing(self, library, x):
    return x + self.weight


def size(self, library, x):
    return x * self.weight.size(0)


def random_numbers(self, library, x):
    return x + library.rand_like(self.weight) * 0 + self.weight.exp()


MODELS = [one, several, layers, all_constant, unread, nothing, size, random_numbers]


def built(library, model):
    def forward(self, x):
        return model(self, library, x)

    return type("Net", (module_class(library),), {"forward": forward})()


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.__name__)
def test_graphs_are_pytorchs(model):
    found, results = [], []
    for library in LIBRARIES:
        net = built(library, model)
        folded = of(library).split_const_subgraphs(net)
        assert isinstance(folded, of(library).FoldedGraphModule)
        x = library.tensor([[1.0, 2.0], [-3.0, 4.0]])
        results.append((folded(x), folded(x), net(x)))
        found.append(folded)
    ours, theirs = found
    same_graphs(theirs.graph, ours.graph)
    assert ours.fx_const_folded_attrs_name == theirs.fx_const_folded_attrs_name
    if theirs.const_subgraph_module is None:
        assert ours.const_subgraph_module is None and model is nothing
    else:
        same_graphs(theirs.const_subgraph_module.graph, ours.const_subgraph_module.graph)
        assert ours.has_folding_been_run
        name = ours.fx_const_folded_attrs_name
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert type(mine).__name__ == type(other).__name__
        several = isinstance(mine, rushlight.nn.ParameterList)
        pairs = zip(mine, other, strict=True) if several else [(mine, other)]
        for first, second in pairs:
            assert first.requires_grad == second.requires_grad
            same_values(first, second, 1e-6)
    for (mine, again, eager), (other, *_) in [results]:
        same_values(mine, again)
        same_values(mine, eager, 1e-6)
        same_values(mine, other, 1e-6)


def test_constants_are_computed_once():
    answers = []
    for library in LIBRARIES:
        folded = of(library).split_const_subgraphs(built(library, one))
        x = library.ones(1, 2)
        first = folded(x).tolist()
        with library.no_grad():
            folded.const_subgraph_module.weight.zero_()
        answers.append([first, folded(x).tolist()])
        with pytest.raises(AssertionError, match="already"):
            folded.run_folding()
    assert answers[0] == answers[1]
    assert answers[0][0] == answers[0][1]


def test_calls_that_are_skipped():
    found = []
    for library in LIBRARIES:
        net = built(library, several)
        skip = of(library).split_const_subgraphs(net, lambda node: node.name in ("exp", "act"))
        found.append(skip)
    same_graphs(found[1].graph, found[0].graph)
    same_graphs(found[1].const_subgraph_module.graph, found[0].const_subgraph_module.graph)
    whole = of(rushlight).split_const_subgraphs(built(rushlight, one), lambda node: True)
    assert whole.const_subgraph_module is None


def test_traced_modules_with_random_numbers_run_every_time():
    found = []
    for library in LIBRARIES:
        net = built(library, one)
        net.noise = noise(library)
        graph = library.fx.Graph()
        x = graph.placeholder("x")
        table = graph.get_attr("table")
        made = graph.call_module("noise", (graph.call_method("neg", (table,)),))
        graph.output(graph.call_method("add", (x, made)))
        folded = of(library).split_const_subgraphs(library.fx.GraphModule(net, graph))
        found.append(folded)
        x = library.zeros(2)
        assert folded(x).tolist() != folded(x).tolist()
    same_graphs(found[1].graph, found[0].graph)


def noise(library):
    """A traced module that adds random numbers."""
    return library.fx.symbolic_trace(lambda x: x + library.rand_like(x))


def kinds(self, library, x):
    return x.to(self.weight.dtype) * self.weight.exp()


def test_constants_that_are_no_numbers():
    folded = of(rushlight).split_const_subgraphs(built(rushlight, kinds))
    with pytest.raises(TypeError, match="rushlight.float32.*skip_folding_node_fn"):
        folded(rushlight.ones(2))
    net = built(rushlight, kinds)
    kept = of(rushlight).split_const_subgraphs(net, lambda node: node.target is getattr)
    same_values(kept(rushlight.ones(2)), net(rushlight.ones(2)))


def test_free_names_are_pytorchs():
    names = ["weight", "bias", "weight_1", "2x", "a b.c", "training", "_1", "x"]
    found = []
    for library in LIBRARIES:
        layer = library.nn.Linear(1, 1)
        layer.weight_1 = layer._1 = layer._2 = 3
        found.append([of(library).get_unique_attr_name_in_module(layer, name) for name in names])
    assert found[0] == found[1]

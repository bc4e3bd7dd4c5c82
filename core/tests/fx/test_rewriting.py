"""Patterns in graphs and what stands for them afterwards."""

import sys
from pathlib import Path

import pytest

import rushlight
from rushlight import fx

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from graph_agreement import same_graphs, same_values  # noqa: E402


def cases(library):
    """``name -> (program, pattern, replacement)``."""
    functional = library.nn.functional
    return {
        "single": (
            lambda x: library.relu(x) + library.relu(x + 1),
            lambda x: library.relu(x),
            lambda x: library.tanh(x),
        ),
        "chain": (
            lambda x: library.neg(library.relu(x)) * 2,
            lambda x: library.neg(library.relu(x)),
            lambda x: library.clamp(x, max=0.0),
        ),
        "two inputs": (
            lambda x, y: (x @ y + x).sum() + (y @ x + y).sum(),
            lambda a, b: a @ b + a,
            lambda a, b: library.addmm(a, a, b),
        ),
        "used inside": (
            lambda x: library.neg(library.relu(x)) + library.relu(x).exp(),
            lambda x: library.neg(library.relu(x)),
            lambda x: library.tanh(x),
        ),
        "inner value used outside": (
            lambda x: (lambda r: library.neg(r) + r)(library.relu(x)),
            lambda x: library.neg(library.relu(x)),
            lambda x: library.tanh(x),
        ),
        "overlapping": (
            lambda x: library.relu(library.relu(library.relu(x))),
            lambda x: library.relu(library.relu(x)),
            lambda x: library.tanh(x),
        ),
        "literals": (
            lambda x: (x + 1) * (x + 2),
            lambda x: x + 1,
            lambda x: x - 1,
        ),
        "two results": (
            lambda x, y: library.relu(x) * library.tanh(y),
            lambda a, b: (library.relu(a), library.tanh(b)),
            lambda a, b: (library.sigmoid(a), library.neg(b)),
        ),
        "methods": (
            lambda x: x.relu().neg().sum(),
            lambda x: x.relu().neg(),
            lambda x: x.abs(),
        ),
        "keywords": (
            lambda x: functional.dropout(x, p=0.5, training=False) + 1,
            lambda x: functional.dropout(x, 0.5, False),
            lambda x: x * 1.0,
        ),
        "identity": (
            lambda x: library.neg(library.relu(x)),
            lambda x: library.relu(x),
            lambda x: x,
        ),
        "none": (lambda x: x + 1, lambda x: library.relu(x), lambda x: library.tanh(x)),
    }


@pytest.mark.parametrize("name", cases(rushlight))
def test_replacements_are_pytorchs(name):
    results = {}
    for library in (torch, rushlight):
        program, pattern, replacement = cases(library)[name]
        module = library.fx.symbolic_trace(program)
        found = library.fx.replace_pattern(module, pattern, replacement)
        module.graph.lint()
        anchors = [match.anchor.name for match in found]
        maps = [{k.name: str(v) for k, v in match.nodes_map.items()} for match in found]
        results[library] = module, anchors, maps
    ours, theirs = results[rushlight], results[torch]
    same_graphs(theirs[0].graph, ours[0].graph)
    assert ours[1] == theirs[1]
    assert [sorted(m.items()) for m in ours[2]] == [sorted(m.items()) for m in theirs[2]]


def test_replaced_program_computes_the_replacement():
    program, pattern, replacement = cases(rushlight)["two inputs"]
    module = fx.symbolic_trace(program)
    x, y = rushlight.randn(3, 3), rushlight.randn(3, 3)
    fx.replace_pattern(module, pattern, replacement)
    same_values(module(x, y), program(x, y), 1e-5)
    targets = [n.target for n in module.graph.nodes if n.op == "call_function"]
    assert targets.count(rushlight.addmm) == 2


def with_filters(library):
    rewriter = library.fx.subgraph_rewriter

    def program(x):
        return library.add(x, 1) + library.add(x, 2)

    module = library.fx.symbolic_trace(program)

    def even(match, original, pattern):
        return match.nodes_map[pattern.output_node().args[0]].args[1] == 2

    found = rewriter.replace_pattern_with_filters(
        module, lambda x: library.add(x, 7), lambda x: library.neg(x), [even], ignore_literals=True
    )
    return module, [[node.name for node in each.replacements] for each in found]


def test_filters_choose_matches():
    (ours, names), (theirs, wanted) = with_filters(rushlight), with_filters(torch)
    same_graphs(theirs.graph, ours.graph)
    assert names == wanted == [["neg"]]


def test_replacement_may_bring_modules():
    class Replacement(rushlight.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = rushlight.nn.Linear(2, 2)

        def forward(self, x):
            return self.layer(x)

    module, new = fx.symbolic_trace(lambda x: rushlight.relu(x)), Replacement()
    fx.replace_pattern(module, lambda x: rushlight.relu(x), new)
    same_values(module(rushlight.ones(1, 2)), new(rushlight.ones(1, 2)))


def test_pattern_with_dead_code_is_refused():
    def dead(x):
        rushlight.tanh(x)
        return rushlight.relu(x)

    with pytest.raises(AssertionError, match="dead code"):
        fx.replace_pattern(fx.symbolic_trace(lambda x: x), dead, lambda x: x)


def chained(library):
    """A pattern that matches what another match gives: which nodes each match replaced."""
    relu, sigmoid = library.relu, library.sigmoid
    module = library.fx.symbolic_trace(lambda x: relu(relu(relu(relu(x)))))
    found = library.fx.replace_pattern(module, lambda x: relu(relu(x)), lambda x: sigmoid(x))
    return module, [
        sorted((pattern.name, node.name) for pattern, node in match.nodes_map.items())
        for match in found
    ]


def test_matches_of_what_was_replaced():
    (ours, names), (theirs, wanted) = chained(rushlight), chained(torch)
    same_graphs(theirs.graph, ours.graph)
    assert names == wanted
    assert names[1] == [("relu", "relu_2"), ("relu_1", "relu_3"), ("x", "sigmoid")]


def clamped(library):
    """A program of export in which a pattern of overloads is replaced."""
    aten = library.ops.aten
    model = library.nn.Sequential(library.nn.Linear(2, 2), library.nn.ReLU())
    module = library.export.export(model, (library.ones(1, 2),)).module(check_guards=False)
    found = library.fx.replace_pattern(
        module, lambda x: aten.relu.default(x), lambda x: aten.clamp.default(x, 0, 0.5)
    )
    x = library.tensor([[3.0, -8.0]])
    assert module(x).tolist() == model(x).clamp(max=0.5).tolist()
    return len(found), [str(n.target) for n in module.graph.nodes if n.op == "call_function"]


def test_patterns_of_overloads():
    found = clamped(rushlight)
    assert found == clamped(torch) == (1, ["aten.linear.default", "aten.clamp.default"])


def test_overloads_are_targets_of_traced_graphs():
    def traced(library):
        aten = library.ops.aten
        graph = library.fx.symbolic_trace(lambda x: aten.add.Tensor(aten.relu.default(x), x)).graph
        return [(n.name, str(n.target)) for n in graph.nodes if n.op == "call_function"]

    assert traced(rushlight) == traced(torch)

"""Sizes, layers' attributes, types and sources of nodes, beside PyTorch's."""

import importlib
import sys
from pathlib import Path
from typing import List, NamedTuple, Tuple  # noqa: UP035 - both spellings are annotations

import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from graph_agreement import everything_inside, same_graphs, target_name  # noqa: E402
from programs import models  # noqa: E402

LIBRARIES = (rushlight, torch)


def of(library, name):
    return importlib.import_module(f"{library.__name__}.fx.passes.{name}")


def trace(library, name="ResNet"):
    return library.fx.symbolic_trace(models(library)[name][0].eval())


def test_replaced_targets_are_pytorchs():
    graphs = []
    for library in LIBRARIES:
        module = trace(library)
        before = module.graph
        change = of(library, "graph_manipulation").replace_target_nodes_with
        (add, *_) = (n for n in before.nodes if target_name(n.target) == "add")
        change(module, "call_function", add.target, "call_method", "mul")
        assert module.graph is not before and module.graph.owning_module is module
        assert not [n for n in module.graph.nodes if target_name(n.target) == "add"]
        graphs.append(module.graph)
    same_graphs(graphs[1], graphs[0])


def test_replaced_targets_compute():
    change = of(rushlight, "graph_manipulation").replace_target_nodes_with
    module = rushlight.fx.symbolic_trace(lambda x, y: rushlight.sub(x, y) * 2)
    change(module, "call_function", rushlight.sub, "call_function", rushlight.add)
    assert module(rushlight.ones(1), rushlight.tensor([4.0])).tolist() == [10.0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sizes_are_pytorchs(dtype):
    sizes = []
    for library in LIBRARIES:
        kind = getattr(library, dtype)
        module = trace(library).to(kind)
        x = library.ones(2, 3, 16, 16, dtype=kind)
        of(library, "graph_manipulation").get_size_of_all_nodes(module, [x])
        sizes.append(
            [(n.name, tuple(n.size_bytes)) for n in module.graph.nodes if n.op != "output"]
        )
    assert sizes[0] == sizes[1]
    assert any(output != total for _, (output, total) in sizes[0])


def test_sizes_need_shapes():
    for library in LIBRARIES:
        module = trace(library)
        ask = of(library, "graph_manipulation")
        with pytest.raises(RuntimeError, match="has no"):
            ask.get_size_of_all_nodes(module)
        with pytest.raises(RuntimeError, match="has no"):
            ask.get_tensor_meta(next(iter(module.graph.nodes)))


# ------------------------------------------------------------------------------- layers' attributes
def layers(library):
    nn = library.nn
    return [
        nn.Linear(2, 3), nn.Linear(2, 3, bias=False), nn.BatchNorm2d(2, eps=0.1), nn.ReLU(True),
        nn.Conv2d(2, 4, (1, 3), 2, 1, groups=2), nn.AdaptiveAvgPool2d(1), nn.MaxPool2d(2),
    ]  # fmt: skip


def shown(attributes):
    """Attributes in a form that both libraries share."""
    plain = {key: getattr(value, "shape", value) for key, value in attributes.items()}
    plain["name"] = plain["name"].rpartition(".")[2]
    return {key: tuple(v) if isinstance(v, tuple) else v for key, v in plain.items()}


def test_attributes_of_layers_are_pytorchs():
    found = []
    for library in LIBRARIES:
        fetch = of(library, "param_fetch")
        found.append([shown(fetch.extract_attrs_for_lowering(each)) for each in layers(library)])
        assert fetch.default_matching("weight", 3) == "weight"
        layer = library.nn.Linear(1, 1)
        assert fetch.extract_attrs_for_lowering(layer)["weight"] is layer.weight
        layer._version = 2
        for unknown in (library.nn.GELU(), layer):
            with pytest.raises(RuntimeError, match="module_fetch_book"):
                fetch.extract_attrs_for_lowering(unknown)
    assert found[0] == found[1]


def test_attributes_of_layers_at_nodes():
    found = []
    for library in LIBRARIES:
        inner = library.fx.symbolic_trace(library.nn.Sequential(library.nn.ReLU()))
        outer = library.nn.Sequential(library.nn.Linear(2, 2), inner)
        graph = library.fx.Graph()
        x = graph.placeholder("x")
        graph.output(graph.call_module("1", (graph.call_module("0", (x,)),)))
        module = library.fx.GraphModule(outer, graph)
        of(library, "param_fetch").lift_lowering_attrs_to_nodes(module)
        nodes = [*module.graph.nodes, *getattr(module, "1").graph.nodes]
        found.append(
            [shown(n.attrs_for_lowering) for n in nodes if hasattr(n, "attrs_for_lowering")]
        )
    assert found[0] == found[1] and len(found[0]) == 2


# --------------------------------------------------------------------------------- types of items
class Named(NamedTuple):
    size: int
    name: str


KINDS = [
    Tuple[int, str], Tuple[int, ...], List[str], tuple[str, int], tuple[str, ...], list[int],  # noqa: UP006
    Named, None, int | None, dict[str, int],
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("index", [0, 1])
def test_types_of_items_are_pytorchs(kind, index):
    found = []
    for library in LIBRARIES:
        graph = library.fx.Graph()
        x = graph.placeholder("x", type_expr=kind)
        item = graph.call_function(importlib.import_module("operator").getitem, (x, index))
        graph.output(item)
        of(library, "annotate_getitem_nodes").annotate_getitem_nodes(graph)
        found.append(item.type)
    assert found[0] is found[1]
    if kind not in (None, int | None, dict[str, int]):
        assert found[0] in (int, str)


def test_items_outside_and_slices():
    take = importlib.import_module("operator").getitem
    for library in LIBRARIES:
        annotate = of(library, "annotate_getitem_nodes").annotate_getitem_nodes
        graph = library.fx.Graph()
        item = graph.call_function(take, (graph.placeholder("x", type_expr=tuple[int, str]), 2))
        with pytest.raises(AssertionError, match="2"):
            annotate(graph)
        item.update_arg(1, -1)
        annotate(graph)
        assert item.type is str
    graph = rushlight.fx.Graph()
    item = graph.call_function(take, (graph.placeholder("x", type_expr=list[int]), slice(2)))
    of(rushlight, "annotate_getitem_nodes").annotate_getitem_nodes(graph)
    assert item.type is None


# ----------------------------------------------------------------------------------------- sources
def net(library):
    nn = library.nn
    return nn.Sequential(
        nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 3)), nn.LayerNorm(3)
    )


def described(parts):
    """Parts by the names of their nodes."""
    sets = ("input_nodes", "output_nodes", "params")
    return {
        getattr(source, "__name__", source): [
            ([n.name for n in part.nodes], part.source is source,
             *(sorted(n.name for n in getattr(part, each)) for each in sets))
            for part in each_of
        ]
        for source, each_of in parts.items()
    }  # fmt: skip


def test_sources_of_traces_are_pytorchs():
    found = []
    for library in LIBRARIES:
        graph = everything_inside(library)().trace(net(library))
        match = of(library, "utils.source_matcher_utils")
        wanted = [library.nn.Linear, library.nn.ReLU, library.nn.Conv2d]
        parts = match.get_source_partitions(graph, wanted)
        (relu,), (first, second) = parts[library.nn.ReLU], parts[library.nn.Linear]
        pairs = [(first, relu), (relu, first), (relu, second), (first, second)]
        joined = [match.check_subgraphs_connected(*pair) for pair in pairs]
        kept = match.get_source_partitions(graph, wanted, lambda node: node.name != "linear_1")
        any_layer = match.get_source_partitions(graph, [library.nn.Module])
        found.append([described(parts), joined, described(kept), described(any_layer)])
    assert found[0] == found[1]
    assert found[0][1] == [True, False, True, False]


def test_sources_of_exported_programs_are_pytorchs():
    found = []
    for library, options in ((rushlight, {}), (torch, {"strict": False})):
        graph = library.export.export(net(library), (library.ones(1, 2),), **options).graph
        match = of(library, "utils.source_matcher_utils")
        wanted = [library.nn.Linear, library.nn.LayerNorm, library.nn.Module]
        parts = described(match.get_source_partitions(graph, wanted))
        found.append([[(n, o) for n, _, _, o, _ in each] for each in parts.values()])
    assert found[0] == found[1] and len(found[0]) == 2


def test_sources_that_nodes_name():
    found = []
    for library in LIBRARIES:
        graph = library.fx.symbolic_trace(lambda x: (x.neg().abs() + 1) * 2).graph
        for node, name in zip(list(graph.nodes)[1:], ("one", "one", "two"), strict=False):
            node.meta["source_fn_stack"] = [("other", max), (name, min)]
        parts = of(library, "utils.source_matcher_utils").get_source_partitions(graph, [min, max])
        found.append(described(parts))
    assert found[0] == found[1] and len(found[0]["min"]) == 2

"""Helpers of `fx` that programs name: extracted and optimized models, patterns with names, parts by
a dict, annotated functions, modules made anew."""

import pickle

import pytest

import rushlight
from rushlight import fx, nn
from rushlight.fx.experimental import optimization
from rushlight.fx.graph_module import reduce_graph_module
from rushlight.fx.passes.split_module import split_module_simple
from rushlight.fx.passes.utils.matcher_with_name_node_map_utils import (
    SubgraphMatcherWithNameNodeMap,
)
from rushlight.fx.traceback import annotate_fn, preserve_node_meta

F = nn.functional


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        rushlight.manual_seed(0)
        self.conv, self.norm = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)
        self.drop, self.last = nn.Dropout(), nn.Linear(4, 2)
        self.norm.running_mean.copy_(rushlight.tensor([0.5, -0.5, 0.1]))

    def forward(self, x):
        return self.last(self.drop(self.norm(self.conv(x)).relu()))


def kinds(module):
    return [type(m).__name__ for m in module.children()]


@pytest.mark.parametrize(
    ("config", "left"),
    [
        (None, ["Conv2d", "Linear"]),
        ({"remove_dropout": False}, ["Conv2d", "Dropout", "Linear"]),
        ({"conv_bn_fuse": False, "mkldnn_layout_optimize": False},
         ["Conv2d", "BatchNorm2d", "Linear"]),
    ],
)  # fmt: skip
def test_optimized_models_compute_the_same(config, left):
    model, x = Layers().eval(), rushlight.randn(1, 2, 6, 6)
    made = optimization.optimize_for_inference(model, config)
    assert kinds(made) == left
    rushlight.testing.assert_close(made(x), model(x))
    assert made.last.weight is not model.last.weight


def test_layouts_are_refused():
    for config, error in (({"heuristic": len}, NotImplementedError), (True, RuntimeError)):
        with pytest.raises(error, match="mkldnn_layout_optimize"):
            optimization.optimize_for_inference(Layers().eval(), {"mkldnn_layout_optimize": config})
    for call in (
        lambda: optimization.modules_to_mkldnn([], {}),
        lambda: optimization.use_mkl_length(None),
        lambda: optimization.gen_mkl_autotuner([]),
    ):
        with pytest.raises(NotImplementedError, match="rushlight.compile"):
            call()


def test_extracted_parts_and_modules_put_back():
    model, x = fx.symbolic_trace(Layers().eval()), rushlight.randn(1, 2, 6, 6)
    by_name = {node.name: node for node in model.graph.nodes}
    nodes = [by_name["norm"], by_name["relu"]]
    part = optimization.extract_subgraph(model, nodes, [by_name["conv"]], nodes)
    inner = model.conv(x)
    normed = model.norm(inner)
    rushlight.testing.assert_close(part(inner), (normed, normed.relu()))

    modules, old, new = dict(model.named_modules()), model.last, nn.Identity()
    optimization.replace_node_module(by_name["last"], modules, new)
    assert model.last is new
    optimization.reset_modules(model.graph.nodes, modules, {new: old})
    assert model.last is old and modules["last"] is old


def pattern(x, weight):
    conv = F.conv2d(x, weight)
    relu = F.relu(conv)
    return relu, {"conv": conv, "relu": relu}


def target(x, weight):
    first = F.relu(F.conv2d(x * 2, weight))
    return F.relu(F.conv2d(first, weight)) + 1


def test_nodes_by_the_names_of_a_pattern():
    graph = fx.symbolic_trace(target).graph
    matches = SubgraphMatcherWithNameNodeMap(fx.symbolic_trace(pattern)).match(graph)
    found = [{k: n.name for k, n in match.name_node_map.items()} for match in matches]
    assert found == [{"conv": "conv2d", "relu": "relu"}, {"conv": "conv2d_1", "relu": "relu_1"}]


def test_patterns_that_are_exported():
    weight, x = rushlight.ones(3, 3, 1, 1), rushlight.ones(1, 3, 4, 4)

    class Of(nn.Module):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def forward(self, x, weight):
            return self.function(x, weight)

    made, searched = (
        rushlight.export.export(Of(f), (x, weight)).module() for f in (pattern, target)
    )
    matches = SubgraphMatcherWithNameNodeMap(made).match(searched.graph)
    assert [str(m.name_node_map["conv"].target) for m in matches] == ["aten.conv2d.default"] * 2
    assert len({m.name_node_map["relu"].name for m in matches}) == 2


def test_patterns_without_names_are_refused():
    with pytest.raises(AssertionError, match="dict of nodes by name"):
        SubgraphMatcherWithNameNodeMap(fx.symbolic_trace(target))


def test_parts_by_a_dict():
    model = fx.symbolic_trace(lambda x: (x + 1).relu() * 2)
    _, *nodes, _ = model.graph.nodes
    parts = split_module_simple(
        model, dict(zip(nodes, (0, 0, 1), strict=True)), partition_affix="a"
    )
    assert [name for name, _ in parts.named_children()] == ["submod_a_0", "submod_a_1"]
    x = rushlight.tensor([-3.0, 1.0])
    rushlight.testing.assert_close(parts(x), model(x))


def test_functions_annotate_their_nodes():
    @annotate_fn({"stage": 2})
    def inner(x):
        return x.relu()

    with preserve_node_meta():
        graph = fx.symbolic_trace(lambda x: inner(x + 1) * 2).graph
    assert [node.meta.get("custom") for node in graph.nodes if "call" in node.op] == [
        None, {"stage": 2}, None,
    ]  # fmt: skip
    assert inner.__name__ == "inner"


def test_modules_made_of_their_source():
    model = fx.symbolic_trace(Layers().eval())
    x = rushlight.randn(1, 2, 6, 6)
    function, args = model.__reduce__()
    assert function is reduce_graph_module
    rushlight.testing.assert_close(function(*args)(x), model(x))
    body = {k: v for k, v in model.__dict__.items() if k != "_graph"} | {"_code": model.code}
    made = reduce_graph_module(body, "import rushlight")
    rushlight.testing.assert_close(made(x), model(x))
    rushlight.testing.assert_close(pickle.loads(pickle.dumps(model))(x), model(x))

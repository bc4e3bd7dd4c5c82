"""Helpers of `fx` that programs name: extracted and optimized models, patterns with names, parts by
a dict, annotated functions, modules made anew."""

import contextlib
import pdb
import pickle

import pytest

import rushlight
from rushlight import fx, nn
from rushlight.fx import _symbolic_trace, proxy, traceback
from rushlight.fx.experimental import debug, optimization, rewriter
from rushlight.fx.graph_module import reduce_graph_module
from rushlight.fx.graph_text import (
    first_call_function_nn_module_stack,
    get_node_context,
    lazy_format_graph_code,
)
from rushlight.fx.passes.split_module import split_module_simple
from rushlight.fx.passes.utils.matcher_with_name_node_map_utils import (
    SubgraphMatcherWithNameNodeMap,
)
from rushlight.fx.proxy import MetaProxy
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


# ------------------------------------------------------------------------------- proxies and nodes
def test_proxies_with_values():
    node = fx.Graph().placeholder("x")
    node.meta["val"] = rushlight.ones(2, 3)
    x = MetaProxy(node, fake_mode=contextlib.nullcontext())
    made = rushlight.add(rushlight.relu(x), x)
    assert isinstance(made, MetaProxy) and repr(made) == "MetaProxy(add)"
    assert made.node.meta["val"].tolist() == [[2.0] * 3] * 2
    assert type(made + 1) is type(made.sum()) is fx.Proxy and not (made + 1).node.meta
    with pytest.raises(AssertionError, match="No MetaProxy"):
        rushlight.cat([x, x])
    with pytest.raises(TypeError, match="context manager"):
        rushlight.relu(MetaProxy(node))


def test_what_assertions_become():
    assert proxy.assert_fn(rushlight.tensor(3)) is None
    with pytest.raises(AssertionError, match="Assertion failed"):
        proxy.assert_fn(rushlight.tensor(0))


def test_named_inputs_of_structures():
    class Named(_symbolic_trace.PHWithMeta):
        pass

    marker = Named("first")
    marker.meta, marker.extra, seen = {"z": 1}, 5, []

    def program(a, b):
        seen.append(a["x"].extra)
        return a["x"] + b

    graph = fx.symbolic_trace(program, concrete_args={"a": {"x": marker}}).graph
    node = next(iter(graph.nodes))
    assert (node.ph_key, node.extra, node.meta) == ("first", 5, {})
    assert isinstance(seen[0], fx.Proxy)  # an attribute of the input, not of the marker


def test_tracing_that_is_not_compiling():
    seen = []

    def program(x):
        seen.append(_symbolic_trace.is_fx_symbolic_tracing())
        return x

    fx.symbolic_trace(program)
    program(1)
    assert seen == [True, False]


def test_nodes_made_anew_and_functions_of_backward_passes():
    node = fx.Graph().placeholder("x")
    with traceback.set_current_replay_node(node):
        assert traceback.get_current_replay_node() is node
        with traceback.set_current_replay_node(None):
            assert traceback.get_current_replay_node() is None
    assert traceback.get_current_replay_node() is None
    traceback.set_grad_fn_seq_nr(1)  # nothing, as nodes inherit nothing
    assert not traceback.get_current_meta()
    with preserve_node_meta():
        for number in (3, 5):
            traceback.set_grad_fn_seq_nr(number)
        assert traceback.get_current_meta() == {"grad_fn_seq_nr": [3, 5], "in_grad_fn": 2}
        traceback.reset_grad_fn_seq_nr()
        assert traceback.get_current_meta() == {"grad_fn_seq_nr": [3], "in_grad_fn": 1}
        traceback.reset_grad_fn_seq_nr()
        assert traceback.get_current_meta() == {}
        with pytest.raises(AssertionError, match="current_level > 0, got 0"):
            traceback.reset_grad_fn_seq_nr()


def test_what_nodes_were_made_of():
    module = fx.symbolic_trace(lambda x: (x + 1).relu())
    add = next(node for node in module.graph.nodes if node.name == "add")
    add.meta["from_node"] = [traceback.NodeSource(add, "mine")]
    found = traceback.get_graph_provenance_json(module.graph)
    assert list(found) == ["add"] and found["add"][0]["pass_name"] == "mine"


def test_sets_that_are_joined():
    sets = optimization.UnionFind(4)
    for number in range(3):
        sets.make_set(number)
    assert sets.join(0, 1) == 0 and sets.join(2, 1) == 0 and sets.join(1, 2) == 0
    assert [sets.find(number) for number in range(3)] == [0, 0, 0] and sets.size[0] == 3
    with pytest.raises(AssertionError, match="make_set"):
        sets.find(3)


def test_graphs_as_text():
    module = fx.symbolic_trace(lambda x: (x + 1).relu())
    text = str(lazy_format_graph_code("mine", module, 3))
    assert text.startswith("TRACED GRAPH\n ===== mine 3 =====\n ") and "relu = add.relu()" in text
    nodes = list(module.graph.nodes)
    assert get_node_context(nodes[2]) == "\n".join(n.format_node() for n in nodes[1:3])
    assert get_node_context(nodes[0], 5) == nodes[0].format_node()
    assert first_call_function_nn_module_stack(module.graph) is None
    nodes[1].meta["nn_module_stack"] = {"a": ("a", nn.Linear)}
    assert first_call_function_nn_module_stack(module.graph) == {"a": ("a", nn.Linear)}


def test_breakpoints_in_graphs(monkeypatch):
    module, stops = fx.symbolic_trace(lambda x: x + 1), []
    monkeypatch.setattr(pdb, "set_trace", lambda: stops.append(1))
    assert debug.set_trace(module)(rushlight.ones(1)).tolist() == [2.0] and stops == [1]
    module.recompile()
    assert module(rushlight.ones(1)).tolist() == [2.0] and stops == [1]


# -------------------------------------------------------------------------------- rewritten sources
class Checked(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.factor = nn.Parameter(rushlight.tensor([1.0, 2.0])), 5

    def forward(self, x):
        assert x.sum() > 0, "low"
        y: rushlight.Tensor = x * self.weight
        return y * self.factor


def test_assertions_are_traced():
    model = Checked()
    tracer = rewriter.RewritingTracer()
    graph = tracer.trace(model)
    module = fx.GraphModule(tracer.root, graph)
    assert type(tracer.root).__name__ == "RewrittenModule" and type(model) is Checked
    assert any(node.target is rushlight._assert for node in graph.nodes)
    types = {node.name: node.type for node in module.graph.nodes}
    assert types["mul"] is rushlight.Tensor and types["mul_1"] is None
    x = rushlight.tensor([1.0, 3.0])
    rushlight.testing.assert_close(module(x), model(x))
    with pytest.raises(AssertionError, match="low"):
        module(-x)


def test_rewritten_functions_keep_what_they_read():
    limit = 7.0

    def program(x, *, times=2):
        assert x.sum() < limit
        return x * times + limit

    graph = rewriter.RewritingTracer().trace(program, {"times": 2})
    module = fx.GraphModule({}, graph)
    assert module(rushlight.ones(1), 2).tolist() == [9.0]
    with pytest.raises(AssertionError):
        module(rushlight.ones(8), 2)
    with pytest.raises(ValueError, match="no `def`"):
        rewriter.AST_Rewriter().rewrite(lambda x: x)

"""``node.meta`` of exported programs: what PyTorch's nodes have, on the same nodes."""

import importlib
import io

import pytest

import rushlight
from rushlight.export import unflatten
from rushlight.fx.traceback import NodeSource, NodeSourceAction

# of PyTorch's own classes, when it copies programs
pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")


@pytest.fixture(params=["rushlight", "torch"])
def library(request):
    return pytest.importorskip(request.param)


class Model:
    """Made a module of either library."""

    def __init__(self, library):
        super().__init__()
        self.library = library
        self.first, self.second = library.nn.Linear(4, 4), library.nn.LayerNorm(4)

    def forward(self, x):
        functional = self.library.nn.functional
        y = functional.relu(self.first(x)) + 1
        y = functional.gelu(y + self.library.add(y, 2)).sum(1)
        low, high = self.library.split(self.second(x), 2, dim=1)
        return functional.softmax(y, dim=0), low.sin(), high.reshape(-1), self.second(x)


def exported(library):
    model = type("Model", (Model, library.nn.Module), {})(library)
    return library.export.export(model, (library.ones(2, 4),))


# The names of functions, which stand behind the type of the function as Python has it.
CALLED = {
    "linear": "linear", "relu": "relu", "add": "add", "add_1": "add", "add_2": "add",
    "gelu": "gelu", "sum_1": "sum", "layer_norm": "layer_norm", "split": "split",
    "getitem": "split", "getitem_1": "split", "layer_norm_1": "layer_norm", "softmax": "softmax",
    "sin": "sin", "reshape": "reshape",
}  # fmt: skip


def called(node):
    return node.meta["torch_fn"][1].partition(".")[2]


def calls(graph):
    return [node for node in graph.nodes if node.op == "call_function"]


def test_functions_that_nodes_are_calls_of(library):
    nodes = {node.name: node for node in calls(exported(library).graph)}
    assert {name: called(node) for name, node in nodes.items()} == CALLED
    names = [nodes[name].meta["torch_fn"][0] for name in ("split", "getitem", "getitem_1")]
    assert names == ["split_1"] * 3
    kept = [nodes[name].meta["torch_fn"][0] for name in ("layer_norm", "layer_norm_1")]
    assert kept == ["layer_norm_1", "layer_norm_2"]


def test_composites_are_parts_of_one_call():
    x = rushlight.ones(2, 4)

    class Split(rushlight.nn.Module):
        def forward(self, x):
            return rushlight.nn.functional.cosine_embedding_loss(x, x + 1, x[:, 0])

    program = rushlight.export.export(Split(), (x,))
    parts = program.run_decompositions().graph
    assert {node.meta["torch_fn"] for node in calls(program.graph)} >= {
        node.meta["torch_fn"] for node in calls(parts)
    }


def test_decomposed_nodes_keep_what_they_were_made_of(library):
    program = exported(library)
    before = {node.name: node for node in calls(program.graph)}
    for node in calls(program.run_decompositions().graph):
        (source,) = node.meta["from_node"]
        origin = before[source.name]
        assert source.target == str(origin.target)
        assert source.graph_id == id(program.graph) or library is not rushlight
        assert [action.name for action in source.action] == ["CREATE"]
        for key in ("torch_fn", "nn_module_stack", "stack_trace"):
            assert node.meta[key] == origin.meta[key], (node, key)


def test_nodes_of_modules_say_which_nodes_they_were(library):
    program = exported(library)
    module = program.module(check_guards=False)
    found = {node.name: node.meta["from_node"][-1] for node in module.graph.nodes}
    assert found["linear"].name == "linear"
    assert found["linear"].pass_name == "ExportedProgram.module()"
    replaced = found["first_weight"]
    assert (replaced.name, replaced.target) == ("p_first_weight", "p_first_weight")
    assert [action.name for action in replaced.action] == ["CREATE", "REPLACE"]
    assert [(each.name, each.pass_name) for each in replaced.from_node] == [
        ("p_first_weight", "ExportedProgram.module()")
    ]
    again = library.export.export(module, (library.ones(2, 4),)).module().graph
    assert all(node.meta.get("torch_fn") for node in calls(again))


def test_sources_as_dicts_and_text(library):
    home = importlib.import_module(f"{library.__name__}.fx.traceback")
    graph = library.fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(abs, (x,))
    create, replace = home.NodeSourceAction.CREATE, home.NodeSourceAction.REPLACE
    y.meta["from_node"] = [home.NodeSource(x, "first", create)]
    source = home.NodeSource(y, "second", [create, replace])
    number = id(graph)
    assert source.to_dict() == {
        "name": "abs_1", "target": "<built-in function abs>", "graph_id": number,
        "pass_name": "second", "action": "create+replace",
        "from_node": [{
            "name": "x", "target": "x", "graph_id": number, "pass_name": "first",
            "action": "create", "from_node": [],
        }],
    }  # fmt: skip
    assert str(source).splitlines() == [
        f"(name=abs_1, pass_name=second, action=create+replace, graph_id={number})",
        f"    (name=x, pass_name=first, action=create, graph_id={number})",
    ]
    assert home.NodeSource._from_dict(source.to_dict()) == source
    assert hash(home.NodeSource(x)) == hash(home.NodeSource(x)) != hash(source)
    assert home.NodeSource(None).name == "" and home.NodeSource(None).graph_id == -1


def test_interpreters_note_what_new_nodes_are_made_of():
    program = exported(rushlight)
    with rushlight.fx.traceback.preserve_node_meta():
        interpreter = rushlight.fx.Interpreter(program.module(check_guards=False))
        seen = []
        interpreter.call_function = lambda target, args, kwargs: (
            seen.append(rushlight.fx.traceback.get_current_meta()["from_node"][-1]),
            target(*args, **kwargs),
        )[1]
        interpreter.run(rushlight.ones(2, 4))
    assert isinstance(seen[0], NodeSource)
    assert (seen[0].name, seen[0].action) == ("linear", [NodeSourceAction.CREATE])
    assert [each.name for each in seen[0].from_node] == ["linear"]


def test_archives_keep_metadata(library):
    program = exported(library).run_decompositions()
    (node,) = program.graph.find_nodes(op="call_function", target=library.ops.aten.sin.default)
    node.meta["custom"] = {"scale": [1, 2.5], "name": "low"}
    file = io.BytesIO()
    library.export.save(program, file)
    for reader in {rushlight, library}:
        file.seek(0)
        loaded = {node.name: node for node in calls(reader.export.load(file).graph)}
        for before in calls(program.graph):
            meta = loaded[before.name].meta
            if library is rushlight or str(before.target)[0] == "a":  # not of getitem
                assert meta["torch_fn"] == before.meta["torch_fn"]
                found, wanted = ([s.to_dict() for s in m["from_node"]] for m in (meta, before.meta))
                assert found == wanted
        assert loaded["sin"].meta["custom"] == {"scale": [1, 2.5], "name": "low"}


def test_unflattened_graphs_have_values(library):
    module = library.export.unflatten(exported(library))
    for graph in (module.graph, module.second.graph):
        for node in graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                assert tuple(node.meta["val"].shape) in [(2, 4), (4,), (4, 4)]


class Choosing:
    """Made a module of either library."""

    def __init__(self, library):
        super().__init__()
        self.library, self.linear = library, library.nn.Linear(3, 3)
        self.register_buffer("shift", library.ones(3))

    def forward(self, x, y):
        sin = x.sin()

        def high(a, b):
            return a.sin().add(b) + self.shift

        def low(a, b):
            return self.linear(a).sin() * b

        return self.library.cond(x.sum() > 0, high, low, (sin, y))


def test_inputs_of_branches_have_the_names_of_what_they_are_given(library):
    model = type("Choosing", (Choosing, library.nn.Module), {})(library)
    args = library.ones(2, 3), library.ones(2, 3)
    program = library.export.export(model, args)
    for each in (program, program.run_decompositions()):
        (choice,) = [node for node in calls(each.graph) if node.target.__name__ == "cond"]
        outer = [node.name for node in choice.args[3]]
        assert str(choice.target) == "cond"
        assert sorted(outer) == ["b_shift", "p_linear_bias", "p_linear_weight", "sin", "y"]
        for name in ("true_graph_0", "false_graph_0"):
            graph = getattr(each.graph_module, name).graph
            inputs = [node for node in graph.nodes if node.op == "placeholder"]
            assert [node.name for node in inputs] == [node.target for node in inputs] == outer
            inner = [node.name for node in calls(graph)]
            assert "sin_1" in inner and not set(inner) & set(outer)
            assert all(node.meta["torch_fn"] for node in calls(graph))
    graphs = [node for node in program.graph.nodes if node.op == "get_attr"]
    assert len(graphs) == 2 and all(node.meta["nn_module_stack"] for node in graphs)
    found = program.module()(*args)
    assert found.shape == (2, 3) and found.tolist() == model(*args).tolist()


def test_unflattened_choices_run():
    model = type("Choosing", (Choosing, rushlight.nn.Module), {})(rushlight)
    args = rushlight.ones(2, 3), rushlight.ones(2, 3)
    module = unflatten(rushlight.export.export(model, args))
    for given in (args, (-args[0], args[1])):
        assert module(*given).tolist() == model(*given).tolist()


def test_sources_are_found_by_names_of_functions(library):
    home = importlib.import_module(f"{library.__name__}.fx.passes.utils.source_matcher_utils")
    found = home.get_source_partitions(exported(library).graph, ["linear", "split"])
    assert {name: [str(n) for p in parts for n in p.nodes] for name, parts in found.items()} == {
        "linear": ["linear"], "split": ["split", "getitem", "getitem_1"],
    }  # fmt: skip

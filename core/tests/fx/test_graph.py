"""Building and changing graphs: each script gives the same with both libraries."""

import copy
import operator
import pickle
import sys
import warnings
from pathlib import Path

import pytest

import rushlight
from rushlight import fx

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from graph_agreement import plain, rows  # noqa: E402


def small(library):
    """x, y -> relu(x) + y, and its nodes by name."""
    graph = library.fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y", default_value=3)
    relu = graph.call_function(library.relu, (x,))
    add = graph.call_function(operator.add, (relu,), {})
    add.args = (relu, y)
    graph.output(add)
    return graph, {node.name: node for node in graph.nodes}


def text(graph):
    return str(graph).replace("rushlight", "torch")


def names_of_nodes(library):
    graph = library.fx.Graph()
    wanted = "x relu relu relu_1 relu_5 relu 1abc a.b-c input torch device self len inf None x_1 x"
    for name in wanted.split():
        graph.placeholder(name)
    graph.call_method("__add__", ())
    graph.call_method("MaxPool2d", ())
    graph.call_module("layer1.0.conv")
    graph.get_attr("0.weight")
    graph.call_function(max, ())
    graph.create_node("call_function", library.relu, name="given")
    graph.create_node("call_function", library.relu, name="given")
    return [node.name for node in graph.nodes]


def users(library):
    _, nodes = small(library)
    return [([*map(str, n.users)], [*map(str, n.all_input_nodes)]) for n in nodes.values()]


def replaced_uses(library):
    graph, nodes = small(library)
    with graph.inserting_after(nodes["relu"]):
        tanh = graph.call_function(library.tanh, (nodes["x"],))
    changed = nodes["relu"].replace_all_uses_with(tanh)
    graph.erase_node(nodes["relu"])
    return text(graph), [*map(str, changed)]


def replaced_uses_in_part(library):
    graph, nodes = small(library)
    with graph.inserting_before(nodes["output"]):
        items = [nodes["relu"], {"a": nodes["y"]}]
        more = graph.call_function(operator.mul, (nodes["relu"], items))
    changed = nodes["relu"].replace_all_uses_with(nodes["x"], lambda user: user is more)
    return text(graph), [*map(str, changed)]


def replaced_input(library):
    graph, nodes = small(library)
    nodes["add"].replace_input_with(nodes["y"], nodes["x"])
    return text(graph), [*map(str, nodes["y"].users)]


def changed_arguments(library):
    graph, nodes = small(library)
    nodes["add"].update_arg(1, 7)
    nodes["add"].insert_arg(0, nodes["y"])
    nodes["add"].update_kwarg("alpha", nodes["x"])
    nodes["relu"].kwargs = {"inplace": True}
    return text(graph), [*map(str, nodes["x"].users)]


def moved(library):
    graph, nodes = small(library)
    nodes["x"].append(nodes["relu"])
    nodes["y"].prepend(nodes["x"])
    nodes["x"].prepend(nodes["x"])
    order = [node.name for node in graph.nodes]
    back = [node.name for node in reversed(graph.nodes)]
    x, relu = nodes["x"], nodes["relu"]
    return order, back, x < relu, relu < x, x <= x, relu > x, str(x.next), str(relu.prev)


def insertion_points(library):
    graph, nodes = small(library)
    with graph.inserting_before(nodes["relu"]):
        graph.call_function(library.neg, (nodes["x"],))
        with graph.inserting_after(nodes["x"]):
            graph.call_function(library.abs, (nodes["x"],))
            graph.call_function(library.exp, (nodes["x"],))
        graph.call_function(library.sin, (nodes["x"],))
    with graph.inserting_before():
        graph.placeholder("z")
    graph.call_function(library.cos, (nodes["x"],))
    return [node.name for node in graph.nodes]


def dead_code(library):
    graph, nodes = small(library)
    with graph.inserting_before(nodes["output"]):
        unused = graph.call_function(library.exp, (nodes["x"],))
        graph.call_function(library.neg, (unused,))
        graph.call_function(library.rand, (2,))
        graph.call_function(operator.setitem, (nodes["x"], 0, 1))
        graph.call_method("add", (nodes["x"], 1))
        graph.get_attr("weight")
    first = graph.eliminate_dead_code(), [node.name for node in graph.nodes]
    return first, graph.eliminate_dead_code()


def copied(library):
    graph, nodes = small(library)
    nodes["relu"].meta["note"] = 1
    new = copy.deepcopy(graph)
    other = library.fx.Graph()
    z = other.placeholder("z")
    values = {nodes["x"]: z}
    result = other.graph_copy(graph, values)
    other.output(other.node_copy(nodes["relu"], lambda n: values[n]))
    return text(new), text(other), str(result), [n.meta for n in new.nodes]


def found(library):
    graph, _ = small(library)
    kinds = [[*map(str, graph.find_nodes(op=op))] for op in ("placeholder", "output")]
    relu = graph.find_nodes(op="call_function", target=library.relu)
    return kinds, [*map(str, relu)], str(graph.output_node()), len(graph.nodes)


def formats(library):
    graph, nodes = small(library)
    nodes["relu"].type = library.Tensor
    nodes["x"].type = int
    lines = [node.format_node() for node in graph.nodes]
    return [line.replace("rushlight", "torch") for line in lines], text(graph)


def mapped(library):
    _, nodes = small(library)
    x = nodes["x"]
    structure = (x, [1, x, {"a": x}], slice(x, None, 2), "x")
    return plain(library.fx.map_arg(structure, lambda node: node.name.upper()))


def purity(library):
    graph, nodes = small(library)
    return {name: node.is_impure() for name, node in nodes.items()}


def inplace_code(library):
    graph = library.fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("*rest")
    graph.call_function(operator.iadd, (x, 1))
    graph.call_function(operator.setitem, (x, slice(None), 2))
    graph.call_function(operator.getitem, (x, (slice(1, None), None, Ellipsis)))
    graph.call_function(getattr, (x, "shape"))
    graph.call_function(getattr, (x, "not an identifier"))
    graph.call_function(operator.neg, (x,))
    graph.call_function(operator.abs, (x,))
    graph.call_module("layers.0.inner", (x,), {"scale": 1.5})
    graph.get_attr("layers.0.weight")
    graph.call_function(library.zeros, ((2, 3),), {"dtype": library.float32})
    graph.call_function(library.zeros, (1,), {"device": library.device("cpu")})
    graph.call_function(max, (x, float("inf"), float("nan")))
    graph.output(((x, y), {"a": x, "b": [y]}))
    return graph.python_code("self").src.replace("rushlight", "torch")


def transformed_code(library):
    graph, _ = small(library)

    def make(current):
        return lambda lines: ["# first\n", *lines]

    with graph.on_generate_code(make):
        inside = graph.python_code("self").src
    return inside.replace("rushlight", "torch"), graph.python_code("self").src.count("# first")


SCRIPTS = [
    names_of_nodes, users, replaced_uses, replaced_uses_in_part, replaced_input,
    changed_arguments, moved, insertion_points, dead_code, copied, found, formats, mapped, purity,
    inplace_code, transformed_code,
]  # fmt: skip


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: s.__name__)
def test_both_libraries_give_the_same(script):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert script(rushlight) == script(torch)


def erased_with_users(library):
    graph, nodes = small(library)
    graph.erase_node(nodes["relu"])


def erased_from_another(library):
    graph, _ = small(library)
    library.fx.Graph().erase_node(graph.output_node())


def unknown_kind(library):
    library.fx.Graph().create_node("call", "x")


def not_callable(library):
    library.fx.Graph().call_function("relu")


def changed_list(library):
    graph = library.fx.Graph()
    graph.call_function(library.relu, ([1],)).args[0].append(2)


def changed_dict(library):
    library.fx.Graph().call_function(library.relu, (), {"a": 1}).kwargs.update(b=2)


def no_output(library):
    graph = library.fx.Graph()
    graph.placeholder("x")
    graph.output_node()


def inserted_in_another(library):
    graph, nodes = small(library)
    library.fx.Graph().inserting_before(nodes["x"])


def wrong_order(library):
    graph, nodes = small(library)
    nodes["x"].prepend(nodes["relu"])
    graph.lint()


def foreign_argument(library):
    graph, nodes = small(library)
    other, others = small(library)
    nodes["relu"].args = (others["x"],)
    graph.lint()


def missing_module(library):
    graph, _ = small(library)
    graph.owning_module = library.nn.Module()
    graph.create_node("call_module", "nowhere")
    graph.lint()


def wrapped_in_a_function(library):
    library.fx.wrap("len")


REFUSED = [
    erased_with_users, erased_from_another, unknown_kind, not_callable, changed_list, changed_dict,
    no_output, inserted_in_another, wrong_order, foreign_argument, missing_module,
    wrapped_in_a_function,
]  # fmt: skip


@pytest.mark.parametrize("script", REFUSED, ids=lambda s: s.__name__)
def test_both_libraries_refuse_alike(script):
    with pytest.raises(Exception) as theirs:
        script(torch)
    with pytest.raises(type(theirs.value)):
        script(rushlight)


def test_immutable_collections_are_values():
    from rushlight.fx.immutable_collections import immutable_dict, immutable_list

    values = immutable_list([1, immutable_dict(a=2)])
    assert pickle.loads(pickle.dumps(values)) == values == copy.deepcopy(values)
    assert hash(values) == hash(immutable_list([1, immutable_dict(a=2)]))
    leaves, spec = rushlight.utils._pytree.tree_flatten(values)
    assert leaves == [1, 2] and spec.unflatten(leaves) == values
    for change in ("append", "sort", "clear", "pop"):
        with pytest.raises(TypeError, match="mutation"):
            getattr(values, change)()


def test_side_effects_keep_calls():
    @fx.has_side_effect
    def noted(x):
        return x

    graph, nodes = small(rushlight)
    with graph.inserting_before(nodes["output"]):
        graph.call_function(noted, (nodes["x"],))
        graph.call_function(len, (nodes["x"],))
    assert graph.eliminate_dead_code()
    assert "noted" in [n.name for n in graph.nodes] and "len_1" not in [n.name for n in graph.nodes]


def test_calls_that_write_are_kept():
    # PyTorch drops them if nobody reads their results, which changes what the program computes.
    def writes(x):
        x.add_(1)
        rushlight.nn.functional.relu(x, inplace=True)
        rushlight.relu_(x)
        x.mul(2)
        return x

    module = fx.symbolic_trace(writes)
    assert module.graph.eliminate_dead_code()
    assert [n.name for n in module.graph.nodes] == ["x", "add_", "relu", "relu_", "output"]


def test_nodes_are_printed_as_a_table(capsys):
    graph, _ = small(rushlight)
    graph.print_tabular()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["opcode", "name", "target", "args", "kwargs"]
    assert len(lines) == 2 + len(graph.nodes) and "(relu, y)" in lines[5]


def test_normalized_arguments_name_what_is_given():
    graph = fx.Graph()
    x = graph.placeholder("x")
    node = graph.call_function(rushlight.flatten, (x, 1))
    found = node.normalized_arguments(None, normalize_to_only_use_kwargs=True)
    assert found.args == () and dict(found.kwargs) == {"input": x, "start_dim": 1, "end_dim": -1}
    assert node.normalized_arguments(None).args == (x, 1)


def test_meta_is_inherited_where_asked_for():
    module = fx.symbolic_trace(lambda x: rushlight.relu(x))
    relu = next(n for n in module.graph.nodes if n.name == "relu")
    relu.meta["custom"], relu.stack_trace = {"part": 1}, "there"
    again = fx.Transformer(module).transform()
    new = next(n for n in again.graph.nodes if n.name == "relu")
    assert new.meta["custom"] == {"part": 1} and new.stack_trace == "there"
    assert rows(again.graph) == rows(module.graph)

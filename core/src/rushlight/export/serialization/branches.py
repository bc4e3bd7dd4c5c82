"""Calls whose arguments are graphs (``cond``, ``while_loop``) as the archive's JSON has them."""

from __future__ import annotations

from rushlight.export.serialization import calls, sizes
from rushlight.export.serialization.values import FormatError, identifier
from rushlight.fx.experimental import control_flow
from rushlight.fx.experimental.inner_graphs import HigherOrder
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node

DEEPEST = 32  # graphs inside of graphs
# Of the arguments the kinds: a graph, a list of tensors, one value.
_FORMS = {
    control_flow.cond: (Node | bool, GraphModule, GraphModule, tuple),
    control_flow.while_loop: (GraphModule, GraphModule, tuple, tuple),
    control_flow.scan: (GraphModule, tuple, tuple, tuple),
    control_flow.map_impl: (GraphModule, tuple, tuple),
}


def operator_of(target) -> HigherOrder | None:
    """What a target of an archive calls; None for others than these operators."""
    return next((op for op in _FORMS if f"torch.ops.{op.__qualname__}" == target), None)


def call(node, model, written, results) -> dict:
    """A node that is called with graphs; ``written(graph, model)`` is one of these."""
    modules = iter(node.target.modules(node))
    given = [_argument(value, modules, model, written) for value in node.args]
    if node.target is control_flow.while_loop:
        # the condition gives its one tensor as such
        given[0]["as_graph"]["graph"]["is_single_tensor_return"] = True
    return {
        "target": f"torch.ops.{node.target.__qualname__}",
        "inputs": [{"name": "", "arg": argument, "kind": 1} for argument in given],
        "outputs": [{"as_tensor": name} for name in results],
        "metadata": calls.metadata_as_json(node.meta, model),
        "is_hop_single_tensor_return": False,
        "name": node.name,
    }


def _argument(value, modules, model, written):
    if isinstance(value, bool):
        return {"as_bool": value}
    if not isinstance(value, Node):
        return {"as_tensors": [{"name": item.name} for item in value]}
    if sizes.is_number(value):
        return sizes.argument(value)
    if value.op != "get_attr":
        return {"as_tensor": {"name": value.name}}
    graph = next(modules).graph
    return {"as_graph": {"name": value.target, "graph": written(graph, model)}}


def arguments(op, found, graph, modules, read, read_module) -> tuple:
    """The arguments, pairs of a kind and a value, of a node in `graph` whose graphs become
    `modules` by name: ``read(kind, value)`` gives other arguments, ``read_module(graph, name)`` a
    module."""
    given = []
    for kind, value in found:
        if kind == "as_graph":
            name = identifier(value["name"], "graph")
            if name in modules:
                raise FormatError(f"{op}: two graphs have the name {name!r}")
            modules[name] = read_module(value["graph"], name)
            given.append(modules[name])
        else:
            value = read(kind, value)
            given.append(tuple(value) if isinstance(value, list) else value)
    _check(op, given)
    named = {id(module): name for name, module in modules.items()}
    return tuple(
        graph.create_node("get_attr", named[id(v)], (), {}) if isinstance(v, GraphModule) else v
        for v in given
    )


def _name(form):
    return "Node or bool" if form == Node | bool else form.__name__


def _check(op, given):
    """Raise FormatError unless the arguments are those of an operator."""
    forms = _FORMS[op]
    if len(given) != len(forms) or not all(map(isinstance, given, forms)):
        kinds = [type(value).__name__ for value in given]
        wanted = [*map(_name, forms)]
        raise FormatError(f"{op}: arguments are {kinds}, expected {wanted}")
    tensors = [value for value in given if isinstance(value, tuple)]
    count = sum(map(len, tensors))
    for module in (value for value in given if isinstance(value, GraphModule)):
        takes = sum(node.op == "placeholder" for node in module.graph.nodes)
        if takes != count:
            raise FormatError(f"{op}: a graph takes {takes} values, and is given {count}")

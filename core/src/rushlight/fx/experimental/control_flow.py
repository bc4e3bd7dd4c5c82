"""Choices and loops over values in captured programs: nodes whose arguments are graphs."""

from __future__ import annotations

from typing import Any, NamedTuple

from rushlight import inspection
from rushlight.errors import shape_text
from rushlight.fx.experimental.recorder import Recorder
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.nn.module import Module
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree


class HigherOrder:
    """What such a node calls: ``rushlight.ops.higher_order.cond`` and its like."""

    def __init__(self, name, function):
        self.__name__, self.__qualname__ = name, f"higher_order.{name}"
        self.__module__, self.__doc__ = "rushlight.ops", function.__doc__
        self._function = function

    def __call__(self, *args):
        """Run it on the modules of the graphs and their inputs."""
        return self._function(*args)

    @staticmethod
    def modules(node):
        """The modules of the graphs that a node is called with."""
        owner = node.graph.owning_module
        named = (n for n in node.args if isinstance(n, Node) and n.op == "get_attr")
        return [owner.get_submodule(n.target) for n in named]

    def __repr__(self):
        return f"<HigherOrderOperator {self.__name__}>"

    def __str__(self):
        return f"higher_order.{self.__name__}"


def _loop(condition, body, carried, additional):
    """``carried`` through `body` as long as `condition` holds; both get `additional` as well."""
    return inspection.while_loop(
        lambda *values: condition(*values, *additional)[0],
        lambda *values: body(*values, *additional),
        carried,
    )


cond = HigherOrder("cond", inspection.cond)
while_loop = HigherOrder("while_loop", _loop)


def graphs_within(graph):
    """A graph, and all graphs that its nodes are called with."""
    yield graph
    for node in graph.nodes:
        if isinstance(node.target, HigherOrder):
            for module in node.target.modules(node):
                yield from graphs_within(module.graph)


def with_input(node, tensor):
    """Give the graphs of a node another input, `tensor` of its own graph; their placeholders."""
    *others, inputs = node.args
    node.args = (*others, (*inputs, tensor))
    return [_placeholder(module.graph, tensor) for module in node.target.modules(node)]


def _placeholder(graph, tensor):
    last = [n for n in graph.nodes if n.op == "placeholder"]
    where = graph.inserting_after(last[-1]) if last else graph.inserting_before()
    with where:
        made = graph.create_node("placeholder", tensor.name, (), {})
    made.meta |= {key: tensor.meta[key] for key in _DESCRIBED if key in tensor.meta}
    return made


_DESCRIBED = ("val", "tensor_meta", "device", "sizes")


class _Part(NamedTuple):
    """A function as a graph: the outer tensors that it reads, by key, and its result."""

    graph: Graph
    own: list
    lifted: dict
    spec: Any
    results: list
    modules: dict


def _key(tensor):
    """What tells the tensors of a program apart."""
    return getattr(tensor, "_fx_node", id(tensor))


def _traced(outer, function, operands, carried=False):
    """The graph of a function of tensors; what it reads beside them becomes an input too. Tensors
    that are `carried` through a loop are others inside than those outside."""
    lifted: dict = {}
    own: dict = {}
    part = Recorder(True, outer.decompositions)
    part.scope = outer.scope

    def read(tensor):
        key = _key(tensor)
        if key in own:
            return own[key]
        if key not in lifted:
            last = [n for n in part.graph.nodes if n.op == "placeholder"]
            where = part.graph.inserting_after(last[-1] if last else None)
            with where if last else part.graph.inserting_before():
                lifted[key] = tensor, part.placeholder(f"lifted_{len(lifted)}", tensor)[0]
        return lifted[key][1]

    part.constant = read
    with part.level:
        pairs = [part.placeholder(f"arg{i}_1", t) for i, t in enumerate(operands)]
        if not carried:
            own.update((_key(t), node) for t, (node, _) in zip(operands, pairs, strict=True))
        leaves, spec = pytree.tree_flatten(function(*[t for _, t in pairs]))
        if not all(isinstance(leaf, Tensor) for leaf in leaves):
            raise RuntimeError(f"cond and while_loop: functions must return tensors, not {leaves}")
        part.node("output", "output", (tuple(leaves),), {})
        values = [n.meta["val"] for n in part.graph.output_node().args[0]]
    return _Part(part.graph, [n for n, _ in pairs], lifted, spec, values, part.modules)


def _with_same_inputs(parts):
    """The outer tensors of all parts, which become inputs of each, in one order."""
    # PyTorch's nodes have one list of inputs for both graphs
    tensors: dict = {}
    for part in parts:
        tensors |= {key: tensor for key, (tensor, _) in part.lifted.items()}
    for part in parts:
        nodes = list(part.own)
        for key, tensor in tensors.items():
            if key in part.lifted:
                nodes.append(part.lifted[key][1])
            else:
                node = part.graph.create_node("placeholder", f"lifted_{len(nodes)}_unused", (), {})
                node.meta["val"] = getattr(tensor, "_inner", tensor)
                nodes.append(node)
        for node in reversed(nodes):
            next(iter(part.graph.nodes)).prepend(node)
    return list(tensors.values())


def holding(modules):
    """A module with the graphs that the nodes of another name."""
    root = Module()
    for name, module in modules.items():
        root.add_module(name, module)
    return root


def _record(recorder, target, named, arguments, results):
    """The node, with the parts as attributes, and the tensors that it gives."""
    attributes = []
    for prefix, part in named.items():
        name = f"{prefix}_{sum(key.startswith(prefix) for key in recorder.modules)}"
        recorder.modules[name] = GraphModule(holding(part.modules), part.graph, name)
        attributes.append(recorder.node("get_attr", name, (), {}))
    return recorder.several(target, arguments(*attributes), results)


def _form(values):
    return [f"{v.dtype} {shape_text(v.shape)}" for v in values]


def record_cond(recorder, pred, true_fn, false_fn, operands):
    """:func:`rushlight.cond` in a captured program."""
    flat, spec = pytree.tree_flatten(tuple(operands))
    tensors = {_key(value): value for value in flat if isinstance(value, Tensor)}

    def of_tensors(function):
        def call(*given):
            named = dict(zip(tensors, given, strict=True))
            leaves = [named[_key(v)] if isinstance(v, Tensor) else v for v in flat]
            return function(*pytree.tree_unflatten(leaves, spec))

        return call

    parts = [_traced(recorder, of_tensors(f), [*tensors.values()]) for f in (true_fn, false_fn)]
    ours, theirs = (_form(part.results) for part in parts)
    if parts[0].spec != parts[1].spec or ours != theirs:
        raise RuntimeError(
            f"cond: true_fn and false_fn must give results of one structure, shape and dtype; got "
            f"{ours} and {theirs}"
        )
    inputs = (*tensors.values(), *_with_same_inputs(parts))
    found = _record(
        recorder, cond, dict(zip(("true_graph", "false_graph"), parts, strict=True)),
        lambda *graphs: (pred, *graphs, inputs), parts[0].results,
    )  # fmt: skip
    return pytree.tree_unflatten(found, parts[0].spec)


def record_while_loop(recorder, cond_fn, body_fn, carried):
    """:func:`rushlight.while_loop` in a captured program."""
    condition, body = (_traced(recorder, f, carried, True) for f in (cond_fn, body_fn))
    if len(condition.results) != 1 or condition.results[0].numel() != 1:
        raise RuntimeError(
            f"while_loop: cond_fn must give a tensor of one element; got {_form(condition.results)}"
        )
    wanted = [f"{t.dtype} {shape_text(t.shape)}" for t in carried]
    if _form(body.results) != wanted:
        raise RuntimeError(
            f"while_loop: body_fn must give what it is given, {wanted}; got {_form(body.results)}"
        )
    additional = tuple(_with_same_inputs([condition, body]))
    found = _record(
        recorder, while_loop, {"while_loop_cond_graph": condition, "while_loop_body_graph": body},
        lambda *graphs: (*graphs, tuple(carried), additional), body.results,
    )  # fmt: skip
    return tuple(found)


def record_again(recorder, target, args, function_of):
    """A call of `target` in another program, whose graphs ``function_of(module)`` are."""
    if target is cond:
        pred, true_graph, false_graph, inputs = args
        return record_cond(
            recorder, pred, function_of(true_graph), function_of(false_graph), inputs
        )
    condition, body, carried, additional = args
    functions = [function_of(graph) for graph in (condition, body)]
    return record_while_loop(
        recorder,
        lambda *values: functions[0](*values, *additional)[0],
        lambda *values: functions[1](*values, *additional),
        carried,
    )

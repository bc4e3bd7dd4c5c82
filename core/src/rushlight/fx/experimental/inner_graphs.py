"""Functions as graphs that nodes of captured programs are called with."""

from __future__ import annotations

from typing import Any, NamedTuple

from rushlight import devices
from rushlight.autograd.mode import is_grad_enabled
from rushlight.errors import shape_text
from rushlight.fx.experimental.recorder import Recorder
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.names import Namespace
from rushlight.fx.node import Node
from rushlight.inspection import TransformedError, check_plain
from rushlight.nn.module import Module
from rushlight.ops.creation.tensors import empty
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree


class HigherOrder:
    """What such a node calls: ``rushlight.ops.higher_order.cond`` and its like.

    Args: `name`; `function` runs it on modules and values; ``record(recorder, args, function_of)``
    records it in another program, with ``function_of(module)`` for each graph.
    """

    def __init__(self, name, function, record=None):
        self.__name__, self.__qualname__ = name, f"higher_order.{name}"
        self.__module__, self.__doc__ = "rushlight.ops", function.__doc__
        self._function, self._record = function, record

    def __call__(self, *args):
        """Run it on the modules of the graphs and their inputs."""
        return self._function(*args)

    def again(self, recorder, args, kwargs, function_of):
        """Record it in another program."""
        return self._record(recorder, args, function_of)

    def name(self):
        """The name without that of the namespace."""
        return self.__name__

    @staticmethod
    def modules(node):
        """The modules of the graphs that a node is called with."""
        owner = node.graph.owning_module
        named = (n for n in node.args if isinstance(n, Node) and n.op == "get_attr")
        return [owner.get_submodule(n.target) for n in named]

    def __repr__(self):
        return f"<HigherOrderOperator {self.__name__}>"

    def __str__(self):
        return self.__name__


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


def _behind_inputs(graph):
    """Inside, nodes are inserted behind the inputs of a graph."""
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    return graph.inserting_after(inputs[-1]) if inputs else graph.inserting_before()


def _placeholder(graph, tensor):
    with _behind_inputs(graph):
        made = graph.create_node("placeholder", tensor.name, (), {})
    made.target = made.name  # which is another one where an input has that name
    made.meta |= {key: tensor.meta[key] for key in _DESCRIBED if key in tensor.meta}
    return made


_DESCRIBED = ("val", "tensor_meta", "device", "sizes")


class Part(NamedTuple):
    """A function as a graph: the outer tensors that it reads, by key, and its result."""

    graph: Graph
    own: list
    lifted: dict
    spec: Any
    results: list
    modules: dict


def key_of(tensor):
    """What tells the tensors of a program apart."""
    return getattr(tensor, "_fx_node", id(tensor))


def traced(outer, name, function, operands, carried=False, differentiable=False):
    """The graph of a function of tensors that `name` is given; what it reads beside them becomes an
    input too. Tensors that are `carried` through a loop are others inside than those outside; a
    function that is to be `differentiable` reads none that ask for gradients."""
    part = Recorder(True, outer.decompositions)
    part.scope, part.tracking = outer.scope, outer.tracking
    reader = part.constant = _Reader(part, name, differentiable)
    with part.level:
        pairs = [part.placeholder(f"arg{i}_1", t) for i, t in enumerate(operands)]
        if not carried:
            reader.own = {key_of(t): node for t, (node, _) in zip(operands, pairs, strict=True)}
        leaves, spec = pytree.tree_flatten(function(*[t for _, t in pairs]))
        if not all(isinstance(leaf, Tensor) for leaf in leaves):
            raise RuntimeError(f"{name}: functions must return tensors, not {leaves}")
        part.node("output", "output", (tuple(leaves),), {})
        values = [n.meta["val"] for n in part.graph.output_node().args[0]]
    return Part(part.graph, [n for n, _ in pairs], reader.lifted, spec, values, part.modules)


class _Reader:
    """Gives a graph the tensors from outside that its function reads, as inputs."""

    def __init__(self, part, name, differentiable):
        self.part, self.name, self.differentiable = part, name, differentiable
        self.lifted: dict = {}
        self.own: dict = {}  # inputs by what stands outside for them

    def __call__(self, tensor):
        """The input for a tensor."""
        check_plain(self.name, tensor)
        if self.differentiable and tensor.requires_grad and is_grad_enabled():
            raise TransformedError(f"{self.name}() of tensors that ask for gradients is no node")
        key = key_of(tensor)
        if key in self.own:
            return self.own[key]
        if key not in self.lifted:
            self.lifted[key] = tensor, self._input(tensor)
        return self.lifted[key][1]

    def _input(self, tensor):
        with _behind_inputs(self.part.graph):
            return self.part.placeholder(f"lifted_{len(self.lifted)}", tensor)[0]


def with_same_inputs(parts):
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


def holding(modules, root=None):
    """A module, `root` or a new one, with the graphs that nodes name."""
    root = Module() if root is None else root
    for name, module in modules.items():
        root.add_module(name, module)
    return root


def shaped(recorder, tensor, shape):
    """A tensor without values beside one of a program, which is no part of it."""
    below = recorder.level.lowered(tensor)
    with recorder.level.outside():
        return empty(shape, dtype=below.dtype, device=devices.meta)


def record(recorder, target, named, arguments, results):
    """The node, with the parts as attributes, and the tensors that it gives."""
    attributes = []
    for prefix, part in named.items():
        name = f"{prefix}_{sum(key.startswith(prefix) for key in recorder.modules)}"
        recorder.modules[name] = GraphModule(holding(part.modules), part.graph, name)
        attributes.append(recorder.node("get_attr", name, (), {}))
    return recorder.several(target, arguments(*attributes), results)


def name_inputs(module, named):
    """Let the inputs of a graph have the names of the nodes outside that are given for them; nodes
    inside that have one of these get another."""
    graph, names = module.graph, Namespace()
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    for node, outer in zip(inputs, named, strict=True):
        node.name = node.target = names.create_name(outer.name)
    for node in graph.nodes:
        if node.op != "placeholder":
            node.name = names.create_name(node.name)
    graph._names = graph._graph_namespace = names
    module.recompile()


def form(values):
    """Dtypes and shapes as texts."""
    return [f"{v.dtype} {shape_text(v.shape)}" for v in values]

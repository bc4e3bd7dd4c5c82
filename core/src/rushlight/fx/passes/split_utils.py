"""Dividing a graph by the tags of its nodes, and attributes by their paths."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import getitem
from typing import Any

from rushlight import nn
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node, map_arg
from rushlight.fx.passes.tools_common import CALLABLE_NODE_OPS, NodeList, is_node_output_tensor
from rushlight.fx.passes.utils.common import HolderModule, lift_subgraph_as_module


def getattr_recursive(obj: object, name: str) -> Any:
    """The attribute at a path such as ``"layers.0.weight"``; None if there is none. Of a ModuleList
    the path names modules alone.

    >>> import rushlight
    >>> from rushlight.fx.passes.split_utils import getattr_recursive
    >>> net = rushlight.nn.Sequential(rushlight.nn.Linear(2, 3))
    >>> getattr_recursive(net, "0.out_features"), getattr_recursive(net, "1.bias")
    (3, None)
    """
    for part in name.split("."):
        obj = obj._modules.get(part) if isinstance(obj, nn.ModuleList) else getattr(obj, part, None)
        if obj is None:
            return None
    return obj


def setattr_recursive(obj: object, attr: str, value: object) -> None:
    """Set the attribute at a path; AttributeError where the path leads nowhere."""
    *path, last = attr.split(".")
    for part in path:
        obj = getattr(obj, part)
    setattr(obj, last, value)


@dataclass
class Component:
    """A part of a graph on its way to a module.

    Attributes: `graph` is the part's graph, `order` its position among the parts, `name` the name
    of its module. `input_placeholders` are the inputs of `graph`, which stand for `orig_inputs` of
    the whole graph; `orig_outputs` are the nodes whose values leave the part. `getattr_maps` has
    the attributes that the part reads, by the nodes of the whole graph; `gm` is the module.
    """

    graph: Graph
    order: int
    name: str
    input_placeholders: list[Node] = field(default_factory=list)
    orig_inputs: list[Node] = field(default_factory=list)
    orig_outputs: list[Node] = field(default_factory=list)
    getattr_maps: dict[Node, Node] = field(default_factory=dict)
    constructor_args: list[str] = field(default_factory=list)
    gm: GraphModule | None = None


def split_by_tags(
    gm: GraphModule, tags: list[str], return_fqn_mapping: bool = False,
    return_tuple: bool = False, GraphModuleCls: type[GraphModule] = GraphModule,  # noqa: N803
) -> GraphModule | tuple[GraphModule, dict[str, str]]:  # fmt: skip
    """A module that calls one submodule for each tag, in the order of `tags`.

    Args:
        gm: the traced module; each of its calls has an attribute ``tag``. Inputs, attributes and
            the output need none: attributes go where they are read.
        tags: the names of the submodules. A call reads no call of a later tag.
        return_fqn_mapping: return also the paths of modules and attributes in the result, by those
            that they have in `gm`.
        return_tuple: let submodules with one result give a tuple as well.
        GraphModuleCls: the class of the result.

    Raises:
        AssertionError: a call has no tag, or reads one of a later tag.
        KeyError: a tag is not among `tags`.
        RuntimeError: the graph has no output, or several.

    >>> import rushlight
    >>> from rushlight.fx.passes.split_utils import split_by_tags
    >>> module = rushlight.fx.symbolic_trace(lambda x: rushlight.relu(x) + 1)
    >>> for node in module.graph.nodes:
    ...     node.tag = "last" if node.name == "add" else "first"
    >>> [node.name for node in split_by_tags(module, ["first", "last"]).graph.nodes]
    ['x', 'first', 'last', 'output']
    """
    split = _TagSplit(gm, tags)
    output = split.fill()
    module, names = split.assembled(output, return_tuple, GraphModuleCls)
    return (module, names) if return_fqn_mapping else module


class _TagSplit:
    def __init__(self, gm, tags):
        self.gm = gm
        self.components = [Component(Graph(), order, str(tag)) for order, tag in enumerate(tags)]
        self.by_tag = dict(zip(tags, self.components, strict=True))
        self.part_of: dict[Node, Component] = {}
        self.copies: dict[Node, Node] = {}  # of calls, in the graphs of their parts
        self.main, self.values = Graph(), {}
        self.passed: dict[Node, None] = {}  # what the main graph hands on, in order

    def fill(self):
        """Copy every call into its part; the graph's output."""
        outputs = []
        for node in self.gm.graph.nodes:
            if node.op == "output":
                outputs.append(node)
            elif node.op == "placeholder":
                new = self.main.placeholder(node.name, node.type, *node.args)
                new.meta = copy.copy(node.meta)
                self.values[node] = new
            elif node.op != "get_attr":
                self._copy(node, self._component(node))
        if len(outputs) != 1:
            raise RuntimeError(
                f"split_by_tags(): the graph of gm must have one output, not {len(outputs)}"
            )
        return outputs[0]

    def _component(self, node):
        if not hasattr(node, "tag"):
            raise AssertionError(f"Node does not have tag: {node.format_node()}")
        if node.tag not in self.by_tag:
            raise KeyError(f"split_by_tags(): '{node}' has tag {node.tag!r}, which tags lacks")
        part = self.by_tag[node.tag]
        for read in node.all_input_nodes:
            if read in self.part_of and self.part_of[read].order > part.order:
                raise AssertionError(
                    f"split_by_tags(): '{node}' of '{part.name}' reads '{read}' of the later part "
                    f"'{self.part_of[read].name}'"
                )
        return part

    def _copy(self, node, part):
        self.part_of[node] = part
        new = part.graph.node_copy(node, lambda read: self._inside(read, part))
        new.tag = node.tag
        self.copies[node] = new

    def _inside(self, read, part):
        """What stands for a node in the graph of a part."""
        if read.op == "get_attr":
            if read not in part.getattr_maps:
                new = part.graph.get_attr(read.target, type_expr=read.type)
                new.meta = copy.copy(read.meta)
                part.getattr_maps[read] = new
            return part.getattr_maps[read]
        if self.part_of.get(read) is part:
            return self.copies[read]
        if read not in part.orig_inputs:
            new = part.graph.placeholder(read.name, type_expr=read.type)
            new.meta = copy.copy(read.meta)
            part.orig_inputs.append(read)
            part.input_placeholders.append(new)
            self.passed.setdefault(read)
        return part.input_placeholders[part.orig_inputs.index(read)]

    def assembled(self, output, return_tuple, module_class):
        """The module that calls the parts, and the new paths by the old ones."""
        attributes = [node for node in output.all_input_nodes if node.op == "get_attr"]
        for node in output.all_input_nodes:
            if node.op == "get_attr":
                self.values[node] = self.main.get_attr(node.name, type_expr=node.type)
            else:
                self.passed.setdefault(node)
        for node in self.passed:
            if node.op != "placeholder":
                self.part_of[node].orig_outputs.append(node)
        moved: dict[str, str] = {}
        for part in self.components:
            moved.update(self._call(part, return_tuple))
        self.main.output(map_arg(output.args[0], self.values.__getitem__))
        self.main.set_codegen(self.gm.graph._codegen)
        root = HolderModule({part.name: part.gm for part in self.components})
        for node in attributes:
            setattr(root, node.name, getattr_recursive(self.gm, node.target))
        return module_class(root, self.main), moved

    def _call(self, part, return_tuple):
        """Make a module of a part and call it in the main graph."""
        results = tuple(self.copies[node] for node in part.orig_outputs)
        alone = len(results) == 1 and not return_tuple
        part.graph.output(results[0] if alone else results)
        part.gm, moved = lift_subgraph_as_module(self.gm, part.graph, comp_name=part.name)
        call = self.main.call_module(
            part.name, tuple(self.values[node] for node in part.orig_inputs)
        )
        for position, node in enumerate(part.orig_outputs):
            self.values[node] = (
                call if alone else self.main.call_function(getitem, (call, position))
            )
        return moved


def move_non_tensor_nodes_on_boundary(subgraphs: Sequence[Any]) -> None:
    """Move calls that give no tensor out of the parts of a backend, to the one part that reads
    them, together with what reads them in their own.

    A call stays where several other parts read it, or where what would move with it is read by a
    third part.

    Args:
        subgraphs: the parts, changed: objects with a list ``nodes`` and a bool ``is_acc``, which
            says whether a backend takes the part. Calls are moved out of such parts alone. Which
            calls give tensors is in ``node.meta["type"]``, as :class:`ShapeProp` writes it.
    """
    part_of = {node: part for part, each in enumerate(subgraphs) for node in each.nodes}
    for part, each in enumerate(subgraphs):
        if each.is_acc:
            waiting = [node for node in each.nodes if _leaves(node, part, part_of)]
            while waiting:
                node = waiting.pop(0)
                moved = _move(node, part, part_of, subgraphs)
                waiting += [
                    read
                    for read in node.all_input_nodes
                    if moved and part_of.get(read) == part and _leaves(read, part, part_of)
                ]


def _readers(node, part_of) -> NodeList:
    return [user for user in node.users if user.op in CALLABLE_NODE_OPS and user in part_of]


def _leaves(node, part, part_of):
    """Whether a call gives no tensor and another part reads it."""
    return (
        node.op in CALLABLE_NODE_OPS
        and not is_node_output_tensor(node)
        and any(part_of[user] != part for user in _readers(node, part_of))
    )


def _move(node, part, part_of, subgraphs):
    """Move a node of a part to the part that reads it; whether it could be."""
    if part_of[node] != part:
        return False  # has moved with another one
    targets = {part_of[user] for user in _readers(node, part_of)} - {part}
    if len(targets) != 1:
        return False
    target = targets.pop()
    together, waiting = {node: None}, [node]
    while waiting:
        for user in _readers(waiting.pop(), part_of):
            if part_of[user] == part and user not in together:
                together[user] = None
                waiting.append(user)
            elif part_of[user] not in (part, target):
                return False
    for each in together:
        subgraphs[part].nodes.remove(each)
        subgraphs[target].nodes.append(each)
        part_of[each] = target
    return True


__all__ = [
    "Component",
    "getattr_recursive",
    "move_non_tensor_nodes_on_boundary",
    "setattr_recursive",
    "split_by_tags",
]

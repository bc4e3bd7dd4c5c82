"""Dividing a graph into submodules."""

from __future__ import annotations

import copy
from collections import OrderedDict
from operator import getitem

from rushlight import nn
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule, _copy_attr
from rushlight.fx.node import Node, map_arg


class Partition:
    """A part of the graph on its way to a module: its nodes, what it reads and what others read
    of it."""

    def __init__(self, name: str):
        self.name, self.submod_name = name, f"submod_{name}"
        self.node_names: list[str] = []
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict = {}
        self.targets: dict[str, None] = {}

    def __repr__(self):
        return f"name: {self.name}, nodes: {self.node_names}, inputs: {list(self.inputs)}"


def split_module(
    m: GraphModule, root_m: nn.Module, split_callback, qualname_map: dict | None = None,
    keep_original_order: bool = False, keep_original_node_name: bool = False,
    keep_original_input_name: bool = True, *, partition_affix: str | None = None,
) -> GraphModule:  # fmt: skip
    """A module that calls the parts of `m` one after the other: ``submod_0``, ``submod_1``, ...

    Args: `split_callback` gives the part of a node, a number or name. `root_m` has the modules and
    attributes that `m` names. `qualname_map` takes the old path of everything that moved, by its
    new one. With `keep_original_order` the parts are called in the order in which they begin;
    with `keep_original_node_name` nodes keep their names; `partition_affix` stands before the
    part's name. Raises RuntimeError where parts need each other.

    >>> import rushlight
    >>> from rushlight.fx.passes.split_module import split_module
    >>> module = rushlight.fx.symbolic_trace(lambda x: rushlight.relu(x) + 1)
    >>> parts = split_module(module, module, lambda node: int(node.name == "add"))
    >>> [name for name, _ in parts.named_children()]
    ['submod_0', 'submod_1']
    """
    split = _Split(m, root_m, keep_original_node_name, keep_original_input_name)
    split.assign(split_callback, partition_affix)
    order = list(split.partitions) if keep_original_order else split.ordered()
    split.fill()
    return split.assembled(order, {} if qualname_map is None else qualname_map)


class _Split:
    def __init__(self, m, root, keep_names, keep_inputs):
        self.m, self.root = m, root
        self.keep_names, self.keep_inputs = keep_names, keep_inputs
        self.partitions: OrderedDict[str, Partition] = OrderedDict()
        self.part_of: dict = {}
        self.nodes = {node.name: node for node in m.graph.nodes}

    def assign(self, callback, affix):
        """Put every call into its part, and note what parts read of each other."""
        for node in self.m.graph.nodes:
            if node.op in ("placeholder", "get_attr", "output"):
                continue
            name = str(callback(node))
            name = f"{affix}_{name}" if affix else name
            part = self.partitions.setdefault(name, Partition(name))
            part.node_names.append(node.name)
            self.part_of[node] = part
        for node in self.m.graph.nodes:
            if node in self.part_of or node.op == "output":
                for read in node.all_input_nodes:
                    self._depend(read, self.part_of.get(node))

    def _depend(self, read, user):
        maker = self.part_of.get(read)
        if maker is user:
            return
        if maker is not None:
            maker.outputs.setdefault(read.name)
        if user is not None:
            user.inputs.setdefault(read.name)
            if maker is not None:
                user.dependencies.setdefault(maker.name)

    def ordered(self):
        """The parts so that each comes behind those it reads of."""
        left = {name: dict(part.dependencies) for name, part in self.partitions.items()}
        ready = [name for name, needed in left.items() if not needed]
        order: list[str] = []
        while ready:
            done = ready.pop()
            order.append(done)
            for name, needed in left.items():
                if done in needed:
                    del needed[done]
                    if not needed:
                        ready.append(name)
        if len(order) < len(left):
            raise RuntimeError("cycle exists between partitions!")
        return order

    def fill(self):
        """Write the graphs of the parts."""
        for part in self.partitions.values():
            for name in part.inputs:
                node = self.nodes[name]
                keep = self.keep_inputs and node.op == "placeholder"
                new = part.graph.placeholder(node.target if keep else name, node.type)
                new.meta = copy.copy(node.meta)
                part.environment[node] = new
        for node in self.m.graph.nodes:
            if node in self.part_of:
                self._copy(node, self.part_of[node])
        for part in self.partitions.values():
            results = tuple(part.environment[self.nodes[name]] for name in part.outputs)
            part.graph.output(results[0] if len(results) == 1 else results)

    def _copy(self, node, part):
        args = map_arg(node.args, part.environment.__getitem__)
        kwargs = map_arg(node.kwargs, part.environment.__getitem__)
        target = node.target
        if node.op == "call_module":
            target = _flat_name(target)
            part.targets.setdefault(node.target)
        new = part.graph.create_node(
            node.op, target, args, kwargs, node.name if self.keep_names else None, node.type
        )
        new.meta = copy.copy(node.meta)
        part.environment[node] = new

    def assembled(self, order, moved):
        """The module that calls the parts."""
        graph, values, modules = Graph(), {}, nn.Module()
        for node in self.m.graph.nodes:
            if node.op not in ("placeholder", "get_attr"):
                continue
            values[node.name] = graph.create_node(
                node.op, node.target, node.args, {}, node.name, node.type
            )
            values[node.name].meta = copy.copy(node.meta)
            if node.op == "get_attr":
                _copy_attr(self.root, modules, node.target)
        for name in order:
            self._call(graph, values, modules, self.partitions[name], moved)
        for node in self.m.graph.find_nodes(op="output"):
            result = map_arg(node.args[0], lambda n: values[n.name])
            graph.output(result, node.type).meta = copy.copy(node.meta)
        return GraphModule(modules, graph)

    def _call(self, graph, values, modules, part, moved):
        inner = nn.Module()
        for target in part.targets:
            new = _flat_name(target)
            moved[f"{part.submod_name}.{new}"] = target
            setattr(inner, new, self.root.get_submodule(target))
        setattr(modules, part.submod_name, GraphModule(inner, part.graph))
        call = graph.call_module(part.submod_name, tuple(values[name] for name in part.inputs))
        if len(part.outputs) == 1:
            values[next(iter(part.outputs))] = call
            return
        for i, name in enumerate(part.outputs):
            values[name] = graph.call_function(getitem, (call, i))


def _flat_name(target):
    return target.replace(".", "_")


def split_module_simple(
    m: GraphModule, node_to_partition: dict[Node, int], *, partition_affix: str | None = None
) -> GraphModule:
    """:func:`split_module` by a dict of the parts of nodes, of all but inputs, attributes and the
    output.

    >>> import rushlight
    >>> from rushlight.fx.passes.split_module import split_module_simple
    >>> module = rushlight.fx.symbolic_trace(lambda x: rushlight.relu(x) + 1)
    >>> _, relu, add, _ = module.graph.nodes
    >>> [name for name, _ in split_module_simple(module, {relu: 0, add: 1}).named_children()]
    ['submod_0', 'submod_1']
    """
    return split_module(m, m, node_to_partition.__getitem__, partition_affix=partition_affix)

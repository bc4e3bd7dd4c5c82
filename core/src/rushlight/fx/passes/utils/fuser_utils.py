"""Parts of a graph as modules of their own."""

from __future__ import annotations

import collections
import copy
from operator import getitem

from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.fx.passes.tools_common import legalize_graph
from rushlight.fx.passes.utils.common import lift_subgraph_as_module


def topo_sort(nodes: list[Node]) -> list[Node]:
    """Some nodes of a graph in an order in which each comes behind those of them that it reads."""
    given = dict.fromkeys(nodes)
    left = {node: sum(read in given for read in node.all_input_nodes) for node in nodes}
    ready = collections.deque(node for node in nodes if not left[node])
    order = []
    while ready:
        order.append(node := ready.popleft())
        for user in node.users:
            if user in given:
                left[user] -= 1
                if not left[user]:
                    ready.append(user)
    if len(order) < len(nodes):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return order


def validate_partition(partition: list[Node]) -> bool:
    """Whether nothing outside of some nodes reads them and is read by them."""
    inside = set(partition)
    waiting = [user for node in partition for user in node.users if user not in inside]
    seen = set()
    while waiting:
        node = waiting.pop()
        if node in inside:
            return False
        if node not in seen:
            seen.add(node)
            waiting += node.users
    return True


def fuse_as_graphmodule(
    gm: GraphModule, nodes: list[Node], module_name: str,
    partition_lookup_table: dict | None = None, *, always_return_tuple: bool = False,
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:  # fmt: skip
    """A module of some nodes of a graph, in topological order; the nodes outside that it reads,
    and those inside that others read.

    AssertionError where a node belongs to another graph, or the nodes outside would read the module
    and be read by it.
    """
    _check_part(gm, nodes)
    inside = dict.fromkeys(nodes) if partition_lookup_table is None else partition_lookup_table
    graph = Graph()
    inputs, values = _copied(graph, nodes)
    outputs = tuple(node for node in nodes if any(user not in inside for user in node.users))
    results = tuple(values[node] for node in outputs)
    graph.output(results[0] if len(results) == 1 and not always_return_tuple else results)
    graph.lint()
    fused, _ = lift_subgraph_as_module(gm, graph, comp_name="", class_name=module_name)
    return fused, tuple(inputs), outputs


def _check_part(gm, nodes):
    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError(
                f"{node} doesn't belong to passed in graph module {gm._get_name()}"
            )
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")


def _copied(graph, nodes):
    """Copies of nodes in a graph, and inputs for what they read beside each other; both by the
    nodes that they stand for."""
    inputs: dict[Node, Node] = {}
    values: dict[Node, Node] = {}

    def value(node):
        if node in values:
            return values[node]
        if node not in inputs:
            inputs[node] = graph.placeholder(node.name, type_expr=node.type)
            inputs[node].meta = copy.copy(node.meta)
        return inputs[node]

    for node in nodes:
        values[node] = graph.node_copy(node, value)
    return inputs, values


def insert_subgm(
    gm: GraphModule, sub_gm: GraphModule, orig_inputs: tuple[Node, ...],
    orig_outputs: tuple[Node, ...], insertion_point: Node | None = None,
) -> GraphModule:  # fmt: skip
    """Call a module with `orig_inputs` in a graph; its results are read instead of `orig_outputs`,
    behind the last of which it is called, or before `insertion_point`."""
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    order = {node: place for place, node in enumerate(gm.graph.nodes)}
    if insertion_point is not None:
        where = gm.graph.inserting_before(insertion_point)
    else:
        where = gm.graph.inserting_after(max(orig_outputs, key=order.__getitem__))
    with where:
        call = gm.graph.call_module(name, args=orig_inputs, kwargs=None)
    result = sub_gm.graph.output_node().args[0]
    if isinstance(result, tuple):
        after = call
        for place, node in enumerate(orig_outputs):
            with gm.graph.inserting_after(after):
                after = gm.graph.call_function(getitem, (call, place))
            node.replace_all_uses_with(after, propagate_meta=True)
        call.meta["val"] = tuple(node.meta.get("val") for node in orig_outputs)
    else:
        orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
    return gm


def erase_nodes(gm: GraphModule, nodes: list[Node]) -> None:
    """Erase nodes of a graph, given in topological order."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(
    gm: GraphModule, partitions: list[dict], prefix: str = "fused_",
    always_return_tuple: bool = False,
) -> GraphModule:  # fmt: skip
    """A module in which each of several parts, dicts of nodes, is a module of its own: those named
    `prefix` and the part's number. `gm` itself is changed."""
    for number, partition in enumerate(partitions):
        nodes = topo_sort(list(partition))
        fused, inputs, outputs = fuse_as_graphmodule(
            gm, nodes, f"{prefix}{number}", partition, always_return_tuple=always_return_tuple
        )
        insert_subgm(gm, fused, inputs, outputs)
        erase_nodes(gm, nodes)
    legalize_graph(gm)
    return gm


__all__ = [
    "erase_nodes",
    "fuse_as_graphmodule",
    "fuse_by_partitions",
    "insert_subgm",
    "topo_sort",
    "validate_partition",
]

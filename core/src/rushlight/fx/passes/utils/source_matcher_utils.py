"""The calls of a graph by the layers and functions of the program that they come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rushlight.fx.graph import Graph
from rushlight.fx.node import Node


@dataclass
class SourcePartition:
    """The nodes that one call of a layer or function became.

    Attributes: `source` is the class or function; `input_nodes` are the nodes outside that
    `nodes` read, attributes apart; `output_nodes` those of `nodes` that others read; `params` the
    attributes among `nodes`.
    """

    nodes: list[Node]
    source: Any
    input_nodes: list[Node] = field(default_factory=list)
    output_nodes: list[Node] = field(default_factory=list)
    params: list[Node] = field(default_factory=list)


def get_source_partitions(
    graph: Graph, wanted_sources: list[Any], filter_fn: Callable[[Node], bool] | None = None
) -> dict[Any, list[SourcePartition]]:
    """The parts of a graph that come from some layers or functions, by these.

    Args:
        graph: a graph whose nodes say where they come from: those of modules that a tracer goes
            into, of :func:`rushlight.export.export` and of `make_fx`. Their ``meta`` has the
            modules around a call as ``"nn_module_stack"``, of which the innermost counts, or pairs
            of a name and a source as ``"source_fn_stack"``, of which the last counts. Programs of
            export have the name of the function that was called in ``"torch_fn"``.
        wanted_sources: classes of layers, functions, or names of functions, such as ``"relu"``.
        filter_fn: a part is dropped where this is false for one of its nodes.

    >>> import rushlight
    >>> from rushlight.fx.passes.utils.source_matcher_utils import get_source_partitions
    >>> net = rushlight.nn.Sequential(rushlight.nn.Linear(2, 3), rushlight.nn.ReLU())
    >>> graph = rushlight.export.export(net, (rushlight.ones(1, 2),)).graph
    >>> (part,) = get_source_partitions(graph, [rushlight.nn.ReLU])[rushlight.nn.ReLU]
    >>> part.nodes, part.input_nodes
    ([relu], [linear])
    """
    found: dict[Any, dict[str, list[Node]]] = {}
    for node in graph.nodes:
        origin = _origin(node, wanted_sources)
        if origin is not None:
            source, name = origin
            found.setdefault(source, {}).setdefault(name, []).append(node)
    return {
        source: [
            _partition(nodes, source)
            for nodes in by_name.values()
            if filter_fn is None or all(map(filter_fn, nodes))
        ]
        for source, by_name in found.items()
    }


def _origin(node, wanted):
    """The source among those wanted that a node comes from, and the name of its call."""
    if node.meta.get("source_fn_stack") is not None:
        name, source = node.meta["source_fn_stack"][-1]
        return (source, name) if source in wanted else None
    if node.op != "call_function":
        return None
    if node.meta.get("torch_fn") is not None:
        call, function = node.meta["torch_fn"]
        name = function.partition(".")[2]
        if name in wanted:
            return name, call
    if not node.meta.get("nn_module_stack"):
        return None
    path, kind = list(node.meta["nn_module_stack"].values())[-1]
    for source in wanted:
        if kind == source or isinstance(source, type) and _is_kind(kind, source):
            return source, path
    return None


def _is_kind(kind, source):
    """Whether a class, or the qualified name of one as export keeps it, is a wanted class."""
    if isinstance(kind, type):
        return issubclass(kind, source)
    return kind == f"{source.__module__}.{source.__qualname__}"


def _partition(nodes, source):
    inside = dict.fromkeys(nodes)
    reads = (read for node in nodes for read in node.all_input_nodes)
    calls = [node for node in nodes if node.op != "get_attr"]
    return SourcePartition(
        nodes,
        source,
        list(dict.fromkeys(n for n in reads if n not in inside and n.op != "get_attr")),
        [node for node in calls if any(user not in inside for user in node.users)],
        [node for node in nodes if node.op == "get_attr"],
    )


def check_subgraphs_connected(subgraph1: SourcePartition, subgraph2: SourcePartition) -> bool:
    """Whether a node of the second part reads one of the first."""
    first = set(subgraph1.nodes)
    return any(read in first for node in subgraph2.nodes for read in node.all_input_nodes)


__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]

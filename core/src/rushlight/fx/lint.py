"""The checks behind ``Graph.lint``."""

from __future__ import annotations

from rushlight.fx.node import LEGAL_OPS
from rushlight.nn import Module


def lint(graph) -> None:
    """RuntimeError, or ValueError for a target, where the graph is not well formed."""
    seen_names: set[str] = set()
    seen: set = set()
    for node in graph.nodes:
        if node.op not in LEGAL_OPS - {"root"}:
            raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
        if node.graph is not graph:
            raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
        if node.name in seen_names:
            raise RuntimeError(f"Node redefined name {node.name}!")
        for read in node.all_input_nodes:
            _check_input(graph, node, read, seen)
        _check_target(graph.owning_module, node)
        seen_names.add(node.name)
        seen.add(node)


def _check_input(graph, node, read, seen):
    if read.graph is not graph:
        raise RuntimeError(
            f"Argument '{read}' of Node '{node}' does not belong to this Graph, but was used as "
            "an argument! If you are copying nodes from another graph, make sure to use "
            "`arg_transform` on node_copy() to remap values"
        )
    if read not in seen:
        raise RuntimeError(
            f"Argument '{read}' of Node '{node}' was used before it has been defined! Please "
            "check that Nodes in the graph are topologically ordered"
        )
    if node not in read.users:
        raise RuntimeError(f"Node '{node}' reads '{read}', which does not list it as a user")


def _check_target(root, node):
    if root is None or node.op not in ("get_attr", "call_module"):
        return
    found = root
    for i, name in enumerate(path := node.target.split(".")):
        if not hasattr(found, name):
            raise RuntimeError(
                f"Node {node} target {node.target} references nonexistent attribute {name} of "
                f"{'.'.join(path[:i]) or 'the root module'}"
            )
        found = getattr(found, name)
    if node.op == "call_module" and not isinstance(found, Module):
        raise RuntimeError(
            f"Node {node} target {node.target} does not reference an nn.Module but a "
            f"{type(found).__name__}"
        )

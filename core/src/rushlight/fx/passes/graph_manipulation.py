"""Changing what nodes call, and how many bytes their values take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import rushlight
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node, Target, map_arg
from rushlight.fx.passes.shape_prop import ShapeProp, TensorMetadata


def replace_target_nodes_with(
    fx_module: GraphModule, old_op: str, old_target: Target, new_op: str, new_target: Target
) -> None:
    """Let all nodes of one kind and target be of another, with the same names and arguments.

    Args:
        fx_module: the traced module, which gets a new graph.
        old_op, old_target: what is replaced, such as ``"call_function"`` and ``rushlight.add``.
        new_op, new_target: what the nodes become.

    >>> import rushlight
    >>> from rushlight.fx.passes.graph_manipulation import replace_target_nodes_with
    >>> module = rushlight.fx.symbolic_trace(lambda x: rushlight.relu(x) + 1)
    >>> replace_target_nodes_with(module, "call_function", rushlight.relu, "call_method", "neg")
    >>> module(rushlight.ones(2))
    tensor([0., 0.])
    """
    graph = Graph(tracer_cls=fx_module.graph._tracer_cls)
    graph.set_codegen(fx_module.graph._codegen)
    values: dict[Node, Node] = {}
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            args = map_arg(node.args, values.__getitem__)
            kwargs = map_arg(node.kwargs, values.__getitem__)
            values[node] = graph.create_node(new_op, new_target, args, kwargs, node.name)
        else:
            values[node] = graph.node_copy(node, values.__getitem__)
    fx_module.graph = graph


class size_bytes(NamedTuple):  # noqa: N801 - PyTorch's name
    """Bytes of a node's value, and of it together with the parameters of the module called."""

    output_size: int
    total_size: int


def get_tensor_meta(node: Node) -> TensorMetadata:
    """What :class:`ShapeProp` noted of a node's value; RuntimeError where it has not run."""
    meta = node.meta.get("tensor_meta")
    if not meta:
        raise RuntimeError(
            f"get_tensor_meta(): '{node}' has no 'tensor_meta'; run ShapeProp on the module first"
        )
    return meta


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """The bytes of a node's value, a tensor; parameters count as if they had its dtype.

    Raises RuntimeError where :class:`ShapeProp` has not run.

    >>> import rushlight
    >>> from rushlight.fx.passes import graph_manipulation, shape_prop
    >>> module = rushlight.fx.symbolic_trace(rushlight.nn.Sequential(rushlight.nn.Linear(2, 3)))
    >>> _ = shape_prop.ShapeProp(module).propagate(rushlight.ones(4, 2))
    >>> layer = next(node for node in module.graph.nodes if node.op == "call_module")
    >>> graph_manipulation.get_size_of_node(module, layer)
    size_bytes(output_size=48, total_size=84)
    """
    meta = get_tensor_meta(node)
    size = meta.dtype.itemsize
    output = size * meta.shape.numel()
    held = 0
    if node.op == "call_module":
        held = sum(p.numel() for p in fx_module.get_submodule(node.target).parameters())
    return size_bytes(output, output + size * held)


def get_size_of_all_nodes(
    fx_module: GraphModule, args: Sequence[rushlight.Tensor] | None = None
) -> None:
    """Set ``node.size_bytes`` of every node but the output to :func:`get_size_of_node`. With `args`
    the module is run on them first, which finds the shapes."""
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op != "output":
            node.size_bytes = get_size_of_node(fx_module, node)


__all__ = [
    "get_size_of_all_nodes",
    "get_size_of_node",
    "get_tensor_meta",
    "replace_target_nodes_with",
    "size_bytes",
]

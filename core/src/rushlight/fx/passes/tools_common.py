"""What passes ask of nodes, and an order for them."""

from __future__ import annotations

import collections

import rushlight
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.names import qualified_name
from rushlight.fx.node import Node
from rushlight.fx.passes.fusion_groups import CALLABLE_NODE_OPS, FxNetAccFusionsFinder

Tensors = tuple[rushlight.Tensor, ...] | list[rushlight.Tensor]
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
TensorOrTensors = rushlight.Tensor | Tensors


def get_acc_ops_name(k: str | type) -> str:
    """The name of a class with its module, or of a backend's own op as ``acc_ops.name``; of a
    string itself.

    >>> import rushlight
    >>> from rushlight.fx.passes.tools_common import get_acc_ops_name
    >>> get_acc_ops_name("conv"), get_acc_ops_name(dict)
    ('conv', 'builtins.dict')
    """
    if isinstance(k, str):
        return k
    module = k.__module__ or ""
    return f"acc_ops.{k.__name__}" if "acc_ops" in module else f"{module}.{k.__name__}"


def get_node_target(submodules, node: Node) -> str:
    """What a call calls: the name of a function or method, or the class of a module; of a backend's
    own ops, those of a module named ``acc_ops``, ``acc_ops.name``. A module with an attribute
    ``_base_class_origin`` counts as one of that class."""
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(
            f"Expect op types of {', '.join(sorted(CALLABLE_NODE_OPS))}, but found {node.op}"
        )
    if node.op == "call_module":
        module = submodules[node.target]
        return get_acc_ops_name(getattr(module, "_base_class_origin", type(module)))
    if node.op == "call_method":
        return node.target
    if "acc_ops" in (getattr(node.target, "__module__", None) or ""):
        return get_acc_ops_name(node.target)
    return qualified_name(node.target)


def is_node_output_tensor(node: Node) -> bool:
    """Whether the value of a node is one tensor, as a pass that ran the graph noted."""
    kind = node.meta.get("type")
    return isinstance(kind, type) and issubclass(kind, rushlight.Tensor)


def legalize_graph(gm: GraphModule) -> GraphModule:
    """Bring the nodes of a graph into an order in which each comes behind what it reads;
    RuntimeError where they read each other."""
    return stable_topological_sort(gm)


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """:func:`legalize_graph` that leaves nodes in their order where it can."""
    nodes = list(gm.graph.nodes)
    left = {node: len(node.all_input_nodes) for node in nodes}
    ready = collections.deque(node for node in nodes if not left[node])
    order = []
    while ready:
        node = ready.popleft()
        order.append(node)
        for user in node.users:
            left[user] -= 1
            if not left[user]:
                ready.append(user)
    if len(order) < len(nodes):
        rest = sorted(node.name for node in set(nodes) - set(order))
        raise RuntimeError(f"Input graph has cycles, unable to add {rest}")
    new = Graph(tracer_cls=gm.graph._tracer_cls)
    values: dict[Node, Node] = {}
    new._codegen = gm.graph._codegen
    for node in order:
        values[node] = new.node_copy(node, values.__getitem__)
    gm.graph = new
    return gm


__all__ = [
    "CALLABLE_NODE_OPS",
    "FxNetAccFusionsFinder",
    "Names",
    "NodeList",
    "NodeSet",
    "TensorOrTensors",
    "Tensors",
    "get_acc_ops_name",
    "get_node_target",
    "is_node_output_tensor",
    "legalize_graph",
    "stable_topological_sort",
]

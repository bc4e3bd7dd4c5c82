"""Products of several matrices with the same one as a single product."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from operator import getitem

import rushlight
from rushlight.fx._symbolic_trace import symbolic_trace
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.fx.passes.tools_common import legalize_graph


def split_result_tensors(
    result: rushlight.Tensor, inputs: Sequence[rushlight.Tensor]
) -> tuple[rushlight.Tensor, ...]:
    """The rows of a product of joined `inputs` that belong to each of them.

    >>> import rushlight
    >>> from rushlight.fx.experimental.merge_matmul import split_result_tensors
    >>> parts = split_result_tensors(rushlight.ones(3, 2), [rushlight.ones(2), rushlight.ones(1)])
    >>> [len(part) for part in parts]
    [2, 1]
    """
    return rushlight.split(result, [each.shape[0] for each in inputs])


def may_depend_on(a: Node, b: Node, search_depth: int = 6) -> bool:
    """Whether `a` reads `b`, also through other nodes; True as well where `search_depth` nodes in
    a row do not answer it."""
    if a is b:
        return True
    if not a.all_input_nodes:
        return False
    if search_depth == 0:
        return True
    return any(may_depend_on(read, b, search_depth - 1) for read in a.all_input_nodes)


def are_nodes_independent(nodes: Sequence[Node]) -> bool:
    """Whether none of some nodes may depend on another one."""
    pairs = itertools.combinations(nodes, 2)
    return not any(may_depend_on(a, b) or may_depend_on(b, a) for a, b in pairs)


def merge_matmul(in_mod: rushlight.nn.Module) -> GraphModule:
    """A traced module in which calls of :func:`rushlight.matmul` with the same second operand are
    one product of their joined first operands.

    Operands must be matrices, or batches of them with a matrix as the second one. Calls that may
    depend on each other stay as they are; so do those with arguments by name, and ``a @ b``.

    >>> import rushlight
    >>> from rushlight.fx.experimental.merge_matmul import merge_matmul
    >>> def both(a, b, w):
    ...     return rushlight.matmul(a, w), rushlight.matmul(b, w)
    >>> sum(node.target is rushlight.matmul for node in merge_matmul(both).graph.nodes)
    1
    """
    module = symbolic_trace(in_mod)
    groups: dict[Node | str, list[Node]] = {}
    for node in module.graph.find_nodes(op="call_function", target=rushlight.matmul):
        if len(node.args) == 2 and not node.kwargs:
            groups.setdefault(_operand(node.args[1]), []).append(node)
    for calls in groups.values():
        if len(calls) > 1 and are_nodes_independent(calls):
            _merge(module.graph, calls)
    legalize_graph(module)
    module.recompile()
    module.graph.lint()
    return module


def _operand(node):
    """What two reads of one attribute have in common."""
    return node.target if node.op == "get_attr" else node


def _merge(graph, calls):
    """Replace products by items of one; new nodes stand at the end of the graph."""
    rows = [call.args[0] for call in calls]
    joined = graph.call_function(rushlight.cat, (rows,))
    product = graph.call_function(rushlight.matmul, (joined, calls[0].args[1]))
    parts = graph.call_function(split_result_tensors, (product, rows))
    for position, call in enumerate(calls):
        call.replace_all_uses_with(graph.call_function(getitem, (parts, position)))
        graph.erase_node(call)

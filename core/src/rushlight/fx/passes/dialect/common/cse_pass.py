"""A pass that makes each call once."""

from __future__ import annotations

from typing import Any

from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.fx.passes.infra.pass_base import PassBase, PassResult
from rushlight.library.operators import lookup
from rushlight.utils import _pytree as pytree

__all__ = ["CSEPass", "get_CSE_banned_ops"]

_COPIED = ("placeholder", "get_attr", "output")

# Of PyTorch's, those that there are here.
_aten = lookup("aten")
rand_ops = {
    _aten.dropout, _aten._standard_gamma, _aten.bernoulli, _aten.multinomial,
    _aten.native_dropout, _aten.normal, _aten.poisson, _aten.binomial, _aten.rrelu,
    _aten.rand_like, _aten.rand, _aten.randint, _aten.randn, _aten.randperm,
}  # fmt: skip
inplace_ops = {
    _aten.add_, _aten.sub_, _aten.mul_, _aten.div_, _aten.pow_, _aten.lerp_, _aten.relu_,
    _aten.sigmoid_, _aten.tanh_,
}  # fmt: skip


def get_CSE_banned_ops() -> set:  # noqa: N802 - PyTorch's name
    """The ops of ATen that draw numbers or write, of which two equal calls are not one.

    Example:
        >>> import rushlight
        >>> from rushlight.fx.passes.dialect.common.cse_pass import get_CSE_banned_ops
        >>> rushlight.ops.aten.rand in get_CSE_banned_ops()
        True
    """
    return rand_ops | inplace_ops


class CSEPass(PassBase):
    """Common subexpression elimination: of calls with equal arguments the first stays.

    Calls are told apart by target and arguments alone, so that the pass is for graphs without
    writes; the module keeps its parameters.

    Args:
        banned_ops: packets of overloads (``ops.aten.rand``) and other targets whose calls all stay;
            none by default. :func:`get_CSE_banned_ops` has those that draw numbers.

    Example:
        >>> import rushlight
        >>> from rushlight.fx.passes.dialect.common.cse_pass import CSEPass
        >>> twice = rushlight.fx.symbolic_trace(lambda x: x.cos() + x.cos())
        >>> found = CSEPass()(twice)
        >>> found.modified, [node.name for node in found.graph_module.graph.nodes]
        (True, ['x', 'cos', 'add', 'output'])
    """

    def __init__(self, banned_ops: set | None = None) -> None:
        self.banned_ops = set() if banned_ops is None else banned_ops

    def call(self, graph_module: GraphModule) -> PassResult:
        """A module with a new graph, and whether it has fewer calls."""
        copies: dict[Any, Any] = {}
        first: dict[Any, Any] = {}
        made, modified = Graph(), False
        for node in graph_module.graph.nodes:
            key = None if self._stays(node) else _key(node, copies)
            if key is not None and key in first:
                copies[node], modified = first[key], True
                continue
            copies[node] = made.node_copy(node, copies.__getitem__)
            if key is not None:
                first[key] = copies[node]
        made._codegen = graph_module.graph._codegen
        return PassResult(GraphModule(graph_module, made), modified)

    def _stays(self, node):
        packet = getattr(node.target, "overloadpacket", node.target)
        return node.op in _COPIED or packet in self.banned_ops


def _key(node, copies):
    """What tells a call from others, by the copies of the nodes that it reads; None for one with
    arguments that have no hash."""
    leaves, spec = pytree.tree_flatten((node.args, node.kwargs))
    # 1, 1.0 and True are equal, but not the same argument
    leaves = [copies[leaf] if isinstance(leaf, Node) else (type(leaf), leaf) for leaf in leaves]
    key = node.op, node.target, tuple(leaves), repr(spec)
    try:
        hash(key)
    except TypeError:
        return None
    return key

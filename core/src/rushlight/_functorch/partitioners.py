"""A joint graph of a function and its gradients as two: one to run forward, one backward."""

from __future__ import annotations

import collections
import math
import operator

from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.ops._transforms.wrapped_writes import gives_views
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree


def default_partition(
    joint_module: GraphModule, _joint_inputs, *, num_fwd_outputs: int,
    static_lifetime_input_indices=None, static_lifetime_input_nodes=None,
) -> tuple[GraphModule, GraphModule]:  # fmt: skip
    """The forward and the backward part of a joint graph: what is computed forward is saved where
    the backward part reads it.

    Args:
        joint_module: a graph whose inputs are named ``primals_1``, ... and ``tangents_1``, ...; its
            results are those of the function, then the gradients.
        _joint_inputs: not looked at.
        num_fwd_outputs: how many results are the function's.
        static_lifetime_input_indices, static_lifetime_input_nodes: not looked at.

    Returns: a module of the primals, which returns the function's results and what is saved, and
    one of what is saved and the tangents, which returns the gradients.

    Raises: NotImplementedError for a function that writes to an input whose values before that the
    backward part needs.
    """
    joint = _Joint(joint_module, num_fwd_outputs)
    forward = joint.forward
    rest = [n for n in joint.nodes if n in joint.needed and n not in forward]
    saved = [read for node in rest if node.op == "call_function" for read in node.all_input_nodes]
    saved = [n for n in saved if n.op != "get_attr" and (n in forward or n in joint.primals)]
    kept = [g for g in joint.gradients if isinstance(g, Node) and g not in joint.backward]
    return joint.parts([*saved, *(g for g in kept if g in forward or g in joint.primals)])


def min_cut_rematerialization_partition(
    joint_module: GraphModule, _joint_inputs, compiler: str = "inductor", *, num_fwd_outputs: int,
    static_lifetime_input_indices=None,
) -> tuple[GraphModule, GraphModule]:  # fmt: skip
    """:func:`default_partition` that saves the fewest bytes: elementwise ops and views may be
    computed again in the backward part, all others run once.

    Args: as for :func:`default_partition`; `compiler` is not looked at.
    """
    joint = _Joint(joint_module, num_fwd_outputs)
    return joint.parts(_cut(joint))


class _Joint:
    """A joint graph: its results, and which nodes belong to the function, which to gradients."""

    def __init__(self, module, num_fwd_outputs):
        self.module = module
        *self.nodes, end = module.graph.nodes
        results = pytree.tree_leaves(end.args[0])
        self.outputs, self.gradients = results[:num_fwd_outputs], results[num_fwd_outputs:]
        inputs = [node for node in self.nodes if node.op == "placeholder"]
        self.tangents = [node for node in inputs if node.name.startswith("tangents")]
        self.backward = _followers(self.nodes, self.tangents)
        self.primals = [node for node in inputs if node not in self.backward]
        self.effects = [
            n for n in self.nodes
            if n.op == "call_function" and n not in self.backward and n.is_impure()
        ]  # fmt: skip
        self.needed = _needed(self.gradients)
        self.forward = self._forward()

    def _forward(self):
        """What the function computes and writes, and the parts of nodes with several results."""
        found = _needed([*self.outputs, *self.effects])
        for node in self.nodes:
            if node.target is operator.getitem and node.args[0] in found:
                if node not in self.backward:
                    found.add(node)
        return found

    def parts(self, saved):
        """The modules, where the forward one returns what is `saved` besides."""
        saved = list(dict.fromkeys(saved))
        first = _needed([*self.outputs, *saved, *self.effects])
        rest = _needed(self.gradients, saved)
        self._refuse_lost({*saved, *(rest - self.backward)})
        calls = [node for node in self.nodes if node.op == "call_function"]
        return (
            _module(self.module, self.primals, [n for n in calls if n in first],
                    [*self.outputs, *saved]),
            _module(self.module, [*saved, *self.tangents], [n for n in calls if n in rest],
                    self.gradients),
        )  # fmt: skip

    def _refuse_lost(self, kept):
        """Raise where gradients may need what a tensor was before it was written to: it is saved
        when the forward part ends."""
        writes = {}
        for i, node in enumerate(self.nodes):
            for each in written_nodes([node]):
                writes[viewed(each)] = i  # the last
        for i, node in enumerate(self.nodes):
            if _is_view(node) or _writes_to_first(node):
                continue
            for read in map(viewed, node.all_input_nodes):
                early = i < writes.get(read, -1)
                if early and any(viewed(each) is read for each in kept):
                    raise NotImplementedError(
                        f"partition: '{read.name}' is written to, and the gradients may need what "
                        "it was before: write to a clone of it"
                    )


def _followers(nodes, begin):
    """The nodes that read some nodes, directly or by others, and these."""
    found = set(begin)
    for node in nodes:
        if any(read in found for read in node.all_input_nodes):
            found.add(node)
    return found


def _needed(results, known=()):
    """The nodes that results are computed from, and these; without those that are `known`, and
    what only they need."""
    found, left = set(), [each for each in results if isinstance(each, Node)]
    known = set(known)
    while left:
        node = left.pop()
        if node not in found and node not in known:
            found.add(node)
            left += node.all_input_nodes
    return found


def written_nodes(nodes) -> set[Node]:
    """The nodes whose tensors are written to by others."""
    found: set = set()
    for node in nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is not None and schema.is_mutable:
            given = dict(zip([a.name for a in schema.arguments], node.args, strict=False))
            given.update(node.kwargs)
            found.update(
                given[a.name] for a in schema.arguments
                if a.is_write and isinstance(given.get(a.name), Node)
            )  # fmt: skip
    return found


# ------------------------------------------------------------------------------ the smallest cut
def _cut(joint):
    """The values to save, of the fewest bytes, from which the gradients can be computed."""
    before = [n for n in joint.nodes if n in joint.needed and n not in joint.backward]
    before = [n for n in before if n.op != "get_attr"]
    written = {viewed(node) for node in written_nodes(joint.nodes)}
    flow = _Flow()
    for node in before:
        flow.add((node, "in"), (node, "out"), _bytes(node))
        once = any(viewed(read) in written for read in node.all_input_nodes)
        if node.op == "placeholder" or once or not _is_cheap(node):
            flow.add("source", (node, "in"), math.inf)
        for user in node.users:
            if user in joint.backward and user in joint.needed:
                flow.add((node, "out"), "sink", math.inf)
            elif user in joint.needed:
                flow.add((node, "out"), (user, "in"), math.inf)
        if node in joint.gradients:
            flow.add((node, "out"), "sink", math.inf)
    reached = flow.reached_after_filling()
    return [n for n in before if (n, "in") in reached and (n, "out") not in reached]


def _bytes(node):
    """What it costs to save a node's value; what is no tensor is computed again."""
    value = node.meta.get("val")
    return value.numel() * value.element_size() if isinstance(value, Tensor) else math.inf


def _is_cheap(node):
    """Whether a node is elementwise, a view, a part of several results, or made of numbers."""
    if node.target is operator.getitem:
        return True
    op = _op(node)
    elementwise = op is not None and op.kind == "elementwise"
    cheap = elementwise or _is_view(node) or not node.all_input_nodes
    return cheap and not node.is_impure()


def _op(node):
    """The op that a node calls, as it is declared; None for what is no op."""
    packet = getattr(node.target, "overloadpacket", None)
    return getattr(getattr(packet, "_function", None), "op", None)


def _is_view(node):
    op = _op(node)
    return op is not None and gives_views(op)


class _Flow:
    """A network of capacities, whose greatest flow from "source" to "sink" is found."""

    def __init__(self):
        self.left: dict = collections.defaultdict(dict)

    def add(self, start, end, capacity):
        """An edge; of two between the same ends the capacities are added."""
        self.left[start][end] = self.left[start].get(end, 0) + capacity
        self.left[end].setdefault(start, 0)

    def _paths(self):
        """The ends that can be reached from "source", each with the one before it."""
        before, queue = {"source": None}, collections.deque(["source"])
        while queue and "sink" not in before:
            start = queue.popleft()
            for end, capacity in self.left[start].items():
                if capacity > 0 and end not in before:
                    before[end] = start
                    queue.append(end)
        return before

    def reached_after_filling(self):
        """What "source" still reaches where the flow is the greatest (Edmonds and Karp)."""
        while "sink" in (before := self._paths()):
            end, path = "sink", []
            while before[end] is not None:
                path.append((before[end], end))
                end = before[end]
            amount = min(self.left[a][b] for a, b in path)
            for a, b in path:
                self.left[a][b] -= amount
                self.left[b][a] += amount
        return set(before)


def viewed(node):
    """The node whose memory a view's is; of other nodes the node itself."""
    while _is_view(node) or _writes_to_first(node):
        node = node.args[0]
    return node


def _writes_to_first(node):
    schema = getattr(node.target, "_schema", None)
    return bool(schema) and schema.arguments[0].is_write


def _module(joint, inputs, nodes, results):
    """A module of some nodes of a joint graph; constants are those of the joint module."""
    graph, copies = Graph(), {}
    for node in inputs:
        copies[node] = graph.placeholder(node.name)
        copies[node].meta = dict(node.meta)
    reads = {read: None for node in nodes for read in node.all_input_nodes}
    reads.update({each: None for each in results if isinstance(each, Node)})
    for node in reads:
        if node.op == "get_attr" and node not in copies:
            copies[node] = graph.node_copy(node)
    for node in nodes:
        copies[node] = graph.node_copy(node, lambda each: copies[each])
    graph.output(tuple(copies[each] if isinstance(each, Node) else each for each in results))
    graph.lint()
    return GraphModule(joint, graph)


__all__ = [
    "default_partition",
    "min_cut_rematerialization_partition",
    "viewed",
    "written_nodes",
]

"""Parts of a graph that a backend takes, as large as they may be without reading each other in a
circle."""

from __future__ import annotations

import operator

from rushlight.fx.names import qualified_name
from rushlight.fx.passes.utils.fuser_utils import fuse_by_partitions

_NO_COMPUTE = frozenset(["torch.ops.aten.view", "rushlight.ops.aten.view", "_operator.getitem"])


class Partition:
    """Nodes of a graph that become one module."""

    def __init__(self, id=None, nodes=None, node_orders=None):  # noqa: A002 - PyTorch's name
        self.id = id
        nodes = list(nodes or ())
        orders = [None] * len(nodes) if node_orders is None else list(node_orders)
        self.nodes = dict(zip(nodes, orders, strict=True))

    def __repr__(self) -> str:
        return str(self.nodes)

    def add_node(self, node, node_order: int | None = None) -> None:
        """Add a node."""
        self.nodes[node] = node_order

    def remove_node(self, node) -> None:
        """Take a node out."""
        del self.nodes[node]

    def size(self) -> int:
        """The number of nodes."""
        return len(self.nodes)


class CapabilityBasedPartitioner:
    """Divides a graph into parts that a backend takes.

    Args:
        graph_module: the traced module, changed by :meth:`fuse_partitions`.
        operator_support: says which nodes the backend takes.
        allows_single_node_partition: keep parts with one call of a function, too.
        non_compute_ops: qualified names of functions that do not count as calls.
        allowed_single_node_partition_ops: those that may be a part by themselves.
        skip_horizontal_fusion: join no parts that do not read each other.

    >>> import rushlight
    >>> from rushlight.fx.passes.infra.partitioner import CapabilityBasedPartitioner
    >>> from rushlight.fx.passes.operator_support import create_op_support
    >>> traced = rushlight.fx.symbolic_trace(lambda x: rushlight.relu(x + 1).sum())
    >>> support = create_op_support(lambda modules, node: node.op == "call_function")
    >>> fused = CapabilityBasedPartitioner(traced, support).partition_and_fuse()
    >>> [node.name for node in fused.graph.nodes]
    ['x', 'fused_0', 'sum_1', 'output']
    """

    def __init__(
        self, graph_module, operator_support, allows_single_node_partition: bool = False,
        non_compute_ops=None, allowed_single_node_partition_ops=None,
        *, skip_horizontal_fusion: bool = False,
    ):  # fmt: skip
        self.graph_module, self.operator_support = graph_module, operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = list(non_compute_ops or ())
        self.allowed_single_node_partition_ops = list(allowed_single_node_partition_ops or ())
        self.skip_horizontal_fusion = skip_horizontal_fusion

    def propose_partitions(self) -> list[Partition]:
        """The parts, each with its nodes in the graph's order."""
        nodes = list(self.graph_module.graph.nodes)
        modules = dict(self.graph_module.named_modules())
        parts = _Parts(nodes)
        for node in reversed(nodes):
            if self.operator_support.is_node_supported(modules, node):
                parts.begin(node, self.skip_horizontal_fusion)
        parts.keep_items()
        found = [Partition(number, *zip(*members, strict=True)) for number, members in parts.all()]
        if self.allows_single_node_partition:
            return found
        return [part for part in found if self._is_worth(part)]

    def _is_worth(self, part):
        """Whether a part has more than one call of a function that computes."""
        names = [qualified_name(n.target) for n in part.nodes if n.op == "call_function"]
        free = _NO_COMPUTE | set(self.non_compute_ops)
        alone = any(name in self.allowed_single_node_partition_ops for name in names)
        return alone or sum(name not in free for name in names) > 1

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_"):
        """The module whose parts are modules of their own."""
        return fuse_by_partitions(
            self.graph_module, [dict(part.nodes) for part in partitions], prefix=prefix
        )

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Take calls that do not count out of the beginnings and ends of parts."""
        free = frozenset(self.non_compute_ops)
        for part in partitions:
            for of in ("all_input_nodes", "users"):
                found = [n for n in part.nodes if _is_free(n, free)]
                for node in found if of == "all_input_nodes" else reversed(found):
                    if not any(other in part.nodes for other in getattr(node, of)):
                        part.remove_node(node)

    def partition_and_fuse(self, prefix: str = "fused_"):
        """:meth:`propose_partitions` and :meth:`fuse_partitions`."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)


def _is_free(node, names):
    return node.op == "call_function" and qualified_name(node.target) in names


class _Parts:
    """Parts in the making: node -> number, and number -> nodes."""

    def __init__(self, nodes):
        self.order = {node: place for place, node in enumerate(nodes)}
        self.number: dict = {}
        self.members: dict[int, dict] = {}
        self.count = 0

    def begin(self, node, related):
        """Give a node a part of its own, and join it with others, or those that read it alone if
        `related`, while no circle arises."""
        kept, self.count = self.count, self.count + 1
        self.number[node], self.members[kept] = kept, {node: None}
        others = sorted((n for n in self.members if n != kept), key=self._last, reverse=True)
        if related:
            others = list(dict.fromkeys(self.number[u] for u in node.users if u in self.number))
        for other in others:
            kept = self._joined(kept, other)

    def _last(self, number):
        """The position of a part's last node."""
        return max(self.order[node] for node in self.members[number])

    def _joined(self, first, second):
        """Make one part of two, if no circle arises, under the number of the larger; the number of
        what the first belongs to."""
        if self._circle(first, second):
            return first
        if len(self.members[second]) > len(self.members[first]):
            first, second = second, first
        for member in self.members.pop(second):
            self.number[member] = first
            self.members[first][member] = None
        return first

    def _circle(self, first, second):
        """Whether a way from one of two parts leads outside and back into one."""
        inside = {*self.members[first], *self.members[second]}
        waiting = [user for node in inside for user in node.users if user not in inside]
        seen = set()
        while waiting:
            node = waiting.pop()
            if node in inside:
                return True
            if node in seen:
                continue
            # who reads one node of a part reads the part
            group = self.members[self.number[node]] if node in self.number else (node,)
            seen.update(group)
            waiting += [user for each in group for user in each.users]
        return False

    def keep_items(self):
        """Items of a result belong to the part that computes it."""
        for node in self.order:
            for user in node.users:
                if user.op == "call_function" and user.target is operator.getitem:
                    self._move(user, self.number.get(node))

    def _move(self, node, number):
        before = self.number.pop(node, None)
        if before is not None:
            del self.members[before][node]
        if number is not None:
            self.number[node] = number
            self.members[number][node] = None

    def all(self):
        """Number and nodes, with their positions in the graph, of parts that have some."""
        for number, members in self.members.items():
            if members:
                yield (
                    number,
                    sorted(((n, self.order[n]) for n in members), key=lambda pair: pair[1]),
                )


__all__ = ["CapabilityBasedPartitioner", "Partition"]

"""Groups of calls that must stay in one part, since what passes between them is no tensor."""

from __future__ import annotations

from dataclasses import dataclass, field

from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node

CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def gives_tensors(node: Node) -> bool:
    """Whether :class:`ShapeProp` found a tensor in the value of a node."""
    return "tensor_meta" in node.meta


class FxNetAccFusionsFinder:
    """Finds groups of a backend's calls that pass values other than tensors to each other.

    A group has, with a call that gives no tensor, all calls that read it, those of its inputs that
    are no tensors either, and every call between two of its own. A group with a call that the
    backend does not take leaves the backend as a whole.

    Args: `module` is a module on which :class:`ShapeProp` has run; `acc_nodes` is the set of calls
    that the backend takes, which the search may reduce.

    >>> import rushlight
    >>> from rushlight.fx.passes.shape_prop import ShapeProp
    >>> from rushlight.fx.passes.tools_common import FxNetAccFusionsFinder
    >>> module = rushlight.fx.symbolic_trace(lambda x: rushlight.relu(x.view(x.size(0), -1)))
    >>> _ = ShapeProp(module).propagate(rushlight.ones(2, 3, 4))
    >>> calls = {n for n in module.graph.nodes if n.op.startswith("call")}
    >>> sorted(node.name for node in FxNetAccFusionsFinder(module, calls)())
    ['size', 'view']
    """

    @dataclass
    class FusionGroup:
        """A group that grows: its calls, and those that wait to be looked at."""

        nodes: dict[Node, None] = field(default_factory=dict)
        waiting: list[Node] = field(default_factory=list)

        def add_node(self, node: Node) -> None:
            """Add a call, if it is one and is not there yet."""
            if node.op in CALLABLE_NODE_OPS and node not in self.nodes:
                self.nodes[node] = None
                self.waiting.append(node)

    def __init__(self, module: GraphModule, acc_nodes: set[Node]):
        self.module, self.acc_nodes = module, acc_nodes
        self.nodes = list(module.graph.nodes)
        self.node_index = {node: i for i, node in enumerate(self.nodes)}

    def __call__(self) -> dict[Node, set[Node]]:
        """The groups, by each of their calls."""
        result: dict[Node, set[Node]] = {}
        for node in self.nodes:
            if node not in self.acc_nodes or node in result or gives_tensors(node):
                continue
            group = self._group(node)
            if group <= self.acc_nodes:
                result.update(dict.fromkeys(group, group))
            else:
                self.acc_nodes -= group
        return result

    def _group(self, first):
        group = self.FusionGroup()
        group.add_node(first)
        while group.waiting:
            node = group.waiting.pop()
            for read in node.all_input_nodes:
                if not gives_tensors(read):
                    group.add_node(read)
            if not gives_tensors(node):
                for user in node.users:
                    group.add_node(user)
            if not group.waiting:
                for between in self._between(group.nodes):
                    group.add_node(between)
        return set(group.nodes)

    def _between(self, group):
        """The calls behind one call of a group and before another."""
        span = self.nodes[min(map(self.node_index.get, group)) :]
        behind: set[Node] = set(group)
        before: set[Node] = set(group)
        for node in span:
            if any(read in behind for read in node.all_input_nodes):
                behind.add(node)
        for node in reversed(span):
            if any(user in before for user in node.users):
                before.add(node)
        return [node for node in span if node in behind and node in before]

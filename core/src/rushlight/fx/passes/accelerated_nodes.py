"""Which calls of a graph a backend takes, and a diary of how that was decided."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.fx.passes.operator_support import OperatorSupportBase
from rushlight.fx.passes.tools_common import (
    CALLABLE_NODE_OPS,
    NodeList,
    NodeSet,
    is_node_output_tensor,
)

ENV_FX_NET_ACC_SPLITTER_TRACKER_MODE = "FX_NET_ACC_SPLITTER_TRACKER_MODE"
ENV_FX_NET_ACC_SPLITTER_TRACKER_DUMP_PATH = "FX_NET_ACC_SPLITTER_TRACKER_DUMP_PATH"
ENV_FX_NET_ACC_SPLITTER_TRACKER_TRACKED_NODES = "FX_NET_ACC_SPLITTER_TRACKER_TRACKED_NODES"
TRACKER_MODE = os.environ.get(ENV_FX_NET_ACC_SPLITTER_TRACKER_MODE, "0")
DUMP_PREFIX = os.environ.get(ENV_FX_NET_ACC_SPLITTER_TRACKER_DUMP_PATH, "_fx_net_tracker")
NODES_SUFFIX, ALL_SUFFIX = "_nodes.txt", "_all.txt"


class NodeEvent:
    """What a search decided about a node.

    Args: `source` is the node, `desc` the decision as ``"kind|reason"``, `dep` the node that led to
    it, if another one did.
    """

    def __init__(self, source: Node, desc: str, dep: Node | None = None):
        self.source, self.desc, self.dep = source, desc, dep

    def to_str(self) -> str:
        """``"name: kind|reason cause"``, with ``#`` for a node that is its own cause."""
        return f"{self.source.name}: {self.desc} {self.dep.name if self.dep else '#'}"


class NodeEventTracker:
    """Keeps the events of a search in order.

    Args: `tracker_mode` says what :meth:`dump` writes: 0 nothing, 1 all events to a file, 2 also
    those of the nodes named in the environment with their causes, 3 also those of all nodes with
    several. `dump_prefix` is how the paths of the files begin.

    >>> import rushlight
    >>> from rushlight.fx.passes.splitter_base import NodeEventTracker
    >>> node = rushlight.fx.Graph().placeholder("x")
    >>> tracker = NodeEventTracker(0, "unused")
    >>> tracker.add(node, "init_cpu|not_callable")
    >>> tracker.to_dict()
    {'x': ['x: init_cpu|not_callable #']}
    """

    def __init__(self, tracker_mode: int, dump_prefix: str):
        self.tracker_mode, self.dump_prefix = tracker_mode, dump_prefix
        self.events: list[NodeEvent] = []
        self.node_events: dict[str, list[int]] = {}  # positions in events, by names of nodes
        self.writer: Callable[[str], object] = print

    def add(self, node: Node, desc: str, dep: Node | None = None) -> None:
        """Note an event."""
        self.node_events.setdefault(node.name, []).append(len(self.events))
        self.events.append(NodeEvent(node, desc, dep))

    def print_node(
        self, node_name: str, recursive: bool = False, tab: str = "",
        writer: Callable[[str], object] | None = None,
    ) -> None:  # fmt: skip
        """Give the events of a node to `writer`, a line each, which `tab` begins; with `recursive`
        those of their causes behind them."""
        for position in self.node_events.get(node_name, []):
            event = self.events[position]
            (writer or self.writer)(tab + event.to_str())
            if recursive and event.dep is not None:
                self.print_node(event.dep.name, True, "| " + tab, writer)

    def print_all(self, writer: Callable[[str], object] | None = None) -> None:
        """Give the events of all nodes to `writer`."""
        for name in self.node_events:
            (writer or self.writer)(f"Node: {name}:")
            self.print_node(name, tab="  ", writer=writer)

    def to_dict(self) -> dict[str, list[str]]:
        """The lines of all events, by names of nodes."""
        return {
            name: [self.events[position].to_str() for position in positions]
            for name, positions in self.node_events.items()
        }

    def dump(self) -> None:
        """Write the files that the mode asks for."""
        if self.tracker_mode >= 1:
            lines: list[str] = []
            self.print_all(lines.append)
            Path(self.dump_prefix + ALL_SUFFIX).write_text("".join(f"{x}\n" for x in lines))
        if self.tracker_mode in (2, 3):
            lines = []
            for name in self._selected():
                lines.append(f"===== Tracking node {name} =====")
                self.print_node(name, recursive=True, tab="|-", writer=lines.append)
                lines.append(f"===== End of tracking node {name} =====")
            Path(self.dump_prefix + NODES_SUFFIX).write_text("".join(f"{x}\n" for x in lines))

    def _selected(self):
        if self.tracker_mode == 2:
            return os.environ.get(ENV_FX_NET_ACC_SPLITTER_TRACKER_TRACKED_NODES, "").split(",")
        return [name for name, positions in self.node_events.items() if len(positions) > 1]


class FxNetAccNodesFinder:
    """Finds the calls that a backend takes.

    Unless `allow_non_tensor`, values other than tensors do not pass between the backend and the
    rest: a supported call that reads or gives such a value across that border is left out, and so
    is what that makes impossible in turn.

    Args: `module` is a module on which :class:`ShapeProp` has run; `operator_support` says which
    calls the backend supports. Calling the finder gives the set of nodes; `tracker` tells why.

    >>> import rushlight
    >>> from rushlight.fx.passes.operator_support import create_op_support
    >>> from rushlight.fx.passes.splitter_base import FxNetAccNodesFinder
    >>> module = rushlight.fx.symbolic_trace(lambda x: rushlight.relu(x) + 1)
    >>> supported = create_op_support(lambda modules, node: node.name == "relu")
    >>> FxNetAccNodesFinder(module, supported, allow_non_tensor=True)()
    {relu}
    """

    def __init__(
        self, module: GraphModule, operator_support: OperatorSupportBase, allow_non_tensor: bool
    ):
        self.module, self.operator_support = module, operator_support
        self.allow_non_tensor = allow_non_tensor
        self.acc_nodes: NodeSet = set()
        self.tracker = NodeEventTracker(int(TRACKER_MODE), DUMP_PREFIX)

    def __call__(self) -> NodeSet:
        """The calls that the backend takes."""
        modules = dict(self.module.named_modules())
        self.acc_nodes = set()
        for node in self.module.graph.nodes:
            if node.op not in CALLABLE_NODE_OPS:
                self.tracker.add(node, "init_cpu|not_callable")
            elif not self.operator_support.is_node_supported(modules, node):
                self.tracker.add(node, "init_cpu|operator_support")
            else:
                self.tracker.add(node, "init_acc|callable_and_operator_supported")
                self.acc_nodes.add(node)
        if not self.allow_non_tensor:
            self.reduce_acc_nodes_non_tensor_input()
            self.reduce_acc_nodes_non_tensor_output()
        self.tracker.dump()
        return self.acc_nodes

    def reduce_acc_nodes_non_tensor_input(self) -> None:
        """Leave out the calls that read other values than tensors from outside of the backend."""
        outside = [
            node
            for node in self.module.graph.nodes
            if node.op in CALLABLE_NODE_OPS
            and node not in self.acc_nodes
            and not is_node_output_tensor(node)
        ]
        for node in outside:
            self.tracker.add(node, "new_cpu_node|callable_non_tensor_input")
        self.reduce_acc_nodes_non_tensor_input_helper(outside)

    def reduce_acc_nodes_non_tensor_input_helper(self, cpu_worklist: NodeList) -> None:
        """Leave out what reads the calls of a list, which is emptied, and what reads those of them
        that give no tensors either."""
        while cpu_worklist:
            node = cpu_worklist.pop(0)
            for user in node.users:
                if user not in self.acc_nodes:
                    continue
                self.acc_nodes.remove(user)
                self.tracker.add(user, "acc_del|user_of_new_cpu_node", node)
                if not is_node_output_tensor(user):
                    self.tracker.add(user, "new_cpu_node|non_tensor_output")
                    cpu_worklist.append(user)

    def reduce_acc_nodes_non_tensor_output(self) -> None:
        """Leave out the calls whose values, if they are no tensors, are read outside of the
        backend."""
        while True:
            leaving: NodeList = []
            for node in self.module.graph.nodes:
                if node not in self.acc_nodes or is_node_output_tensor(node):
                    continue
                reader = next((user for user in node.users if user not in self.acc_nodes), None)
                if reader is not None:
                    leaving.append(node)
                    self.tracker.add(node, "acc_del|non_tensor_output_with_cpu_user", reader)
            if not leaving:
                return
            self.acc_nodes.difference_update(leaving)
            self.reduce_acc_nodes_non_tensor_input_helper(leaving)

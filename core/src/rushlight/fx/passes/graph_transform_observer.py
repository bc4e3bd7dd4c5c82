"""What a pass does to a graph: which nodes it makes and erases, and drawings of both graphs."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.fx.passes.graph_drawer import FxGraphDrawer

__all__ = ["GraphTransformObserver"]

T = TypeVar("T")


class GraphTransformObserver:
    """Watches a pass, which runs inside of ``with`` or by :meth:`apply_graph_pass`.

    With `log_url`, a folder, the names of the nodes that the pass makes and erases are in
    `created_nodes` and `erased_nodes`, and where there are some, drawings of the graph before and
    behind the pass are written there, ``pass_1_NAME_input_graph.dot`` and
    ``pass_1_NAME_output_graph.dot``. Without it, nothing is watched.

    Args:
        gm: the module whose graph changes.
        passname: what the pass is called.
        subsystem: whose pass it is.
        log_url: the folder, which is made if there is none.

    Example:
        >>> import rushlight
        >>> from rushlight.fx.passes.graph_transform_observer import GraphTransformObserver
        >>> module = rushlight.fx.symbolic_trace(lambda x: x.cos() + 1)
        >>> observer = GraphTransformObserver(module, "clean")
        >>> observer.apply_graph_pass(lambda graph: graph.eliminate_dead_code())
        False
    """

    _count = 0

    def __init__(
        self, gm: GraphModule, passname: str, subsystem: str | None = None,
        log_url: str | None = None,
    ) -> None:  # fmt: skip
        self.gm, self.passname, self.subsystem, self.log_url = gm, passname, subsystem, log_url
        self.active = log_url is not None
        if not self.active:
            return
        self.created_nodes: set[str] = set()
        self.erased_nodes: set[str] = set()
        self.name_to_node: dict[str, Node] = {}
        GraphTransformObserver._count += 1
        self._number = GraphTransformObserver._count
        self._before = self._drawn()

    @classmethod
    def get_current_pass_count(cls) -> int:
        """How many passes were watched so far."""
        return GraphTransformObserver._count

    def apply_gm_pass(self, pass_fn: Callable[[GraphModule], T]) -> T | None:
        """What a pass over the module gives, which is watched."""
        with self:
            return pass_fn(self.gm)

    def apply_graph_pass(self, pass_fn: Callable[[Graph], T]) -> T | None:
        """What a pass over the graph gives, which is watched."""
        with self:
            return pass_fn(self.gm.graph)

    def __enter__(self) -> GraphTransformObserver:
        if self.active:
            self.gm._register_create_node_hook(self._created)
            self.gm._register_erase_node_hook(self._erased)
        return self

    def __exit__(self, kind, error, traceback) -> None:
        if not self.active:
            return
        self.gm._unregister_create_node_hook(self._created)
        self.gm._unregister_erase_node_hook(self._erased)
        if kind is None and (self.created_nodes or self.erased_nodes):
            self._write("input", self._before)
            self._write("output", self._drawn())

    def _created(self, node):
        self.created_nodes.add(node.name)
        self.name_to_node[node.name] = node

    def _erased(self, node):
        self.erased_nodes.add(node.name)
        self.name_to_node.pop(node.name, None)

    def _drawn(self):
        options = {"ignore_getattr": True, "ignore_parameters_and_buffers": True}
        return FxGraphDrawer(self.gm, self.passname, **options).get_dot_text()

    def _write(self, side, text):
        os.makedirs(self.log_url, exist_ok=True)
        name = f"pass_{self._number}_{self.passname}_{side}_graph.dot"
        with open(os.path.join(self.log_url, name), "w", encoding="utf-8") as file:
            file.write(text)

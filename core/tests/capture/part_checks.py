"""A backend that keeps what it gets, and comparing results."""

from __future__ import annotations

import rushlight
from rushlight.utils import _pytree as pytree


class Noting:
    """A backend that keeps what it gets, and runs the graph."""

    def __init__(self):
        self.graphs = []

    def __call__(self, graph_module, example_inputs):
        self.graphs.append(graph_module)
        return graph_module.forward

    def steps(self):
        """The calls of each graph."""
        return [len(g.graph.find_nodes(op="call_function", target=None)) for g in self.graphs]


def same(found, expected):
    pairs = zip(*map(pytree.tree_leaves, (found, expected)), strict=True)
    for a, b in pairs:
        if isinstance(b, rushlight.Tensor):
            rushlight.testing.assert_close(a, b, rtol=0, atol=0)
        else:
            assert a == b

"""The inputs of a node as PyTorch has them, where an op takes them otherwise.

`arranged` of a declaration is a function of the node. It gives for each input in PyTorch's order
where it stands among the op's tensor arguments, and the view that it goes through there and that
is part of the call here, or None: ``((2, None), (0, None), (1, t))``. The view is its own inverse.
`next_functions`, calls of the node and its hooks go by it.
"""

from __future__ import annotations

import functools

from rushlight.autograd.node import Node
from rushlight.ops._table.recording import make_plan


class Arrangement:
    """The inputs of nodes in another order, some by way of a further node."""

    def __init__(self, parts):
        self.parts = parts

    def edges(self, edges, numbers):
        """``[(edge, output number), ...]`` in PyTorch's order."""
        found = []
        for position, view in self.parts:
            edge, number = edges[position], numbers[position]
            if view is not None and edge is not None:
                edge, number = _between(view.op, edge, number), 0
            found.append((edge, number))
        return found

    def shown(self, pieces):
        """The gradients of the op's arguments as those of PyTorch's inputs."""
        return tuple(_through(view, pieces[position]) for position, view in self.parts)

    def taken(self, pieces, count):
        """The gradients of PyTorch's inputs as those of the op's `count` arguments."""
        found = [None] * count
        for piece, (position, view) in zip(pieces, self.parts, strict=True):
            found[position] = _through(view, piece)
        return found


def _through(view, piece):
    return piece if view is None or piece is None else view(piece)


@functools.cache
def _plan(op):
    return make_plan(op, (2,))


def _between(op, edge, number):
    """A node between another and an edge of it: part of that one's call, which no pass runs."""
    node = Node(op, (edge,), [number] if number else None)
    node.plan, node.saved, node.is_part = _plan(op), (), True
    return node


@functools.cache
def arrangement(parts) -> Arrangement:
    """That of some parts."""
    return Arrangement(parts)

"""Types of items, found from those of the tuples and lists that they are taken from."""

from __future__ import annotations

import operator
import typing

from rushlight.fx.graph import Graph


def annotate_getitem_nodes(graph: Graph) -> None:
    """Set ``node.type`` of items of nodes whose type is a tuple, list or named tuple.

    Items of nodes without type, and slices, stay as they are. AssertionError where an index is
    behind the last type of a tuple.

    >>> import rushlight
    >>> from rushlight.fx.passes.annotate_getitem_nodes import annotate_getitem_nodes
    >>> graph = rushlight.fx.symbolic_trace(lambda pair: pair[0]).graph
    >>> next(iter(graph.nodes)).type = tuple[int, str]
    >>> annotate_getitem_nodes(graph)
    >>> [node.type for node in graph.nodes if node.name == "getitem"]
    [<class 'int'>]
    """
    for node in graph.nodes:
        if node.target is operator.getitem and isinstance(node.args[1], int):
            kind = _item_type(node.args[0].type, node.args[1])
            if kind is not None:
                node.type = kind


def _item_type(sequence, index):
    """The type of an item, or None where that of the sequence does not say it."""
    container, kinds = typing.get_origin(sequence), typing.get_args(sequence)
    if container is list and kinds:
        return kinds[0]
    if container is tuple:
        if len(kinds) == 2 and kinds[1] is ...:
            return kinds[0]
        if not -len(kinds) <= index < len(kinds):
            raise AssertionError(
                f"annotate_getitem_nodes(): index {index} is outside of the {len(kinds)} types of "
                f"{sequence}"
            )
        return kinds[index]
    if isinstance(sequence, type) and issubclass(sequence, tuple) and hasattr(sequence, "_fields"):
        return sequence.__annotations__.get(sequence._fields[index])
    return None

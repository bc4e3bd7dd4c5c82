"""Graphs as text for logs and messages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


class LazyString:
    """A text that is made when it is asked for, by ``function(*args, **kwargs)``: for calls of
    loggers, most of which print nothing."""

    def __init__(self, func: Callable[..., str], *args, **kwargs):
        self.func, self.args, self.kwargs = func, args, kwargs

    def __str__(self):
        return self.func(*self.args, **self.kwargs)


def lazy_format_graph_code(name: str, gm, maybe_id: int | None = None, **kwargs) -> LazyString:
    """The source of a graph module under a title, made when it is printed.

    Args:
        name: the title.
        gm: a :class:`~rushlight.fx.GraphModule`.
        maybe_id: a number that follows the title, by default none.
        **kwargs: options of `GraphModule.print_readable`; nothing is printed by default.

    >>> import rushlight
    >>> from rushlight.fx.graph_text import lazy_format_graph_code
    >>> text = str(lazy_format_graph_code("mine", rushlight.fx.symbolic_trace(lambda x: x + 1)))
    >>> text.splitlines()[:2]
    ['TRACED GRAPH', ' ===== mine =====']
    """
    title = name if maybe_id is None else f"{name} {maybe_id}"
    options = {"print_output": False, **kwargs}
    if not sys.stdout.isatty():
        options.pop("colored", None)

    def text():
        code = gm.forward.__code__
        where = f"{code.co_filename}:{code.co_firstlineno} in {code.co_name}"
        return f"TRACED GRAPH\n ===== {title} =====\n {where} {gm.print_readable(**options)}"

    return LazyString(text)


def first_call_function_nn_module_stack(graph) -> dict[str, Any] | None:
    """``meta["nn_module_stack"]`` of the first call of a function that has one; None without."""
    for node in graph.nodes:
        if node.op == "call_function" and "nn_module_stack" in node.meta:
            return node.meta["nn_module_stack"]
    return None


def get_node_context(node, num_nodes: int = 2) -> str:
    """A node and those before it as text, one a line, the node last.

    Args: `num_nodes` is how many there are; fewer at the beginning of the graph.

    >>> import rushlight
    >>> from rushlight.fx.graph_text import get_node_context
    >>> x, add, _ = rushlight.fx.symbolic_trace(lambda x: x + 1).graph.nodes
    >>> print(get_node_context(add))
    %x : [num_users=1] = placeholder[target=x]
    %add : [num_users=1] = call_function[target=operator.add](args = (%x, 1), kwargs = {})
    """
    found: list = []
    while node.op != "root" and len(found) < num_nodes:
        found.append(node.format_node())
        node = node.prev
    return "\n".join(reversed(found))

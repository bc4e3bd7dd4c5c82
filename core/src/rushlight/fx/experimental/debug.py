"""A breakpoint in the generated code of a graph."""

from __future__ import annotations

from rushlight.fx.graph_module import GraphModule

__all__ = ["set_trace"]


def set_trace(gm: GraphModule) -> GraphModule:
    """Let the generated ``forward`` of a graph module begin in the debugger; returns the module,
    compiled anew.

    >>> import rushlight
    >>> from rushlight.fx.experimental.debug import set_trace
    >>> module = set_trace(rushlight.fx.symbolic_trace(lambda x: x + 1))
    >>> "pdb.set_trace()" in module.code
    True
    """

    def transformer(current):
        def lines(body):
            return ["import pdb; pdb.set_trace()\n", *(current(body) if current else body)]

        return lines

    with gm.graph.on_generate_code(transformer):
        gm.recompile()
    return gm

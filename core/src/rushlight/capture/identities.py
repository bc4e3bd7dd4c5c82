"""Graph pass: steps that give their argument itself are left out."""

from __future__ import annotations

import inspect

from rushlight.nn import functional as F

_DROPOUTS = (F.dropout, F.dropout2d, F.alpha_dropout)
_SIGNATURES = {function: inspect.signature(function) for function in _DROPOUTS}


def without_identities(graph) -> None:
    """Remove dropouts that do not train, which give their argument itself."""
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target not in _SIGNATURES:
            continue
        given = _SIGNATURES[node.target].bind(*node.args, **node.kwargs)
        given.apply_defaults()
        if not given.arguments["training"]:
            node.replace_all_uses_with(given.arguments["input"])
            graph.erase_node(node)

"""Graph pass: steps that give their argument itself are left out."""

from __future__ import annotations

import inspect

from rushlight.nn import functional as F

_DROPOUTS = (F.dropout, F.dropout2d, F.alpha_dropout)
_SIGNATURES = dict(zip(_DROPOUTS, map(inspect.signature, _DROPOUTS), strict=True))


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

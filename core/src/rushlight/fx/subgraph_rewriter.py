"""Replacing every occurrence of one computation by another."""

from __future__ import annotations

import copy
from typing import NamedTuple

from rushlight.fx._symbolic_trace import symbolic_trace
from rushlight.fx.graph import Graph, has_path
from rushlight.fx.graph_module import GraphModule, _copy_attr
from rushlight.fx.node import Node
from rushlight.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher


class Match(NamedTuple):
    """An occurrence of the pattern: its last node, and the graph's node for each of the
    pattern's."""

    anchor: Node
    nodes_map: dict[Node, Node]


class ReplacedPatterns:
    """An occurrence that was replaced: `anchor`, `nodes_map` and the new nodes in order."""

    def __init__(self, anchor: Node, nodes_map: dict[Node, Node], replacements: list[Node]):
        self.anchor, self.nodes_map, self.replacements = anchor, nodes_map, replacements


def replace_pattern(gm: GraphModule, pattern, replacement) -> list[Match]:
    """Replace every occurrence of `pattern` in the graph of `gm`, which do not overlap, by
    `replacement`; both are functions, modules or graphs with the same inputs and outputs. Returns
    the occurrences.

    >>> import rushlight
    >>> module = rushlight.fx.symbolic_trace(lambda x: rushlight.relu(x) + 1)
    >>> found = rushlight.fx.replace_pattern(
    ...     module, lambda x: rushlight.relu(x), lambda x: rushlight.tanh(x)
    ... )
    >>> [node.name for node in module.graph.nodes]
    ['x', 'tanh', 'add', 'output']
    """
    found = _replace(gm, pattern, replacement)
    return [Match(anchor=each.anchor, nodes_map=each.nodes_map) for each in found]


def replace_pattern_with_filters(
    gm: GraphModule, pattern, replacement=None, match_filters=None, ignore_literals=False,
    replacement_callback=None, node_name_match: str = "",
) -> list[ReplacedPatterns]:  # fmt: skip
    """:func:`replace_pattern` of those occurrences for which each of the `match_filters`, called
    with the match, the graph and the pattern's graph, is true. With `ignore_literals` numbers
    of the pattern match any; `replacement_callback`, called alike, gives the replacement."""
    if node_name_match:
        raise NotImplementedError(
            "replace_pattern_with_filters(): node_name_match is not available; use match_filters"
        )
    return _replace(
        gm, pattern, replacement, match_filters or [], ignore_literals, replacement_callback
    )


def _graph_of(what):
    if isinstance(what, Graph):
        return what
    return what.graph if isinstance(what, GraphModule) else symbolic_trace(what).graph


def _replace(gm, pattern, replacement, filters=(), ignore_literals=False, callback=None):
    pattern_graph = _graph_of(pattern)
    matcher = SubgraphMatcher(
        pattern_graph, match_output=False, match_placeholder=False,
        remove_overlapping_matches=True, ignore_literals=ignore_literals,
    )  # fmt: skip
    found = [
        match
        for match in matcher.match(gm.graph)
        if all(keep(match, gm.graph, pattern_graph) for keep in filters)
    ]
    fixed = None if callback is not None else _graph_of(replacement)
    replaced: dict[Node, Node] = {}  # nodes that are gone -> what stands for them
    results = []
    for match in found:
        new = fixed if fixed is not None else callback(match, gm.graph, pattern_graph)
        results.append(_put_in(gm, match, _graph_of(new), replaced))
    gm.recompile()
    _adopt(gm, replacement)
    return results


def _put_in(gm, match: InternalMatch, replacement, replaced):
    """Copy the replacement into the graph in the place of a match."""
    placeholders, named = replacement.find_nodes(op="placeholder"), _as_now(match, replaced)
    inputs = [replaced.get(n, n) if isinstance(n, Node) else n for n in match.placeholder_nodes]
    if len(placeholders) != len(inputs):
        raise AssertionError(
            f"replace_pattern(): the pattern has {len(inputs)} inputs, the replacement "
            f"{len(placeholders)}"
        )
    val_map = dict(zip(placeholders, inputs, strict=True))
    first = _begin(gm.graph, match, inputs)
    with gm.graph.inserting_before(first):
        result = gm.graph.graph_copy(replacement, val_map)
    copies = [val_map[n] for n in replacement.nodes if n in val_map and n.op != "placeholder"]
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    if len(outputs) != len(match.returning_nodes):
        raise AssertionError(
            f"replace_pattern(): the pattern returns {len(match.returning_nodes)} values, the "
            f"replacement {len(outputs)}"
        )
    for old, new in zip(match.returning_nodes, outputs, strict=True):
        old.replace_all_uses_with(new)
        replaced[old] = new
    for node in sorted(_inner(match), reverse=True):
        gm.graph.erase_node(node)
    return ReplacedPatterns(match.anchors[0], named, copies)


def _as_now(match, replaced):
    """The nodes of a match by those of the pattern; what an earlier match computed is what stands
    for it now."""
    return {p: replaced.get(n, n) if isinstance(n, Node) else n for p, n in match.nodes_map.items()}


def _inner(match):
    """The nodes of the graph that the pattern computes."""
    given = {n for n in match.placeholder_nodes if isinstance(n, Node)}
    return [
        gn
        for pn, gn in match.nodes_map.items()
        if pn.op not in ("placeholder", "output") and isinstance(gn, Node)
        and gn not in given and not gn._erased
    ]  # fmt: skip


def _begin(graph, match, inputs):
    """Where the copy begins: at the first user of the match, but behind its inputs."""
    inner = set(_inner(match))
    after = [n for n in inputs if isinstance(n, Node)]
    latest = max(after) if after else None
    users = [u for n in match.returning_nodes for u in n.users if u not in inner]
    first = min(users) if users else max(inner).next
    if latest is not None and first <= latest:
        raise RuntimeError(
            "replace_pattern(): an input of the match is computed behind a use of its result"
        )
    return first


def _adopt(gm, replacement):
    """Give the module what the replacement's calls name, and drop modules nobody calls."""
    root = getattr(replacement, "root", replacement)
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        if has_path(gm, node.target):
            continue
        if not has_path(root, node.target):
            raise RuntimeError(
                f'Attempted to create a "{node.op}" node during subgraph rewriting with target '
                f"{node.target}, but the referenced attribute does not exist in the replacement "
                "GraphModule"
            )
        _copy_attr(root, gm, node.target)
        value = gm.get_submodule(node.target) if node.op == "call_module" else None
        if value is not None:
            gm.add_submodule(node.target, copy.deepcopy(value))
    gm.delete_all_unused_submodules()
    gm.graph.lint()


__all__ = [
    "Match",
    "ReplacedPatterns",
    "replace_pattern",
    "replace_pattern_with_filters",
]

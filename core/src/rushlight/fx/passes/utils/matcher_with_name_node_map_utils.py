"""Finding a small graph in a larger one, and its nodes by names that the pattern gives them."""

from __future__ import annotations

import dataclasses

from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from rushlight.utils import _pytree as pytree

__all__ = ["SubgraphMatcherWithNameNodeMap"]


def _named_nodes(pattern: GraphModule) -> dict[str, Node]:
    """The dict of nodes that a pattern returns last, which its graph has no more afterwards."""
    output = pattern.graph.output_node()
    form = getattr(pattern.graph._codegen, "pytree_info", None)
    spec = None if form is None else form.out_spec
    results = output.args[0] if spec is None else pytree.tree_unflatten(output.args[0], spec)
    if not isinstance(results, tuple) or len(results) < 2 or not isinstance(results[-1], dict):
        raise AssertionError(
            "SubgraphMatcherWithNameNodeMap: the pattern must return its results and, last, a "
            f"dict of nodes by name, but returns {results}"
        )
    *rest, named = results
    leaves, made = pytree.tree_flatten(rest)
    output.args = (leaves[0] if spec is None and len(leaves) == 1 else leaves,)
    if form is not None:
        pattern.graph._codegen.pytree_info = dataclasses.replace(form, out_spec=made)
    pattern.recompile()
    return named


class SubgraphMatcherWithNameNodeMap(SubgraphMatcher):
    """A :class:`SubgraphMatcher` whose pattern names nodes: it returns its results and, last, a
    dict of values by name. Matches have the nodes of the graph under these names in
    `name_node_map`.

    Args: `pattern_gm`, the pattern traced, from which the dict is removed; the others are those of
    :class:`SubgraphMatcher`. Raises AssertionError where the pattern returns no such dict.

    >>> import rushlight
    >>> from rushlight.fx.passes.utils.matcher_with_name_node_map_utils import (
    ...     SubgraphMatcherWithNameNodeMap,
    ... )
    >>> def pattern(x):
    ...     exp = rushlight.exp(x)
    ...     log = rushlight.log1p(exp)
    ...     return log, {"inner": exp}
    >>> graph = rushlight.fx.symbolic_trace(lambda x: rushlight.log1p(rushlight.exp(x * 2))).graph
    >>> matcher = SubgraphMatcherWithNameNodeMap(rushlight.fx.symbolic_trace(pattern))
    >>> matcher.match(graph)[0].name_node_map["inner"].name
    'exp'
    """

    def __init__(
        self, pattern_gm: GraphModule, match_output: bool = False, match_placeholder: bool = False,
        remove_overlapping_matches: bool = True, ignore_literals: bool = False,
    ):  # fmt: skip
        self._named = _named_nodes(pattern_gm)
        super().__init__(
            pattern_gm.graph, match_output, match_placeholder, remove_overlapping_matches,
            ignore_literals,
        )  # fmt: skip

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The occurrences in `graph`."""
        found = super().match(graph, node_name_match)
        for match in found:
            for name, node in self._named.items():
                match.name_node_map[name] = match.nodes_map[node]
        return found

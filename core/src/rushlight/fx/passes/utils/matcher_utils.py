"""Finding the occurrences of a small graph in a larger one."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass, field

import rushlight
from rushlight.fx.graph import Graph
from rushlight.fx.node import Node
from rushlight.fx.operator_schemas import bound_arguments


@dataclass
class InternalMatch:
    """An occurrence: the pattern's nodes it was found by, the graph's for each of its nodes, and
    the graph's nodes for the pattern's inputs and results, in order."""

    anchors: list[Node]
    nodes_map: dict = field(default_factory=dict)
    placeholder_nodes: list = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self):
        return InternalMatch(
            self.anchors, dict(self.nodes_map), list(self.placeholder_nodes),
            list(self.returning_nodes), dict(self.name_node_map),
        )  # fmt: skip


class SubgraphMatcher:
    """Finds `pattern` in graphs. Its inputs match any node, unless `match_placeholder`; its output
    only an output if `match_output`. Numbers must be equal, unless `ignore_literals`; matches that
    share nodes with an earlier one are dropped if `remove_overlapping_matches`."""

    def __init__(
        self, pattern: Graph, match_output: bool = False, match_placeholder: bool = False,
        remove_overlapping_matches: bool = True, ignore_literals: bool = False,
    ):  # fmt: skip
        self.pattern, self.ignore_literals = pattern, ignore_literals
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.users:
                raise AssertionError(
                    "SubgraphMatcher cannot be initialized with an pattern with dead code: "
                    f"nobody reads '{node}'"
                )
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        output = pattern.output_node()
        self.pattern_returning_nodes = output.all_input_nodes
        only_returned = [n for n in output.all_input_nodes if len(n.users) == 1]
        self.pattern_anchors = [output] if match_output else only_returned

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The occurrences in `graph`."""
        nodes = list(graph.nodes)
        candidates = [
            [node for node in nodes if self._same_kind(anchor, node)]
            for anchor in self.pattern_anchors
        ]
        found = []
        for chosen in itertools.product(*candidates):
            match = InternalMatch(anchors=self.pattern_anchors)
            pairs = zip(self.pattern_anchors, chosen, strict=True)
            if all(self._match_nodes(p, g, match) for p, g in pairs) and self._complete(match):
                found.append(match)
        return _apart(found) if self.remove_overlapping_matches else found

    def _complete(self, match):
        """Fill in the inputs and results of a match; whether nobody outside reads its inside."""
        returning = [match.nodes_map[p] for p in self.pattern_returning_nodes]
        inside = {g for p, g in match.nodes_map.items() if isinstance(g, Node)}
        for p, g in match.nodes_map.items():
            if p.op in ("placeholder", "get_attr") or not isinstance(g, Node) or g in returning:
                continue
            if any(user not in inside for user in g.users):
                return False
        match.placeholder_nodes = [match.nodes_map[p] for p in self.pattern_placeholder_nodes]
        match.returning_nodes = returning
        return True

    def _same_kind(self, p, g):
        if not self.match_placeholder and p.op == "placeholder":
            return True
        if p.op != g.op:
            return False
        if p.op in ("placeholder", "output"):
            return True
        if p.op == "get_attr":
            return self._same_attribute(p, g)
        return p.target == g.target

    def _same_attribute(self, p, g):
        first, second = _value(p), _value(g)
        if isinstance(first, rushlight.Tensor):
            return isinstance(second, rushlight.Tensor)
        return type(first) is type(second)

    def _match_nodes(self, p, g, match):
        if p in match.nodes_map:
            return match.nodes_map[p] is g
        if any(g is other for other in match.nodes_map.values()):
            return False
        if not self._same_kind(p, g):
            return False
        saved = copy.copy(match)
        match.nodes_map[p] = g
        if p.op == "placeholder" or self._match_arguments(p, g, match):
            return True
        match.nodes_map = saved.nodes_map
        return False

    def _match_arguments(self, p, g, match):
        if p.op == "call_function" and (len(p.args), {*p.kwargs}) != (len(g.args), {*g.kwargs}):
            first, second = bound_arguments(p), bound_arguments(g)
            if first is None or second is None:
                return False
            return self._match_values(first, second, match)
        if {*p.kwargs} != {*g.kwargs}:
            return False
        in_order = {name: g.kwargs[name] for name in p.kwargs}
        return self._match_values(p.args, g.args, match) and self._match_values(
            dict(p.kwargs), in_order, match
        )

    def _match_values(self, p, g, match):
        if isinstance(p, Node) and isinstance(g, Node):
            return self._match_nodes(p, g, match)
        if isinstance(p, Node):
            return self._match_literal(p, g, match)
        if isinstance(g, Node):
            return False
        if isinstance(p, (list, tuple)) and isinstance(g, (list, tuple)):
            pairs = zip(p, g, strict=False)
            return len(p) == len(g) and all(self._match_values(a, b, match) for a, b in pairs)
        if isinstance(p, dict) and isinstance(g, dict):
            return p.keys() == g.keys() and all(
                self._match_values(p[key], g[key], match) for key in p
            )
        return self.ignore_literals or type(p) is type(g) and p == g

    def _match_literal(self, p, value, match):
        """An input of the pattern stands for a number."""
        if p.op != "placeholder":
            return False
        if p in match.nodes_map:
            known = match.nodes_map[p]
            return type(known) is type(value) and known == value
        match.nodes_map[p] = value
        return True


def _value(node):
    owner = node.graph.owning_module
    if owner is None:
        return None
    found = owner
    for name in node.target.split("."):
        found = getattr(found, name)
    return found


def _apart(matches):
    """The matches without those that share a node with an earlier one."""
    taken: set[Node] = set()
    kept = []
    for match in matches:
        own = {g for p, g in match.nodes_map.items() if p.op not in ("placeholder", "get_attr")}
        if not own & taken:
            kept.append(match)
            taken |= own
    return kept

# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from rushlight._words import _bool
from rushlight._words import _str
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from typing import Any
from typing import NamedTuple

class Match(NamedTuple):
    anchor: Node
    nodes_map: dict[Node, Node]
class ReplacedPatterns:
    def __init__(self, anchor: Node, nodes_map: dict[Node, Node], replacements: list[Node]) -> None: ...
    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]
def replace_pattern(gm: GraphModule, pattern: Callable[..., Any], replacement: Callable[..., Any]) -> list[Match]: ...
def replace_pattern_with_filters(gm: GraphModule, pattern: Any, replacement: Any = ..., match_filters: Any = ..., ignore_literals: _bool = ..., replacement_callback: Any = ..., node_name_match: _str = ...) -> list[ReplacedPatterns]: ...

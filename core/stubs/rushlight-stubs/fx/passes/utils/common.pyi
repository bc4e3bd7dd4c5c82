# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _str
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.nn.module import Module
from typing import Any

class HolderModule(Module):
    def __init__(self, d: dict[Any, Any]) -> None: ...
def compare_graphs(left: Graph, right: Graph) -> _bool: ...
def lift_subgraph_as_module(gm: GraphModule, subgraph: Graph, comp_name: _str = ..., class_name: _str = ...) -> tuple[GraphModule, dict[_str, _str]]: ...

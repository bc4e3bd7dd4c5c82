"""Graphs as modules, and whether two graphs are the same."""

from __future__ import annotations

from rushlight import nn
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule, _copy_attr
from rushlight.fx.passes.utils.matcher_utils import SubgraphMatcher


class HolderModule(nn.Module):
    """A module with the modules of a dict."""

    def __init__(self, d: dict):
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(
    gm: GraphModule, subgraph: Graph, comp_name: str = "", class_name: str = "GraphModule"
) -> tuple[GraphModule, dict[str, str]]:
    """A module of a graph whose nodes name modules and attributes of `gm`; and by these names
    those that they have in it, below `comp_name`."""
    root, names = HolderModule({}), {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        names[node.target] = f"{comp_name}.{node.target}" if comp_name else node.target
        _copy_attr(gm, root, node.target)
    return GraphModule(root, subgraph, class_name=class_name), names


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether two graphs have the same nodes that read the same nodes."""
    matcher = SubgraphMatcher(left, match_output=True, match_placeholder=True)
    return len(matcher.match(right)) > 0


__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]

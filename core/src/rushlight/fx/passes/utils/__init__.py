"""What passes are made of: finding patterns in graphs, and parts of graphs as modules."""

from rushlight.fx.passes.utils.common import (
    HolderModule,
    compare_graphs,
    lift_subgraph_as_module,
)

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]

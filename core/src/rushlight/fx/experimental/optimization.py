"""Changes of a traced model for inference."""

from __future__ import annotations

import copy

from rushlight import nn
from rushlight.fx._symbolic_trace import symbolic_trace
from rushlight.fx.graph_module import GraphModule
from rushlight.nn.utils.fusion import fuse_conv_bn_eval

_PAIRS = (
    (nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d),
)  # fmt: skip


def matches_module_pattern(pattern, node, modules: dict) -> bool:
    """Whether a call of a module of class ``pattern[1]`` reads one of class ``pattern[0]``."""
    if not node.args or not hasattr(node.args[0], "op"):
        return False
    for each, kind in zip((node.args[0], node), pattern, strict=True):
        if each.op != "call_module" or type(modules.get(each.target)) is not kind:
            return False
    return True


def replace_node_module(node, modules: dict, new_module: nn.Module) -> None:
    """Put another module where a node's call finds it."""
    parent, _, name = node.target.rpartition(".")
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: nn.Module, inplace: bool = False, no_trace: bool = False) -> nn.Module:
    """A model in which convolutions take over the batch normalisation behind them; in eval mode
    alone. With `no_trace` the model is a GraphModule already; with `inplace` its weights are not
    copied.

    >>> import rushlight
    >>> from rushlight.fx.experimental.optimization import fuse
    >>> layers = rushlight.nn.Sequential(rushlight.nn.Conv2d(1, 2, 3), rushlight.nn.BatchNorm2d(2))
    >>> [type(m).__name__ for m in fuse(layers.eval()).children()]
    ['Conv2d']
    """
    model = model if inplace else copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules = dict(traced.named_modules())
    for pattern in _PAIRS:
        for node in traced.graph.nodes:
            if matches_module_pattern(pattern, node, modules):
                _fuse_pair(traced, node, modules)
    traced.delete_all_unused_submodules()
    traced.recompile()
    return traced


def _fuse_pair(traced, node, modules):
    conv, norm = modules[node.args[0].target], modules[node.target]
    if len(node.args[0].users) > 1 or not norm.track_running_stats:
        return
    replace_node_module(node.args[0], modules, fuse_conv_bn_eval(conv, norm))
    node.replace_all_uses_with(node.args[0])
    traced.graph.erase_node(node)


def remove_dropout(model: nn.Module) -> nn.Module:
    """A traced model without its dropout layers."""
    traced = symbolic_trace(model)
    modules = dict(traced.named_modules())
    for node in list(traced.graph.nodes):
        if node.op == "call_module" and isinstance(modules[node.target], nn.Dropout):
            node.replace_all_uses_with(node.args[0])
            traced.graph.erase_node(node)
    traced.delete_all_unused_submodules()
    traced.recompile()
    return traced

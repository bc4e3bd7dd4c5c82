"""The part of a graph that no input reaches, computed once before the first call."""

from __future__ import annotations

import re
from collections.abc import Callable

import rushlight
from rushlight import nn
from rushlight.fx._symbolic_trace import symbolic_trace
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node, map_arg
from rushlight.fx.passes.split_module import split_module

_CONSTANT, _REST = "submod_0", "submod_1"


class FoldedGraphModule(GraphModule):
    """A traced module with a second graph, of constants, that runs before the first call.

    Args:
        root, graph: what is run in every call, as for :class:`GraphModule`.
        const_subgraph: the graph of the constants, which has no inputs; None for none.
        fx_const_folded_attrs_name: the attribute that takes its result: a Parameter, or a
            ParameterList for several.
        device_for_folded_attrs: where numbers among the results are put, as tensors of one number.
    """

    def __init__(
        self, root: nn.Module, graph: Graph, const_subgraph: Graph | None = None,
        fx_const_folded_attrs_name: str | None = None, device_for_folded_attrs: str = "cuda",
    ):  # fmt: skip
        super().__init__(root, graph)
        constants = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.const_subgraph_module = constants
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args, **kwargs):
        """Run the graph; before the first time also that of the constants."""
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Compute the constants, where there are any; AssertionError the second time, TypeError
        where one is neither a tensor nor a number."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("run_folding(): the constants have been computed already")
        self.has_folding_been_run = True
        found = self.const_subgraph_module()
        several = isinstance(found, tuple)
        folded = (
            nn.ParameterList(map(self._parameter, found)) if several else self._parameter(found)
        )
        setattr(self, self.fx_const_folded_attrs_name, folded)

    def _parameter(self, value):
        if isinstance(value, rushlight.Tensor):
            return nn.Parameter(value.detach().clone(), requires_grad=value.requires_grad)
        if not isinstance(value, int | float):
            raise TypeError(
                f"run_folding(): a constant is {value!r}, neither a tensor nor a number; let "
                "skip_folding_node_fn of split_const_subgraphs() keep the call that gives it"
            )
        number = rushlight.tensor([float(value)], device=self.device_for_folded_attrs)
        return nn.Parameter(number, requires_grad=False)


def get_unique_attr_name_in_module(mod_traced: GraphModule, name: str) -> str:
    """A name after `name` that is an identifier and no attribute of the module yet.

    >>> import rushlight
    >>> from rushlight.fx.experimental.const_fold import get_unique_attr_name_in_module
    >>> get_unique_attr_name_in_module(rushlight.nn.Linear(1, 1), "weight")
    'weight_1'
    """
    name = re.sub(r"\W+", "_", name, flags=re.ASCII)
    name = f"_{name}" if name[:1].isdigit() else name
    while hasattr(mod_traced, name):
        base, _, number = name.rpartition("_")
        counted = "_" in name and number.isdecimal()
        name = f"{base}_{int(number) + 1}" if counted else f"{name}_1"
    return name


def split_const_subgraphs(
    module: nn.Module | GraphModule,
    skip_folding_node_fn: Callable[[Node], bool] | None = None,
    device_for_folded_attrs: str = "cpu",
) -> FoldedGraphModule:
    """A module that computes once what depends on parameters, buffers and numbers alone.

    Calls with side effects are run every time. Changes of parameters after the first call are not
    seen, and gradients stop at what was computed.

    Args:
        module: the module, which is traced unless it is a GraphModule.
        skip_folding_node_fn: a call for which it is true is run every time.
        device_for_folded_attrs: where numbers that were computed are put; they become tensors.

    >>> import rushlight
    >>> from rushlight.fx.experimental.const_fold import split_const_subgraphs
    >>> class Scaled(rushlight.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.scale = rushlight.nn.Parameter(rushlight.ones(2))
    ...     def forward(self, x):
    ...         return x * self.scale.exp()
    >>> folded = split_const_subgraphs(Scaled())
    >>> [node.name for node in folded.graph.nodes]
    ['x', '_fx_const_folded_attrs', 'mul', 'output']
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    constant = _constant_nodes(traced, skip_folding_node_fn)
    if all(node.op == "get_attr" for node in constant):
        return FoldedGraphModule(traced, traced.graph)
    split = split_module(traced, module, lambda node: int(node not in constant))
    for name in (_CONSTANT, _REST):
        part = getattr(split, name, None)
        for node in part.graph.find_nodes(op="call_module") if part is not None else ():
            setattr(split, node.target, getattr(part, node.target))
    calls = {node.target: node for node in split.graph.find_nodes(op="call_module")}
    constants = getattr(split, _CONSTANT).graph
    _read_attributes(constants, calls[_CONSTANT].args)
    name = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    several = isinstance(constants.output_node().args[0], tuple)
    setattr(split, name, nn.ParameterList() if several else nn.Parameter())
    _read_folded(split.graph, calls[_CONSTANT], name)
    if _REST in calls:
        _inline(split.graph, calls[_REST], getattr(split, _REST).graph)
    split.graph.eliminate_dead_code()
    return FoldedGraphModule(split, split.graph, constants, name, device_for_folded_attrs)


def _constant_nodes(traced, skip):
    """The attributes and the calls that depend on nothing else."""
    constant: set[Node] = set()
    for node in traced.graph.nodes:
        if node.op in ("placeholder", "output") or not constant.issuperset(node.all_input_nodes):
            continue
        if skip is not None and skip(node):
            continue
        if not node.is_impure() and not _calls_impure(traced, node):
            constant.add(node)
    return constant


def _calls_impure(module, node):
    """Whether a node calls a traced module in which a function does more than give its result."""
    if node.op != "call_module":
        return False
    called = module.get_submodule(node.target)
    return isinstance(called, GraphModule) and any(
        inner.op == "call_function" and inner.is_impure() or _calls_impure(called, inner)
        for inner in called.graph.nodes
    )


def _read_attributes(graph, given):
    """Replace the inputs of the constants' graph by the attributes that it is called with."""
    graph.owning_module = None  # which had its own attributes only
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    for node, attribute in zip(inputs, given, strict=True):
        with graph.inserting_before(node):
            new = graph.get_attr(attribute.target)
        new.meta = node.meta.copy()
        node.replace_all_uses_with(new)
        graph.erase_node(node)


def _read_folded(graph, call, name):
    """Replace the call of the constants' graph by the attribute that has its result."""
    with graph.inserting_before(call):
        new = graph.get_attr(name)
    new.meta = call.meta.copy()
    call.replace_all_uses_with(new)
    graph.erase_node(call)


def _inline(graph, call, inner):
    """Put the nodes of the graph of a called module where the call is."""
    inputs = [node for node in inner.nodes if node.op == "placeholder"]
    values = dict(zip(inputs, call.args, strict=True))
    with graph.inserting_before(call):
        for node in inner.nodes:
            if node.op not in ("placeholder", "output"):
                values[node] = graph.node_copy(node, values.__getitem__)
    result = map_arg(inner.output_node().args[0], values.__getitem__)
    if isinstance(result, tuple):
        for item in list(call.users):  # split_module takes the results of a part by getitem
            item.replace_all_uses_with(result[item.args[1]])
            graph.erase_node(item)
    else:
        call.replace_all_uses_with(result)
    graph.erase_node(call)


__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]

"""Changes of a traced model for inference."""

from __future__ import annotations

import copy
from collections.abc import Iterable

from rushlight import nn
from rushlight.fx._symbolic_trace import Tracer, symbolic_trace
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.nn.utils.fusion import fuse_conv_bn_eval

_PAIRS = (
    (nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d),
)  # fmt: skip


class UnionFind:
    """Sets of the numbers below `n` that are joined, each known by one of its members.

    >>> from rushlight.fx.experimental.optimization import UnionFind
    >>> sets = UnionFind(3)
    >>> for number in range(3):
    ...     sets.make_set(number)
    >>> sets.join(0, 2), sets.find(2), sets.find(1), sets.size[0]
    (0, 0, 1, 2)
    """

    def __init__(self, n: int):
        self.parent: list[int | None] = [None] * n
        self.size: list[int] = [0] * n

    def make_set(self, v: int) -> None:
        """Begin a set of one number."""
        self.parent[v], self.size[v] = v, 1

    def find(self, v: int) -> int:
        """The number that a set is known by; AssertionError for a number in no set."""
        path = []
        while (parent := self.parent[v]) != v:
            if parent is None:
                raise AssertionError(f"UnionFind.find(): {v} is in no set, call make_set({v})")
            path.append(v)
            v = parent
        for each in path:
            self.parent[each] = v
        return v

    def join(self, a: int, b: int) -> int:
        """Make one set of two; returns the number that it is known by, that of the larger set."""
        a, b = self.find(a), self.find(b)
        if a == b:
            return a
        if self.size[a] < self.size[b]:
            a, b = b, a
        self.parent[b] = a
        self.size[a] += self.size[b]
        return a


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


def extract_subgraph(
    orig_module: nn.Module, nodes: list[Node], inputs: list[Node], outputs: list[Node]
) -> GraphModule:
    """Some nodes of a graph as a module of their own, which takes the values of `inputs` and
    returns the tuple of those of `outputs`.

    >>> import rushlight
    >>> from rushlight.fx.experimental.optimization import extract_subgraph
    >>> module = rushlight.fx.symbolic_trace(lambda x: (x + 1).relu() * 2)
    >>> x, add, relu, mul, _ = module.graph.nodes
    >>> extract_subgraph(module, [relu, mul], [add], [mul])(rushlight.tensor([-1.0, 3.0]))
    (tensor([0., 6.]),)
    """
    graph, copies = Graph(), {}
    for node in inputs:
        copies[node] = graph.placeholder(node.name)
    for node in nodes:
        copies[node] = graph.node_copy(node, lambda each: copies[each])
    graph.output(tuple(copies[node] for node in outputs))
    graph.lint()
    return GraphModule(orig_module, graph)


def reset_modules(
    nodes: Iterable[Node], modules: dict[str, nn.Module], old_modules: dict[nn.Module, nn.Module]
) -> None:
    """Put the modules back that others replaced, by which `old_modules` has them.

    Args: `modules` has the modules by their names, with the root as ``""``.
    """
    for node in nodes:
        if node.op == "call_module" and modules[node.target] in old_modules:
            replace_node_module(node, modules, old_modules[modules[node.target]])


_PASSES = {"conv_bn_fuse": True, "remove_dropout": True, "mkldnn_layout_optimize": False}


def optimize_for_inference(
    model: nn.Module, pass_config: dict | None = None, tracer: type[Tracer] = Tracer
) -> nn.Module:
    """A traced model in eval mode, with batch normalisation fused into convolutions and without
    dropout.

    Args: `pass_config` turns passes off by name: ``conv_bn_fuse``, ``remove_dropout``. PyTorch's
    third, ``mkldnn_layout_optimize``, is off: kernels choose the layouts of weights themselves.
    `tracer` is the class that traces the model. Raises NotImplementedError for a configuration of
    layouts, RuntimeError for one that is no dict.

    >>> import rushlight
    >>> from rushlight.fx.experimental.optimization import optimize_for_inference
    >>> layers = rushlight.nn.Sequential(
    ...     rushlight.nn.Conv2d(1, 2, 3), rushlight.nn.BatchNorm2d(2), rushlight.nn.Dropout()
    ... )
    >>> [type(m).__name__ for m in optimize_for_inference(layers.eval()).children()]
    ['Conv2d']
    """
    passes = _PASSES | (pass_config or {})
    layouts = passes["mkldnn_layout_optimize"]
    if layouts is not False and not isinstance(layouts, dict):
        raise RuntimeError("mkldnn_layout_optimize config is not a dict")
    if layouts:
        raise _no_layouts("optimize_for_inference(): mkldnn_layout_optimize")
    if passes["conv_bn_fuse"]:
        model = fuse(model)
    if passes["remove_dropout"]:
        model = remove_dropout(model)
    model = copy.deepcopy(model)
    return GraphModule(model, tracer().trace(model))


def _no_layouts(name):
    return NotImplementedError(
        f"{name}: there is no MKL-DNN layout here, kernels choose the layouts of weights "
        "themselves; use rushlight.compile(model)"
    )


def modules_to_mkldnn(nodes: list[Node], modules: dict[str, nn.Module]) -> dict:
    """Refused with NotImplementedError: there is no MKL-DNN layout."""
    raise _no_layouts("modules_to_mkldnn()")


def use_mkl_length(graph) -> bool:
    """Refused with NotImplementedError: there is no MKL-DNN layout."""
    raise _no_layouts("use_mkl_length()")


def gen_mkl_autotuner(example_inputs: list, iters: int = 10, warmup: int = 1):
    """Refused with NotImplementedError: there is no MKL-DNN layout."""
    raise _no_layouts("gen_mkl_autotuner()")

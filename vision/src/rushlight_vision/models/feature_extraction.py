"""Results from the inside of a model, by the names of the nodes of its graph."""

from __future__ import annotations

import inspect
import math
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import rushlight_vision.ops
from rushlight import fx, nn

__all__ = ["create_feature_extractor", "get_graph_node_names"]

Names = list[str] | dict[str, str] | None


class LeafModuleAwareTracer(fx.Tracer):
    """A tracer for which modules of the classes `leaf_modules` are one node, too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.leaf_modules = tuple(kwargs.pop("leaf_modules", ()))
        super().__init__(*args, **kwargs)

    def is_leaf_module(self, m: nn.Module, module_qualname: str) -> bool:
        """Whether the call of a module is one node."""
        return isinstance(m, self.leaf_modules) or super().is_leaf_module(m, module_qualname)


class NodePathTracer(LeafModuleAwareTracer):
    """A tracer that names nodes by where they stand in the model: `node_to_qualname`.

    The node of a module has the module's path; that of another call the path of the module that
    makes it and the name of the function, such as ``layer1.0.add``. What would have the name of a
    node before it ends with ``_1``, ``_2`` and so on.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.current_module_qualname = ""
        self.node_to_qualname: dict[fx.Node, str] = {}
        self._times: dict[str, int] = {}

    def call_module(self, m: nn.Module, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What the call of a module gives, with its path known while it runs."""
        outer = self.current_module_qualname
        try:
            self.current_module_qualname = self.path_of_module(m)
            return super().call_module(m, forward, args, kwargs)
        finally:
            self.current_module_qualname = outer

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: Any,
        kwargs: Any,
        name: str | None = None,
        type_expr: Any = None,
        *_: Any,
    ) -> fx.Proxy:
        """The stand-in for the value of a new node, which is named."""
        proxy = super().create_proxy(kind, target, args, kwargs, name, type_expr, *_)
        path = self.current_module_qualname
        self.node_to_qualname[proxy.node] = self._get_node_qualname(path, proxy.node)
        return proxy

    def _get_node_qualname(self, module_qualname: str, node: fx.Node) -> str:
        name = module_qualname
        if node.op != "call_module":
            name = f"{name}.{node}" if name else str(node)
        name = re.sub(r"(?<=.)_[0-9]+$", "", name)
        times = self._times[name] = self._times.get(name, -1) + 1
        return f"{name}_{times}" if times else name


def _get_leaf_modules_for_ops() -> list[type]:
    """The classes of layers in `rushlight_vision.ops`."""
    members = vars(rushlight_vision.ops).values()
    return [each for each in members if inspect.isclass(each) and issubclass(each, nn.Module)]


def _set_default_tracer_kwargs(original_tr_kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments of a tracer, with the operators of this package as single nodes, too."""
    given = {} if original_tr_kwargs is None else original_tr_kwargs
    wrapped = (math, rushlight_vision.ops)
    leaves = _get_leaf_modules_for_ops()
    return {
        **given,
        "autowrap_modules": tuple({*given.get("autowrap_modules", ()), *wrapped}),
        "leaf_modules": list({*given.get("leaf_modules", ()), *leaves}),
    }


@contextmanager
def _mode_kept(model: nn.Module) -> Iterator[None]:
    training = {module: module.training for module in model.modules()}
    try:
        yield
    finally:
        for module, before in training.items():
            module.training = before


def _traced(
    model: nn.Module,
    training: bool,
    tracer_kwargs: dict[str, Any] | None,
    concrete_args: dict[str, Any] | None,
) -> tuple[NodePathTracer, fx.Graph]:
    """A tracer, and the graph that it made of a model in training or evaluation."""
    tracer = NodePathTracer(**_set_default_tracer_kwargs(tracer_kwargs))
    model.train(training)
    return tracer, tracer.trace(model, concrete_args=concrete_args)


def _names(tracer: NodePathTracer) -> list[str]:
    """The names of all nodes, in their order; the last one only hands the results out."""
    return [name for node, name in tracer.node_to_qualname.items() if node.op != "output"]


def _is_subseq(x: list[str], y: list[str]) -> bool:
    """Whether `y` has all of `x` in the same order."""
    rest = iter(y)
    return all(each in rest for each in x)


def _warn_graph_differences(train_tracer: NodePathTracer, eval_tracer: NodePathTracer) -> None:
    """Say so where the graphs of training and evaluation have different nodes."""
    train, evaluation = _names(train_tracer), _names(eval_tracer)
    if train == evaluation:
        return
    if _is_subseq(train, evaluation):
        how = "The nodes obtained by tracing the model in train mode are a subsequence of those "
        how += "obtained in eval mode. "
    elif _is_subseq(evaluation, train):
        how = "The nodes obtained by tracing the model in eval mode are a subsequence of those "
        how += "obtained in train mode. "
    else:
        how = "The nodes obtained by tracing the model in train mode are different to those "
        how += "obtained in eval mode. "
    warnings.warn(
        f"NOTE: {how}When choosing nodes for feature extraction, you may need to specify output "
        "nodes for train and eval mode separately.",
        stacklevel=3,
    )


def get_graph_node_names(
    model: nn.Module,
    tracer_kwargs: dict[str, Any] | None = None,
    suppress_diff_warning: bool = False,
    concrete_args: dict[str, Any] | None = None,
) -> tuple[list[str], list[str]]:
    """The names of the nodes of a model's graph, in training and in evaluation.

    Parameters
    ----------
    model : Module
    tracer_kwargs : dict or None
        For the tracer, such as ``leaf_modules``: classes whose modules are one node.
    suppress_diff_warning : bool, default False
        Whether to keep silent where the two graphs differ.
    concrete_args : dict or None
        Arguments of `model` that are fixed while it is traced.

    Example
    -------
    >>> from rushlight_vision.models import resnet18
    >>> train, evaluation = get_graph_node_names(resnet18())
    >>> train[:5], train[-3:]
    (['x', 'conv1', 'bn1', 'relu', 'maxpool'], ['avgpool', 'flatten', 'fc'])
    """
    with _mode_kept(model):
        train, _ = _traced(model, True, tracer_kwargs, concrete_args)
        evaluation, _ = _traced(model, False, tracer_kwargs, concrete_args)
    if not suppress_diff_warning:
        _warn_graph_differences(train, evaluation)
    return _names(train), _names(evaluation)


class DualGraphModule(fx.GraphModule):
    """A module with one graph for training and one for evaluation."""

    def __init__(
        self,
        root: nn.Module,
        train_graph: fx.Graph,
        eval_graph: fx.Graph,
        class_name: str = "GraphModule",
    ) -> None:
        super().__init__(root, _united(root, train_graph, eval_graph), class_name)
        self.train_graph = train_graph
        self.eval_graph = eval_graph
        self.training = root.training
        self.graph = train_graph if self.training else eval_graph

    def train(self, mode: bool = True) -> DualGraphModule:
        """Take the graph of training, or of evaluation."""
        if mode != self.training:
            self.graph = self.train_graph if mode else self.eval_graph
        return super().train(mode)


def _united(root: nn.Module, *graphs: fx.Graph) -> fx.Graph:
    """A graph with the attributes and modules of all `graphs`, so that the module gets them."""
    united = fx.Graph()
    for target in dict.fromkeys(
        (node.op, node.target)
        for graph in graphs
        for node in graph.nodes
        if node.op in ("get_attr", "call_module")
    ):
        getattr(united, target[0])(target[1])
    united.output(None)
    return united


def _as_mapping(names: Names) -> dict[str, str]:
    """The nodes that are asked for, and the names of their results."""
    given = names if isinstance(names, dict) else {name: name for name in names or ()}
    return {str(name): str(new) for name, new in given.items()}


def _check_names(both: Names, train: Names, evaluation: Names) -> tuple[Any, Any]:
    if both is None and train is None and evaluation is None:
        raise ValueError(
            "Either `return_nodes` or `train_return_nodes` and `eval_return_nodes` together, "
            "should be specified"
        )
    if (train is None) != (evaluation is None):
        raise ValueError(
            "If any of `train_return_nodes` and `eval_return_nodes` are specified, then both "
            "should be specified"
        )
    if both is not None and train is not None:
        raise ValueError(
            "If `train_return_nodes` and `eval_return_nodes` are specified, then both should be "
            "specified"
        )
    wanted = (train, evaluation) if both is None else (both, both)
    return _as_mapping(wanted[0]), _as_mapping(wanted[1])


def _found(tracer: NodePathTracer, query: str) -> fx.Node:
    """The last node whose name is `query`, or begins with it."""
    path = query.split(".")
    for node, name in reversed(tracer.node_to_qualname.items()):
        if node.op != "output" and name.split(".")[: len(path)] == path:
            return node
    raise ValueError(
        f"node: '{query}' is not present in model. Hint: use `get_graph_node_names` to make sure "
        "the `return_nodes` you specified are present. It may even be that you need to specify "
        "`train_return_nodes` and `eval_return_nodes` separately."
    )


def _cut(tracer: NodePathTracer, graph: fx.Graph, wanted: dict[str, str]) -> fx.Graph:
    """The graph with the nodes that are wanted as its results, and what they need."""
    outputs = {new: _found(tracer, query) for query, new in wanted.items()}
    last = next(node for node in reversed(graph.nodes) if node.op == "output")
    graph.erase_node(last)
    graph.output(outputs)
    graph.eliminate_dead_code(lambda node: node.op in ("placeholder", "output"))
    return graph


def create_feature_extractor(
    model: nn.Module,
    return_nodes: Names = None,
    train_return_nodes: Names = None,
    eval_return_nodes: Names = None,
    tracer_kwargs: dict[str, Any] | None = None,
    suppress_diff_warning: bool = False,
    concrete_args: dict[str, Any] | None = None,
) -> fx.GraphModule:
    """A module that gives results from the inside of `model`, with its weights.

    Parameters
    ----------
    model : Module
    return_nodes : list of str, dict of str to str, or None
        Names of nodes, or beginnings of names, which stand for the last node that begins so; a dict
        gives the results new names. What comes after them is left out.
    train_return_nodes, eval_return_nodes : the same
        For training and evaluation, where the graphs differ; both or none.
    tracer_kwargs, suppress_diff_warning, concrete_args
        As of :func:`get_graph_node_names`.

    Returns
    -------
    GraphModule
        Its result is a dict of the results by name.

    Raises
    ------
    ValueError
        For a node that is not there.

    Example
    -------
    >>> import rushlight as rl
    >>> from rushlight_vision.models import resnet18
    >>> extractor = create_feature_extractor(resnet18(), {"layer1": "low", "layer4": "high"})
    >>> {name: tuple(x.shape) for name, x in extractor(rl.zeros(2, 3, 64, 64)).items()}
    {'low': (2, 64, 16, 16), 'high': (2, 512, 2, 2)}
    """
    names = _check_names(return_nodes, train_return_nodes, eval_return_nodes)
    training = model.training
    graphs, tracers = [], []
    with _mode_kept(model):
        for mode, wanted in zip((True, False), names, strict=True):
            tracer, graph = _traced(model, mode, tracer_kwargs, concrete_args)
            graphs.append(_cut(tracer, graph, wanted))
            tracers.append(tracer)
        if not suppress_diff_warning and names[0] == names[1]:
            _warn_graph_differences(*tracers)
        train, evaluation = graphs
        extractor = DualGraphModule(model, train, evaluation, type(model).__name__)
    return extractor.train(training)

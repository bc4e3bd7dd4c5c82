"""The calls of a traced function as a list of nodes, as `torch.jit._get_trace_graph` gives them.

Programs that count operations (fvcore among them) read this list: the kind of each node, the shapes
of its values, and by ``scopeName`` the module that made the call. What is recorded is
:func:`rushlight.fx.experimental.proxy_tensor.make_fx`'s graph before dispatch; here it takes the
form of TorchScript's graphs, with a node for each constant and each list.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from rushlight import dtypes
from rushlight._C import script_types as types
from rushlight.fx.experimental.proxy_tensor import Trace
from rushlight.fx.node import Node as FxNode
from rushlight.jit.graphs.parts import CONSTANT, Graph, Node, Value
from rushlight.jit.tracer.trace_state import ACTIVE, Scopes
from rushlight.library.aten_schemas import schemas_of
from rushlight.library.schema import REQUIRED, Argument
from rushlight.nn.module import Module
from rushlight.ops.creation.tensors import scalar_tensor
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree

_KINDS = {
    bool: types.BoolType, int: types.IntType, float: types.FloatType, str: types.StringType,
    complex: types.ComplexType, type(None): types.NoneType,
}  # fmt: skip
_NUMBERS = {bool: dtypes.bool_, int: dtypes.int64, float: dtypes.float64}
# What PyTorch's convolutions have behind `groups`: benchmark, deterministic, cuDNN, TF32.
_OF_CUDNN = (False, False, True, True)


class CompleteTensorType:
    """The type of a tensor whose shape, dtype and device are known."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def kind(self) -> str:
        """``"TensorType"``."""
        return "TensorType"

    def sizes(self) -> list[int]:
        """Its shape."""
        return list(self._tensor.shape)

    def dim(self) -> int:
        """Its number of dimensions."""
        return self._tensor.dim()

    def dtype(self) -> Any:
        """Its dtype."""
        return self._tensor.dtype

    def scalarType(self) -> str:  # noqa: N802 - PyTorch's name
        """The name of its storage: ``"Float"``, ``"Long"``, ..."""
        return self._tensor.type().rpartition(".")[2].removesuffix("Tensor")

    def __deepcopy__(self, memo: dict[int, Any]) -> CompleteTensorType:
        return self

    def __repr__(self) -> str:
        return f"{self.scalarType()}({', '.join(map(str, self.sizes()))})"


class TracedValue(Value):
    """A value of a trace, of which everything is known."""

    def isCompleteTensor(self) -> bool:  # noqa: N802 - PyTorch's name
        """Whether it is a tensor of known shape."""
        return isinstance(self._type, CompleteTensorType)


def _type_of(held: Any) -> Any:
    if isinstance(held, Tensor):
        return CompleteTensorType(held)
    if isinstance(held, list):
        inner = _type_of(held[0]) if held else types.TensorType.get()
        inner = types.TensorType.get() if isinstance(inner, CompleteTensorType) else inner
        return types.ListType(inner)
    if isinstance(held, tuple):
        return types.TupleType([_type_of(each) for each in held])
    kind = _KINDS.get(type(held))
    return types.AnyType.get() if kind is None else kind.get()


class TracedNode(Node):
    """A call, a constant or a list, with the module that made it."""

    def __init__(self, kind: str, inputs: list[Value], scope: str) -> None:
        super().__init__(kind, inputs)
        self._scope = scope

    def scopeName(self) -> str:  # noqa: N802 - PyTorch's name
        """What hooks pushed by ``torch._C._get_tracing_state().push_scope``, joined by ``/``."""
        return self._scope


class TraceGraph(Graph):
    """The nodes of a trace; parameters of modules are inputs behind those that were given."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 0

    def value(self, node: Node, kind: Any) -> TracedValue:
        """A new value of a node, and its type."""
        made = TracedValue(node, str(self._count), kind)
        self._count += 1
        node._outputs.append(made)
        return made

    def add(self, kind: str, inputs: list[Value], scope: str) -> Node:
        """A new node."""
        self._nodes.append(TracedNode(kind, inputs, scope))
        return self._nodes[-1]


class _Builder:
    """Makes a TraceGraph of make_fx's."""

    def __init__(self, constants: dict[str, Tensor]) -> None:
        self.graph, self.constants = TraceGraph(), constants
        self.values: dict[FxNode, Any] = {}  # node -> its value, or those of a call with several
        self.attributes: dict[str, TracedValue] = {}
        self.held: dict[Value, Any] = {}
        self.scope = ""

    def build(self, nodes: list[FxNode]) -> TraceGraph:
        """The graph of all nodes."""
        for node in nodes:
            self.scope = "/".join((node.meta.get("nn_module_stack") or {}).values())
            getattr(self, "on_" + node.op)(node)
        return self.graph

    def on_placeholder(self, node: FxNode) -> None:
        """An input."""
        self.values[node] = self.value(self.graph.paramNode(), node.meta["val"])

    def on_get_attr(self, node: FxNode) -> None:
        """A parameter or buffer of the module, an input; or another tensor, a constant: one for
        all that read it."""
        name = str(node.target)
        if name not in self.attributes:
            constant = self.constants.get(name)
            if constant is None:
                self.attributes[name] = self.value(self.graph.paramNode(), node.meta["val"])
            else:
                self.attributes[name] = self.constant(constant)
        self.values[node] = self.attributes[name]

    def on_output(self, node: FxNode) -> None:
        """The results."""
        for each in pytree.tree_leaves(node.args[0]):
            self.graph.returnNode().addInput(self.one(each))

    def on_call_function(self, node: FxNode) -> None:
        """A call of ATen's, or the choice of one of several results."""
        if node.target is operator.getitem:
            owner, position = node.args
            self.values[node] = self.values[owner][position]
            return
        name, given = _arguments(node)
        inputs = [self.one(each) for each in given]
        made = self.graph.add(name, inputs, self.scope)
        found = node.meta.get("val")
        several = isinstance(found, tuple | list)
        values = [self.value(made, each) for each in (found if several else (found,))]
        self.values[node] = values if several else values[0]

    def one(self, given: Any) -> Value:
        """A value of an argument: what a node made, a list, or a constant."""
        if isinstance(given, FxNode):
            found = self.values[given]
            return self.of_list(found) if isinstance(found, list) else found
        if isinstance(given, list | tuple):
            return self.of_list([self.one(each) for each in given])
        return self.constant(given)

    def value(self, node: Node, held: Any) -> TracedValue:
        """A new value of a node."""
        made = self.graph.value(node, _type_of(held))
        self.held[made] = held
        return made

    def constant(self, held: Any) -> TracedValue:
        """A node of a constant, its value."""
        node = self.graph.add(CONSTANT, [], self.scope)
        node._attributes["value"] = held
        return self.value(node, held)

    def of_list(self, values: list[Value]) -> Value:
        """A list of values."""
        node = self.graph.add("prim::ListConstruct", values, self.scope)
        return self.value(node, [self.held[each] for each in values])


def _arguments(node: FxNode) -> tuple[str, list[Any]]:
    """The kind of a call and all arguments that ATen's schema has, in its order."""
    target: Any = node.target
    parts = str(target).split(".")
    if parts[0] != "aten":
        return f"prim::PythonOp({getattr(target, '__name__', target)})", list(node.args)
    name, overload = parts[1], parts[2]
    schema = schemas_of(name).get(overload)
    given = list(node.args)
    if schema is not None:
        for argument in schema.arguments[len(given) :]:
            given.append(node.kwargs.get(argument.name, _default(argument)))
        pairs = zip(schema.arguments, given, strict=True)
        given = [_as_tensor(each) if a.type == "Tensor" else each for a, each in pairs]
    if re.fullmatch(r"conv_transpose[123]d", name):
        return _transposed(name, given)
    if re.fullmatch(r"conv[123]d", name):
        return _convolution(name, given) if overload == "default" else _by_mode(name, given)
    return f"aten::{name}", given


def _default(argument: Argument) -> Any:
    """The value of an argument that a call leaves out; a number stands for a row of it."""
    if argument.default is REQUIRED:
        return None
    count = argument.shape.strip("[]?")
    row = count.isdigit() and isinstance(argument.default, int)
    return [argument.default] * int(count) if row else argument.default


def _as_tensor(value: Any) -> Any:
    """A number that stands for a tensor, as traces hold it."""
    dtype = _NUMBERS.get(type(value))
    return value if dtype is None else scalar_tensor(value, dtype=dtype)


def _convolution(name: str, given: list[Any]) -> tuple[str, list[Any]]:
    """``conv2d`` and its like, as PyTorch records them."""
    rank = int(name[4])
    *tensors, stride, padding, dilation, groups = given
    rows = [_repeated(each, rank) for each in (stride, padding, dilation)]
    return "aten::_convolution", [*tensors, *rows, False, [0] * rank, groups, *_OF_CUDNN]


def _transposed(name: str, given: list[Any]) -> tuple[str, list[Any]]:
    """``conv_transpose2d`` and its like."""
    rank = int(name[-2])
    *tensors, stride, padding, output_padding, groups, dilation = given
    rows = [_repeated(each, rank) for each in (stride, padding, dilation)]
    more = _repeated(output_padding, rank)
    return "aten::_convolution", [*tensors, *rows, True, more, groups, *_OF_CUDNN]


def _by_mode(name: str, given: list[Any]) -> tuple[str, list[Any]]:
    """A convolution whose padding is ``"same"`` or ``"valid"``."""
    return "aten::_convolution_mode", given


def _repeated(value: Any, count: int) -> list[Any]:
    items = list(value) if isinstance(value, list | tuple) else [value]
    return items * count if len(items) == 1 else items


class _Traced(Scopes):
    """The state of such a trace."""

    def compiled(self, function: Any, owner: Any, values: Any) -> Any:
        """A scripted part, whose calls are not seen."""
        name = getattr(function, "name", function)
        raise NotImplementedError(
            f"_get_trace_graph: {name} is scripted; give the function or module that it was made of"
        )


def _get_trace_graph(
    f: Callable[..., Any],
    args: Any = (),
    kwargs: dict[str, Any] | None = None,
    strict: bool = True,
    _force_outplace: bool = False,
    return_inputs: bool = False,
    _return_inputs_states: bool = False,
) -> tuple[Any, ...]:
    """The calls that a function or module makes of some arguments, and what it gives.

    Args:
        f: the function or module; its parameters become inputs of the graph.
        args: a tensor, or a tuple of arguments.
        kwargs: arguments by name.
        strict, _force_outplace: of no effect; for PyTorch's signature.
        return_inputs: give the tensors among the arguments as well.
        _return_inputs_states: give a pair of them and the result as well.

    Returns:
        ``(graph, result)``, whose graph has ``nodes()``, ``inputs()`` and ``outputs()``.

    >>> from rushlight.jit.trace_graph import _get_trace_graph
    >>> graph, _ = _get_trace_graph(rushlight.nn.Linear(3, 2), rushlight.ones(4, 3))
    >>> [(node.kind(), node.output().type().sizes()) for node in graph.nodes()]
    [('aten::linear', [4, 2])]
    """
    args = args if isinstance(args, tuple) else (args,)
    kwargs = kwargs or {}
    found: list[Any] = []

    def called(*given: Any) -> Any:
        found.append(f(*given[: len(args)], **dict(zip(kwargs, given[len(args) :], strict=True))))
        return found[0]

    trace, state = Trace(called, {}, False), _Traced()
    trace.recorder.stacks, trace.recorder.scope = False, state.scopes
    ACTIVE.append(state)
    try:
        module = trace.trace((*args, *kwargs.values()))
    finally:
        ACTIVE.pop()
    owned = {id(each) for each in _own_tensors(f)}
    others = {name: each for name, each in trace.constants.values() if id(each) not in owned}
    graph = _Builder(others).build(list(module.graph.nodes))
    result = pytree.tree_map(_plain, found[0])
    inputs = tuple(v for v in pytree.tree_leaves((args, kwargs)) if isinstance(v, Tensor))
    if return_inputs:
        return graph, result, inputs
    return (graph, result, (inputs, result)) if _return_inputs_states else (graph, result)


def _own_tensors(f: Any) -> list[Tensor]:
    """Parameters and buffers of a module."""
    return [*f.parameters(), *f.buffers()] if isinstance(f, Module) else []


def _plain(value: Any) -> Any:
    """A tensor without the trace."""
    return getattr(value, "_inner", value) if isinstance(value, Tensor) else value

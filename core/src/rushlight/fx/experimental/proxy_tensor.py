"""`make_fx`: run a function on tensors and write down the ATen ops that it runs.

Where :func:`rushlight.fx.symbolic_trace` writes down what a program *calls*, this writes down what
runs: gradients (``func.grad``, ``autograd.grad``) and ``vmap`` inside the function appear as the
ops they come to.
"""

from __future__ import annotations

import contextlib
import functools
import inspect

from rushlight import nn
from rushlight.amp.mode import is_autocast_cache_enabled, set_autocast_cache_enabled
from rushlight.export.dynamic.symbolic_tracing import traced
from rushlight.fx.codegen import _PyTreeCodeGen, _PyTreeInfo
from rushlight.fx.experimental.core_parts import products
from rushlight.fx.experimental.decompositions import implicit
from rushlight.fx.experimental.inner_graphs import holding
from rushlight.fx.experimental.program_gradients import Gradients
from rushlight.fx.experimental.recorder import Recorder
from rushlight.fx.experimental.size_questions import is_symbolic, py_sym_types
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import map_aggregate
from rushlight.ops._transforms.capturing import CaptureLevel
from rushlight.refusals import rest_of
from rushlight.tensor.dispatch import stack
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree

_MODES = ("real", "fake", "symbolic")


def make_fx(
    f,
    decomposition_table=None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
):
    """A function that runs `f` on its arguments, tensors or structures of them, and returns a
    :class:`~rushlight.fx.GraphModule` of the ATen ops that ran.

    Nodes call overloads such as ``rushlight.ops.aten.add.Tensor`` with ATen's arguments; their
    ``meta["val"]`` is a tensor without values (device meta), ``meta["tensor_meta"]`` its shape,
    dtype and strides, and ``stack_trace`` the lines that led there. Ops that write stay. An
    op that ATen lacks is a call of the public function.

    Args:
        f: a function of tensors, numbers and structures of them.
        decomposition_table: overload -> function that is called instead.
        tracing_mode: ``"real"`` runs on the values, ``"fake"`` on shapes alone, ``"symbolic"`` on
            shapes whose sizes above 1, and numbers, may differ from call to call: the graph
            computes with them. What it takes for granted of them is in ``shape_env.guards`` of the
            module.
        pre_dispatch: keep ops that are made of others (``linear``, ``matmul``, ``conv2d``) whole.

    Raises:
        GuardOnDataDependentSymNode: `f` asks for the value of a tensor (``if x.sum() > 0``).

    Example:
        >>> import rushlight
        >>> from rushlight.fx.experimental.proxy_tensor import make_fx
        >>> module = make_fx(lambda x: rushlight.relu(x) + 1)(rushlight.ones(2))
        >>> [str(node.target) for node in module.graph.nodes if node.op == "call_function"]
        ['aten.relu.default', 'aten.add.Tensor']
    """
    if tracing_mode not in _MODES:
        raise ValueError(f"make_fx(): tracing_mode must be one of {_MODES}, not {tracing_mode!r}")
    table = {} if pre_dispatch else implicit() | products.traced()
    table |= decomposition_table or {}

    @functools.wraps(f)
    def wrapped(*args):
        if tracing_mode == "symbolic":
            return traced(lambda *given: Trace(f, table, True, given[2]).trace(*given[:2]), args)
        return Trace(f, table, tracing_mode == "fake").trace(args)

    return wrapped


class Trace:
    """One run of a function; `constants` are the tensors of its own, by identity, each with the
    name that the module has for it."""

    def __init__(self, function, table, fake, draws=None):
        self.function, self.root = function, nn.Module()
        self.recorder = Recorder(fake, table, self._constant, draws=draws)
        self.constants: dict = {}
        self.generators: dict = {}
        self.recorder.generator = self._generator

    def _constant(self, tensor):
        """The node that reads a tensor of the function's own."""
        found = self.constants.get(id(tensor))
        if found is None:
            name = f"_tensor_constant{len(self.constants)}"
            self.root.register_buffer(name, tensor.detach(), persistent=True)
            found = self.constants[id(tensor)] = name, tensor
        node = self.recorder.graph.get_attr(found[0])
        self.recorder.entering(node, tensor)
        return node

    def _generator(self, generator):
        """A node that reads a generator of the function's own."""
        names = {id(held): name for name, held in self.generators.items()}
        name = names.get(id(generator), f"_opaque_obj{len(names)}")
        self.generators[name] = generator
        setattr(self.root, name, generator)
        return self.recorder.graph.get_attr(name)

    def trace(self, args, devices=None):
        """The module of the function's graph for these arguments."""
        recorder = self.recorder
        leaves, spec = pytree.tree_flatten(args)
        devices = devices or [None] * len(leaves)
        names = _names(self.function, args)
        with recorder.level as level:
            given = [self._input(*each) for each in zip(names, leaves, devices, strict=True)]
            result = self._run(pytree.tree_unflatten(given, spec))
            result = map_aggregate(_plain(result), lambda v: _bare(v, level))
            recorder.node("output", "output", (result,), {})
        graph = recorder.graph
        holding(recorder.modules, self.root)
        if any(not pytree_is_flat(arg) for arg in args):
            names = [n for n in _parameters(self.function, len(args))]
            graph._codegen = _PyTreeCodeGen(_PyTreeInfo(names, spec, None))
        return GraphModule(self.root, graph, getattr(self.function, "__name__", "GraphModule"))

    def _input(self, name, leaf, device):
        if isinstance(leaf, Tensor):
            return self.recorder.placeholder(name, leaf, device)[1]
        node = self.recorder.node("placeholder", name, (), {}, name)
        node.meta["val"] = leaf
        return leaf

    def _run(self, args):
        """The function's result; what asks for gradients is recorded."""
        gradients = self.recorder.gradients = Gradients()
        return gradients.run(self.function, args)


def pytree_is_flat(value):
    """Whether a structure is a single value."""
    return pytree.tree_structure(value).is_leaf()


def _plain(value):
    """A result with named tuples of functions (``max(dim)``) as tuples."""
    if type(value) is dict:
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        items = [_plain(item) for item in value]
        ours = type(value).__module__.startswith("rushlight.")
        if hasattr(value, "_fields") and not ours:
            return type(value)(*items)
        return items if isinstance(value, list) else tuple(items)
    return value


def _bare(value, level):
    """A result as the capture's own tensor."""
    while isinstance(value, Tensor) and getattr(value, "_level", level) is not level:
        value = value._inner
    return value


def _parameters(function, count):
    """The names of the first parameters of a function; ``arg0``, ... where it has none."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [names[i] if i < len(names) else f"arg{i}" for i in range(count)]


def _names(function, args):
    """A name for each leaf of the arguments: its parameter's, numbered."""
    found = []
    for name, arg in zip(_parameters(function, len(args)), args, strict=True):
        count = pytree.tree_structure(arg).num_leaves
        found += [f"{name}_{i + 1}" for i in range(count)]
    return found


def get_proxy_mode() -> Recorder | None:
    """What writes down the ops that run, whose `graph` is the one being made; None outside of
    captures.

    >>> from rushlight.fx.experimental.proxy_tensor import get_proxy_mode
    >>> get_proxy_mode() is None
    True
    """
    levels = [level for level in stack.levels if isinstance(level, CaptureLevel)]
    return levels[-1].recorder if levels else None


get_innermost_proxy_mode = get_proxy_mode


@contextlib.contextmanager
def disable_proxy_modes_tracing():
    """Inside, no op is written down: a tensor that is made there is a constant of the graph."""
    kept = stack.levels
    stack.levels = [level for level in kept if not isinstance(level, CaptureLevel)]
    try:
        yield
    finally:
        stack.levels = kept


def get_isolated_graphmodule(
    func, args: tuple, kwargs: dict, tracing_mode: str = "real", decomposition_table=None
) -> GraphModule:
    """:func:`make_fx` of a call inside of another capture, which does not see it. The module takes
    the list of the leaves of the arguments.

    Args:
        func: a function of tensors, numbers and structures of them.
        args, kwargs: its arguments.
        tracing_mode, decomposition_table: as for :func:`make_fx`.

    >>> import rushlight
    >>> from rushlight.fx.experimental.proxy_tensor import get_isolated_graphmodule
    >>> x = rushlight.ones(2)
    >>> get_isolated_graphmodule(lambda x: x * 3, (x,), {})([x])
    tensor([3., 3.])
    """
    leaves, spec = pytree.tree_flatten((args, kwargs))

    def flat(flat_args):
        args, kwargs = pytree.tree_unflatten(flat_args, spec)
        return func(*args, **kwargs)

    with disable_proxy_modes_tracing():
        return make_fx(flat, decomposition_table, tracing_mode)(leaves)


def is_sym_node(node) -> bool:
    """Whether a node computes a number, such as a size; AssertionError without `meta`."""
    if not hasattr(node, "meta"):
        raise AssertionError("is_sym_node(): nodes of a capture have `meta`")
    value = node.meta.get("val")
    return isinstance(value, py_sym_types) or is_symbolic(value)


@contextlib.contextmanager
def maybe_disable_thunkify():
    """Nothing differs inside: a size becomes a node as soon as a program computes with it."""
    yield


maybe_enable_thunkify = maybe_disable_thunkify


@contextlib.contextmanager
def disable_autocast_cache():
    """Inside, autocast keeps no weights that it has cast: each cast becomes a node."""
    before = is_autocast_cache_enabled()
    set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        set_autocast_cache_enabled(before)


__getattr__ = rest_of(__name__)
__all__ = [
    "disable_autocast_cache",
    "disable_proxy_modes_tracing",
    "get_innermost_proxy_mode",
    "get_isolated_graphmodule",
    "get_proxy_mode",
    "is_sym_node",
    "make_fx",
    "maybe_disable_thunkify",
    "maybe_enable_thunkify",
    "py_sym_types",
]

"""Tracing: a program is run on proxies, and what it does becomes a graph."""

from __future__ import annotations

import collections
import contextlib
import inspect
import math

import rushlight
from rushlight import nn
from rushlight.compiler.eager import is_compiling
from rushlight.fx.entry import PH, PHBase, PHWithMeta, _assert_is_none, entry_of
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Argument
from rushlight.fx.patching import Patcher, find_proxy, wrap, wrapped, wrapped_names
from rushlight.fx.proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase
from rushlight.fx.sequences import SequencesOfProxies
from rushlight.nn import transformer
from rushlight.tensor.homes import home_of

_depth = 0  # of tracers that are running

# Functions that read numbers and sizes as they are: with a proxy they become one call, too.
_OF_NUMBERS = tuple(
    getattr(rushlight, name)
    for name in (
        "arange as_tensor asarray empty empty_like eye full full_like is_complex is_floating_point "
        "is_nonzero is_signed linspace logspace numel ones ones_like rand rand_like randint "
        "randint_like randn randn_like randperm scalar_tensor tensor "
        "zeros zeros_like"
    ).split()
)


def is_fx_tracing() -> bool:
    """Whether a program is being traced."""
    return _depth > 0


def is_fx_symbolic_tracing() -> bool:
    """Whether a program is being traced, and not captured for :func:`rushlight.compile`."""
    return is_fx_tracing() and not is_compiling()


class ProxyableClassMeta(type):
    """A metaclass: objects of its classes are made of proxies while a program is traced, and their
    construction becomes a node when one of them is an argument."""

    def __call__(cls, *args, **kwargs):
        found = find_proxy((args, kwargs))
        if found is None:
            return super().__call__(*args, **kwargs)
        instance = cls.__new__(cls)
        cls.__init__(instance, *args, **kwargs)
        instance.__fx_create_arg__ = lambda tracer: tracer.create_node(
            "call_function", cls, tracer.create_arg(args), tracer.create_arg(kwargs)
        )
        return instance


class Tracer(TracerBase):
    """Makes a graph of a module or function. Subclasses decide which modules are one call
    (`is_leaf_module`) and may see every module (`call_module`), value (`create_arg`) and node
    (`create_node`).

    Args: functions of the modules `autowrap_modules` and the functions `autowrap_functions` become
    one call if they get proxies; with `param_shapes_constant` shapes of parameters are values.
    """

    def __init__(
        self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant: bool = False
    ):
        super().__init__()
        self._autowrap_search = [*autowrap_modules, rushlight]
        self._autowrap_ids = {id(f) for f in (*autowrap_functions, *_OF_NUMBERS)} | {
            id(value)
            for module in autowrap_modules
            for name, value in module.__dict__.items()
            if not name.startswith("_") and callable(value)
        }
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict | None = None
        self.root_module_name = ""
        self._qualname_counter: dict[str, int] = collections.defaultdict(int)
        self.num_calls: dict[str, int] = {}

    # -------------------------------------------------------------------------------- decisions
    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Whether the call of a module is one node: by default those of `nn`, save Sequential."""
        return home_of(type(m)).startswith("rushlight.nn") and not isinstance(m, nn.Sequential)

    def call_module(self, m: nn.Module, forward, args, kwargs):
        """What the call of a module gives: a node, or what ``forward(*args, **kwargs)`` traces."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            calls = self.num_calls.get(path, 0)
            self.num_calls[path] = calls + 1
            key = f"{path}@{calls}" if calls else path
            self.module_stack[key] = (path, type(m))
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.pop(key)

    def path_of_module(self, mod: nn.Module) -> str:
        """The dotted name of a submodule of the traced module; NameError if it is none."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
        else:
            path = next((n for n, p in self.root.named_modules() if p is mod), None)
        if path is None:
            raise NameError("module is not installed as a submodule")
        return path

    def getattr(self, attr: str, attr_val, parameter_proxy_cache: dict):
        """What a read of an attribute of a module gives: a proxy for a parameter."""
        if isinstance(attr_val, nn.Parameter):
            found = self._attribute_proxy(
                attr_val, self.root.named_parameters(), parameter_proxy_cache
            )
        elif self.proxy_buffer_attributes and isinstance(attr_val, rushlight.Tensor):
            found = self._attribute_proxy(
                attr_val, self.root.named_buffers(), parameter_proxy_cache
            )
        else:
            found = None
        return attr_val if found is None else found

    def _attribute_proxy(self, value, collection, cache):
        name = next((name for name, each in collection if each is value), None)
        if name is None:
            return None
        if name not in cache:
            options = {}  # none for subclasses whose create_proxy does not know it
            if self.param_shapes_constant:
                options["proxy_factory_fn"] = lambda node: ParameterProxy(self, node, name, value)
            cache[name] = self.create_proxy("get_attr", name, (), {}, **options)
        return cache[name]

    # -------------------------------------------------------------------------------- arguments
    def create_arg(self, a) -> Argument:
        """A value as an argument of a node; tensors and modules become reads of attributes."""
        if isinstance(a, nn.Parameter):
            for name, parameter in self.root.named_parameters():
                if a is parameter:
                    return self.create_node("get_attr", name, (), {})
        elif isinstance(a, nn.Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        elif isinstance(a, tuple) and hasattr(a, "_fields"):
            args = tuple(self.create_arg(item) for item in a)
            return self.create_node("call_function", type(a), args, {})
        if isinstance(a, rushlight.Tensor):
            return self.create_node("get_attr", self._tensor_name(a), (), {})
        return super().create_arg(a)

    def _tensor_name(self, tensor):
        """The attribute that holds a tensor; one is added for a constant of the program."""
        for name, buffer in self.root.named_buffers():
            if buffer is tensor:
                return name
        name = self.tensor_attrs.get(id(tensor), (None,))[0]
        if name is None:
            name = self.get_fresh_qualname("_tensor_constant")
            self.tensor_attrs[id(tensor)] = name, tensor
            setattr(self.root, name, tensor)
        return name

    def get_fresh_qualname(self, prefix: str) -> str:
        """An attribute name that the traced module does not have: `prefix` and a number."""
        while True:
            name = f"{prefix}{self._qualname_counter[prefix]}"
            self._qualname_counter[prefix] += 1
            if not hasattr(self.root, name):
                return name

    # ---------------------------------------------------------------------------------- tracing
    def create_args_for_root(self, root_fn, is_module: bool, concrete_args=None):
        """Placeholders for the parameters of `root_fn`: the function to call and its arguments,
        the module first if `is_module`."""
        return entry_of(self, root_fn, is_module, concrete_args)

    def trace(self, root, concrete_args: dict | None = None) -> Graph:
        """The graph of a module's ``forward`` or of a function. `concrete_args` names arguments
        that have these values in it; in structures, :data:`PH` marks what remains an input."""
        fn = self._begin(root)
        global _depth
        _depth += 1
        try:
            fn, args = self.create_args_for_root(fn, isinstance(root, nn.Module), concrete_args)
            with self._patched(fn), SequencesOfProxies():
                result = self.create_arg(fn(*args))
            kind = getattr(self._root_function, "__annotations__", {}).get("return")
            self.create_node("output", "output", (result,), {}, type_expr=kind)
        finally:
            _depth -= 1
            self.submodule_paths = None
        return self.graph

    def _begin(self, root):
        if isinstance(root, nn.Module):
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(
                    f"traced_func_name={self.traced_func_name} doesn't exist in "
                    f"{type(root).__name__}"
                )
            fn = getattr(type(root), self.traced_func_name)
            self.root_module_name = type(root).__name__
            self.submodule_paths = {mod: name for name, mod in root.named_modules()}
        else:
            self.root, fn = nn.Module(), root
        self._root_function = fn
        self.graph = Graph(tracer_cls=getattr(self, "__class__", None))
        self.tensor_attrs = dict(_tensor_attributes(self.root))
        self.module_stack.clear()
        return fn

    @contextlib.contextmanager
    def _patched(self, fn):
        """Modules call this tracer, and wrapped functions write themselves down."""
        original_call, original_getattr = nn.Module.__call__, nn.Module.__getattr__
        parameters: dict = {}
        with Patcher() as patcher:
            for module in self.root.modules():
                patcher.keep(module._buffers)  # `self.seen += n` would leave a proxy in the model

            def read(module, attr):
                return self.getattr(attr, original_getattr(module, attr), parameters)

            def call(module, *args, **kwargs):
                def forward(*args, **kwargs):
                    return original_call(module, *args, **kwargs)

                method = getattr(module, "forward", module)
                patcher.autowrap(getattr(method, "__globals__", {}), self._autowrap_ids)
                return self.call_module(module, forward, args, kwargs)

            patcher.patch_method(nn.Module, "__getattr__", read)
            patcher.patch_method(nn.Module, "__call__", call)
            for namespace, name in wrapped_names():
                patcher.patch(namespace, name, wrapped(_lookup(namespace, name)))
            patcher.autowrap(getattr(inspect.unwrap(fn), "__globals__", {}), self._autowrap_ids)
            for module in (*self._autowrap_search, transformer):  # which makes masks of sizes
                patcher.autowrap(module.__dict__, self._autowrap_ids)
            yield


def _lookup(namespace, name):
    import builtins

    return namespace[name] if name in namespace else getattr(builtins, name)


def _tensor_attributes(root):
    """The tensors that modules hold as plain attributes, by their identity."""
    for prefix, module in root.named_modules():
        for name, value in module.__dict__.items():
            if isinstance(value, rushlight.Tensor):
                yield id(value), (f"{prefix}.{name}" if prefix else name, value)


def symbolic_trace(root, concrete_args: dict | None = None) -> GraphModule:
    """A :class:`GraphModule` that computes what `root`, a module or function, does.

    The program runs once with proxies. What depends on their values (``if x.sum() > 0``) raises
    :class:`~rushlight.fx.proxy.TraceError`; `concrete_args` gives values to arguments that control
    flow asks for.

    >>> import rushlight
    >>> def double_relu(x):
    ...     return rushlight.relu(x) * 2
    >>> module = rushlight.fx.symbolic_trace(double_relu)
    >>> module(rushlight.tensor([-1.0, 3.0]))
    tensor([0., 6.])
    """
    tracer = Tracer()
    return module_of(tracer, tracer.trace(root, concrete_args), root)


def module_of(tracer, graph, root) -> GraphModule:
    """The module of a graph that a tracer made of `root`, which it is named after."""
    name = type(root).__name__ if isinstance(root, nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


__all__ = [
    "PH",
    "PHBase",
    "PHWithMeta",
    "Proxy",
    "ProxyableClassMeta",
    "Tracer",
    "_assert_is_none",
    "is_fx_symbolic_tracing",
    "is_fx_tracing",
    "symbolic_trace",
    "wrap",
]

"""Tracing with shapes: programs whose control flow depends on sizes, dimensions and dtypes."""

from __future__ import annotations

import warnings

import rushlight
from rushlight import nn
from rushlight.func import functional_call
from rushlight.fx._symbolic_trace import Tracer, module_of
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node, map_aggregate
from rushlight.fx.patching import wrapped
from rushlight.fx.proxy import Attribute, Proxy
from rushlight.tensor.construction import without_values
from rushlight.tensor.tensor import Tensor

# What finds the result of a function or class of modules on tensors of device meta, if that is not
# the function itself: called with its arguments, the module first. Programs add to it.
manual_meta_overrides: dict = {}


class MetaProxy(Proxy):
    """A stand-in that knows the shape and dtype of its value, where these could be found: `size`,
    `dim`, `shape`, `ndim` and `dtype` are values, not nodes."""

    def install_tensor_meta(self, tensor_meta) -> None:
        """Let this be the value: a tensor of device meta, a number, or a structure of them."""
        self._tensor_meta = tensor_meta

    def size(self, dim=None):
        """All sizes, or that of a dimension."""
        meta = _meta(self)
        given = () if dim is None else (dim,)
        if isinstance(meta, Tensor):
            return meta.size(*given)
        return self.tracer.create_proxy("call_method", "size", (self, *given), {})

    def dim(self):
        """The number of dimensions."""
        meta = _meta(self)
        if isinstance(meta, Tensor):
            return meta.dim()
        return self.tracer.create_proxy("call_method", "dim", (self,), {})

    @property
    def shape(self):
        """All sizes."""
        return self._fact("shape")

    @property
    def ndim(self):
        """The number of dimensions."""
        return self._fact("ndim")

    @property
    def dtype(self):
        """The dtype of the elements."""
        return self._fact("dtype")

    @property
    def device(self):
        """Where the value is: a stand-in, since that may differ from call to call."""
        return MetaDeviceAttribute(self, "device")

    def _fact(self, name):
        meta = _meta(self)
        if isinstance(meta, Tensor):
            return getattr(meta, name)
        return self.tracer.create_proxy("call_function", getattr, (self, name), {})

    def __getattr__(self, k):
        found = super().__getattr__(k)  # raises for what no proxy answers
        return MetaAttribute(self, k) if isinstance(found, Attribute) else found


class MetaAttribute(Attribute, MetaProxy):
    """The stand-in for an attribute; a call of it is a method's."""


class MetaDeviceAttribute(MetaAttribute):
    """The stand-in for a device, which is device meta where shapes are found."""


def _meta(proxy):
    return proxy.__dict__.get("_tensor_meta")


def gen_constructor_wrapper(target):
    """A function that writes down calls with proxies, and the function itself."""
    return wrapped(target), target


def proxys_to_metas(v):
    """The value that a stand-in knows, ``"meta"`` for a device; other values as they are.

    Raises AssertionError for a stand-in that knows none.
    """
    if isinstance(v, MetaDeviceAttribute):
        return "meta"
    if not isinstance(v, Proxy):
        return v
    if not isinstance(v, MetaProxy):
        raise AssertionError(f"Expected MetaProxy but got {type(v)}")
    if isinstance(v, Attribute) and "_tensor_meta" not in v.__dict__:
        return getattr(proxys_to_metas(v.root), v.attr)
    if "_tensor_meta" not in v.__dict__:
        raise AssertionError("MetaProxy does not have an associated meta")
    return v._tensor_meta


class MetaTracer(Tracer):
    """A tracer whose proxies know shapes, found by running every node on device meta.

    What cannot be found that way is a warning, and the value's shape is not known. Modules that
    the program makes while it runs become submodules if they have no parameters and buffers,
    unless a subclass sets `allow_insert_stateless_mods` to False.
    """

    allow_insert_stateless_mods = True
    _knowing = False  # whether modules are called to find shapes

    def trace(self, root, meta_args, concrete_args=None):
        """The graph of a module or function; `meta_args` has tensors of device meta by the names of
        arguments."""
        if not isinstance(meta_args, dict):
            raise AssertionError(f"Expected dict for meta_args, got {type(meta_args)}")
        self.meta_args = meta_args
        graph = super().trace(root, concrete_args)
        graph._tracer_extras = {"meta_args": meta_args}
        return graph

    def proxy(self, node: Node) -> MetaProxy:
        """The stand-in for the value of a node."""
        return MetaProxy(node, self)

    def create_proxy(
        self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None
    ):
        """Add a node, and find the shape of its value."""
        made = super().create_proxy(kind, target, args, kwargs, name, type_expr, proxy_factory_fn)
        if kind == "placeholder" and target in self.meta_args:
            made.install_tensor_meta(self.meta_args[target])
        elif kind not in ("placeholder", "output"):
            try:
                made.install_tensor_meta(self._value(kind, target, args, kwargs))
            except Exception as error:
                warnings.warn(
                    f"Could not compute metadata for {kind} target {target}: {error}", stacklevel=2
                )
        return made

    def _value(self, kind, target, args, kwargs):
        """What a node gives on device meta."""
        args = map_aggregate(args, _as_meta)
        kwargs = map_aggregate(kwargs, _as_meta)
        if kind == "call_method":
            return getattr(args[0], target)(*args[1:], **kwargs)
        if kind == "call_function":
            if "device" in kwargs and kwargs["device"] is not None:
                kwargs = {**kwargs, "device": "meta"}
            return manual_meta_overrides.get(target, target)(*args, **kwargs)
        self._knowing = True
        try:
            if kind == "get_attr":
                return _as_meta(_attribute(self.root, target))
            return self._module_value(self.root.get_submodule(target), args, kwargs)
        finally:
            self._knowing = False

    def _module_value(self, module, args, kwargs):
        override = manual_meta_overrides.get(type(module))
        if override is not None:
            return override(module, *args, **kwargs)
        state = {
            name: _as_meta(value)
            for collection in (module.named_parameters(), module.named_buffers())
            for name, value in collection
        }
        return functional_call(module, state, args, kwargs)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """What a read of an attribute of a module gives: its value where shapes are found."""
        return attr_val if self._knowing else super().getattr(attr, attr_val, parameter_proxy_cache)

    def call_module(self, m, forward, args, kwargs):
        """What the call of a module gives."""
        return forward(*args, **kwargs) if self._knowing else super().call_module(
            m, forward, args, kwargs
        )  # fmt: skip

    def path_of_module(self, mod: nn.Module) -> str:
        """The path of a submodule, to which a module without state may become one."""
        try:
            return super().path_of_module(mod)
        except NameError:
            if not self.allow_insert_stateless_mods or len([*mod.parameters(), *mod.buffers()]):
                raise
            return self._insert_module_as_submodule(mod)

    def _insert_module_as_submodule(self, mod):
        number, kind = 0, type(mod).__name__.lower()
        while hasattr(self.root, f"{kind}_{number}"):
            number += 1
        self.root.add_module(f"{kind}_{number}", mod)
        return f"{kind}_{number}"


def _as_meta(value):
    value = proxys_to_metas(value)
    return without_values(value) if isinstance(value, Tensor) else value


def _attribute(root, path):
    for name in path.split("."):
        root = getattr(root, name)
    return root


def symbolic_trace(
    root, meta_args: dict[str, rushlight.Tensor] | None = None, concrete_args: dict | None = None
) -> GraphModule:
    """A :class:`~rushlight.fx.GraphModule` of a program whose control flow asks for sizes, numbers
    of dimensions or dtypes.

    Args:
        root: a module or function.
        meta_args: the arguments by name, as tensors of device meta; what the program asks of them
            and of what it makes of them is answered as for these, and the graph holds for them.
        concrete_args: values of arguments, as for :func:`rushlight.fx.symbolic_trace`.

    >>> import rushlight
    >>> from rushlight.fx.experimental.meta_tracer import symbolic_trace
    >>> def halves(x):
    ...     return x[:, : x.shape[1] // 2] if x.dim() == 2 else x
    >>> module = symbolic_trace(halves, {"x": rushlight.ones(2, 6, device="meta")})
    >>> module(rushlight.ones(2, 6)).shape
    rushlight.Size([2, 3])
    """
    tracer = MetaTracer()
    graph = tracer.trace(root, {} if meta_args is None else meta_args, concrete_args)
    return module_of(tracer, graph, root)


__all__ = [
    "MetaAttribute",
    "MetaDeviceAttribute",
    "MetaProxy",
    "MetaTracer",
    "gen_constructor_wrapper",
    "manual_meta_overrides",
    "proxys_to_metas",
    "symbolic_trace",
]

"""Stand-ins for values that write down what is done with them.

Operators and attributes are methods of :class:`Proxy`; functions of Rushlight reach it by
``__torch_function__``, as every other class that overrides them.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import dis
import enum
import inspect
import operator
import typing

import rushlight
from rushlight.fx.locations import at_user_line, user_stack
from rushlight.fx.names import public_name
from rushlight.fx.node import Argument, Node, Target, base_types, map_aggregate
from rushlight.fx.operators import magic_methods, reflectable_magic_methods
from rushlight.fx.schema_signatures import check_for_mutable_operation


class TraceError(ValueError):
    """A program does with a proxy what only a value can do."""


@dataclasses.dataclass
class Scope:
    """The module whose ``forward`` is being traced: its path and class."""

    module_path: str
    module_type: type | None


class ScopeContextManager:
    """Makes `current_scope` the scope of a tracer inside of ``with``."""

    def __init__(self, scope: Scope, current_scope: Scope):
        self._before, self._scope = copy.copy(scope), scope
        scope.module_path, scope.module_type = (
            current_scope.module_path,
            current_scope.module_type,
        )

    def __enter__(self):
        return self._scope

    def __exit__(self, *exc):
        self._scope.module_path = self._before.module_path
        self._scope.module_type = self._before.module_type


class TracerBase:
    """What proxies need of a tracer: it makes nodes and arguments, and decides what control flow
    does. :class:`Tracer` adds modules."""

    graph: typing.Any = None
    record_stack_traces = False  # whether nodes know the lines of the program
    check_mutable_operations = False  # whether a function that writes to its inputs is refused
    trace_asserts = False  # whether ``assert proxy`` is written down as a call
    proxy_buffer_attributes = False  # whether a read of a buffer gives a proxy
    traced_func_name = "forward"

    def __init__(self):
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.node_name_to_scope: dict = {}

    def create_node(
        self, kind: str, target: Target, args, kwargs, name=None, type_expr=None
    ) -> Node:
        """Add a node to the graph; the place to change all of them."""
        if self.check_mutable_operations and kind == "call_function":
            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if self.module_stack:
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        if self.record_stack_traces and not node.stack_trace:
            node.stack_trace = user_stack()
        return node

    def proxy(self, node: Node) -> Proxy:
        """The stand-in for the value of a node."""
        return Proxy(node, self)

    def create_proxy(
        self, kind: str, target: Target, args, kwargs, name=None, type_expr=None,
        proxy_factory_fn=None,
    ):  # fmt: skip
        """Add a node for arguments that may be proxies, and return its stand-in."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        return proxy_factory_fn(node) if proxy_factory_fn is not None else self.proxy(node)

    def create_arg(self, a) -> Argument:
        """A value as an argument of a node: proxies become their nodes, and what a graph cannot
        hold is refused."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return _dict_argument(self, a)
        if isinstance(a, (slice, range)):
            parts = (a.start, a.stop, a.step)
            return type(a)(*(self.create_arg(part) for part in parts))
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = dataclasses.fields(a)
            kwargs = {f.name: self.create_arg(getattr(a, f.name)) for f in fields}
            return self.create_node("call_function", type(a), (), kwargs)
        if isinstance(a, (*base_types, enum.Enum)) or a is None or a is ...:
            return a
        if isinstance(a, type) or hasattr(a, "op") or inspect.isroutine(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """What ``if proxy`` asks for; raises TraceError unless a subclass answers."""
        raise TraceError(
            at_user_line("symbolically traced variables cannot be used as inputs to control flow")
        )

    def iter(self, obj: Proxy):
        """What ``for x in proxy`` asks for; raises TraceError unless a subclass answers."""
        raise TraceError(
            at_user_line(
                "Proxy object cannot be iterated: the number of its items is not known. Unpack it "
                "(a, b = x), index it, or name the function that iterates in rushlight.fx.wrap"
            )
        )

    def keys(self, obj: Proxy):
        """What ``**proxy`` asks for: a proxy of its keys."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Lets proxies of an existing graph add to it: ``Proxy(node, GraphAppendingTracer(graph))``."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph


# What nobody asks a value for: the proxy's own state, and that of tensors. Python's protocols
# (``__index__``, ``__array__``, ...) are asked by name; a proxy follows those of its class alone.
_REFUSED = {"tracer", "node", "_level", "_inner", "_elements", "_pattern"} | {
    name for name in dir(rushlight.Tensor) if name.startswith("_") and not name.endswith("_")
}


class Proxy:
    """The stand-in for the value of `node`: whatever is done with it becomes a node.

    Calls of its methods are ``call_method``, operators and functions ``call_function``. Its truth,
    its length and its items are not known: asking for them raises.
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None):
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, k):
        if k in _REFUSED or k.startswith("__") and k.endswith("__"):
            raise AttributeError(k)
        return Attribute(self, k)

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, state):
        self.__dict__ = state

    def __deepcopy__(self, memo):
        new = type(self).__new__(type(self))
        new.__dict__.update((k, v) for k, v in self.__dict__.items())
        return new

    def __call__(self, *args, **kwargs):
        """A call of the value itself."""
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        count = _unpacked(inspect.currentframe().f_back)
        if count is None:
            return self.tracer.iter(self)
        return (self[i] for i in range(count))

    def __abs__(self):
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self):
        if self.tracer.trace_asserts and _is_asserted(inspect.currentframe().f_back):
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)

    def keys(self):
        """What ``**proxy`` asks for."""
        return self.tracer.keys(self)

    def __len__(self):
        raise RuntimeError(
            at_user_line(
                "'len' is not supported in symbolic tracing by default. If you want this call to "
                "be recorded, please call rushlight.fx.wrap('len') at module scope"
            )
        )

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tracer = _tracer_of((args, kwargs))
        if _is_method(function, args):
            return tracer.create_proxy("call_method", function.__name__, args, kwargs)
        return tracer.create_proxy("call_function", function, args, kwargs)


class MetaProxy(Proxy):
    """A stand-in that also computes ``meta["val"]`` of the nodes of the functions it is given to,
    from those of their arguments, inside of `fake_mode`.

    Args:
        node: the node that it stands for, with ``meta["val"]``.
        tracer: what adds nodes; None adds to the graph of the node.
        fake_mode: a context manager, inside of which the functions run.

    Operators and methods (``x + y``, ``x.sum()``) give an ordinary :class:`Proxy`. A function of a
    MetaProxy without `fake_mode` raises TypeError; one that has none among its arguments raises
    AssertionError.

    >>> import contextlib, rushlight
    >>> from rushlight.fx.proxy import MetaProxy
    >>> node = rushlight.fx.Graph().placeholder("x")
    >>> node.meta["val"] = rushlight.ones(2, 3, device="meta")
    >>> made = rushlight.relu(MetaProxy(node, fake_mode=contextlib.nullcontext()))
    >>> made, made.node.meta["val"].shape
    (MetaProxy(relu), rushlight.Size([2, 3]))
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None, fake_mode=None):
        super().__init__(node, tracer)
        self.fake_mode = fake_mode

    def __repr__(self):
        return f"MetaProxy({self.node.name})"

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        first = next((arg for arg in args if isinstance(arg, MetaProxy)), None)
        if first is None:
            raise AssertionError("No MetaProxy found in arguments, but one is expected.")
        made = super().__torch_function__(function, types, args, kwargs)
        values = [arg.node.meta["val"] if isinstance(arg, Proxy) else arg for arg in args]
        with first.fake_mode:
            made.node.meta["val"] = function(*values, **kwargs)
        return MetaProxy(made.node, made.tracer, first.fake_mode)


def _is_method(function, args) -> bool:
    """Whether a function is a method of Tensor alone. ``relu_`` is a function as well, and was
    called as one where a proxy comes first: methods of proxies do not come here."""
    if getattr(function, "variant", None) is not None:
        called = args and isinstance(args[0], Proxy)
        return not called or public_name(function, function.__name__) is None
    name = getattr(function, "__name__", "")
    if getattr(function, "op", None) is not None or name not in vars(rushlight.Tensor):
        return False
    return vars(rushlight.Tensor)[name] is function is not getattr(rushlight, name, None)


class Attribute(Proxy):
    """The stand-in for ``root.attr``. It is a node once it is used as a value; a call of it is a
    method's."""

    def __init__(self, root: Proxy, attr: str):
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node of ``getattr(root, attr)``, made at the first look."""
        if self._node is None:
            args = (self.root, self.attr)
            self._node = self.tracer.create_proxy("call_function", getattr, args, {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        """A call of the method `attr`."""
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """The stand-in for a parameter: its shape is known, so that programs may compute with it."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: rushlight.Tensor):
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    @property
    def shape(self):
        """The parameter's shape, a value."""
        return self.param.shape

    def size(self, *args):
        """The parameter's sizes, values."""
        return self.param.size(*args)

    def dim(self):
        """The parameter's number of dimensions, a value."""
        return self.param.dim()

    @property
    def ndim(self):
        """The parameter's number of dimensions, a value."""
        return self.param.ndim

    def numel(self):
        """The parameter's number of elements, a value."""
        return self.param.numel()

    def nelement(self):
        """The parameter's number of elements, a value."""
        return self.param.numel()


def _method(function):
    def method(self, *args, **kwargs):
        tracer = _tracer_of((self, args, kwargs))
        return tracer.create_proxy("call_function", function, (self, *args), kwargs)

    return method


def _reflected(function):
    def method(self, other):
        return self.tracer.create_proxy("call_function", function, (other, self), {})

    return method


Proxy.__add__, Proxy.__radd__ = _method(operator.add), _reflected(operator.add)
Proxy.__sub__, Proxy.__rsub__ = _method(operator.sub), _reflected(operator.sub)
Proxy.__mul__, Proxy.__rmul__ = _method(operator.mul), _reflected(operator.mul)
Proxy.__floordiv__, Proxy.__rfloordiv__ = _method(operator.floordiv), _reflected(operator.floordiv)
Proxy.__truediv__, Proxy.__rtruediv__ = _method(operator.truediv), _reflected(operator.truediv)
Proxy.__mod__, Proxy.__rmod__ = _method(operator.mod), _reflected(operator.mod)
Proxy.__pow__, Proxy.__rpow__ = _method(operator.pow), _reflected(operator.pow)
Proxy.__lshift__, Proxy.__rlshift__ = _method(operator.lshift), _reflected(operator.lshift)
Proxy.__rshift__, Proxy.__rrshift__ = _method(operator.rshift), _reflected(operator.rshift)
Proxy.__and__, Proxy.__rand__ = _method(operator.and_), _reflected(operator.and_)
Proxy.__or__, Proxy.__ror__ = _method(operator.or_), _reflected(operator.or_)  # type: ignore[method-assign]
Proxy.__xor__, Proxy.__rxor__ = _method(operator.xor), _reflected(operator.xor)
Proxy.__getitem__, Proxy.__rgetitem__ = _method(operator.getitem), _reflected(operator.getitem)  # type: ignore[misc]
Proxy.__matmul__, Proxy.__rmatmul__ = _method(operator.matmul), _reflected(operator.matmul)
Proxy.__eq__ = _method(operator.eq)  # type: ignore[method-assign]
Proxy.__ne__ = _method(operator.ne)  # type: ignore[method-assign]
Proxy.__lt__ = _method(operator.lt)
Proxy.__gt__ = _method(operator.gt)
Proxy.__le__ = _method(operator.le)
Proxy.__ge__ = _method(operator.ge)
Proxy.__pos__ = _method(operator.pos)
Proxy.__neg__ = _method(operator.neg)
Proxy.__invert__ = _method(operator.invert)


def _tracer_of(values):
    """The tracer of the first proxy among `values`, all of which must have the same."""
    found = []
    map_aggregate(values, lambda v: found.append(v.tracer) if isinstance(v, Proxy) else None)
    if any(tracer is not found[0] for tracer in found):
        if not all(isinstance(tracer, GraphAppendingTracer) for tracer in found):
            raise RuntimeError(f"proxies of {len(found)} tracers in one call: found {found}")
    return found[0]


def _dict_argument(tracer, values):
    result = {}
    for key, value in values.items():
        key = tracer.create_arg(key)
        map_aggregate(key, _refuse_node)
        result[key] = tracer.create_arg(value)
    return result


def _refuse_node(value):
    if isinstance(value, Node):
        raise RuntimeError(
            f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {value}"
        )
    return value


def _instructions(frame):
    """The instructions of a frame from the one that it is at."""
    found = dis.get_instructions(frame.f_code)
    return [i for i in found if i.offset >= frame.f_lasti and i.opname != "CACHE"]


def _unpacked(frame):
    """How many variables ``a, b = proxy`` in this frame has; None if it is not unpacking."""
    first = _instructions(frame)[0]
    return first.argval if first.opname == "UNPACK_SEQUENCE" else None


def _is_asserted(frame):
    following = [i for i in _instructions(frame)[:4] if i.opname != "TO_BOOL"]
    jump = next((n for n, i in enumerate(following) if "JUMP_IF_TRUE" in i.opname or (
        "POP_JUMP" in i.opname and i.opname.endswith("IF_TRUE"))), None)  # fmt: skip
    return jump is not None and following[jump + 1].opname in (
        "LOAD_ASSERTION_ERROR", "LOAD_COMMON_CONSTANT",
    )  # fmt: skip


def assert_fn(x) -> None:
    """What ``assert x`` becomes in a graph: raises AssertionError where `x` is false."""
    if not x:
        raise AssertionError("Assertion failed")


__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "MetaProxy",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
    "assert_fn",
    "magic_methods",
    "reflectable_magic_methods",
]

"""What a captured program may call, and how."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections import OrderedDict
from types import BuiltinFunctionType, FunctionType, MethodType, UnionType

from rushlight import jit
from rushlight._dynamo import graph_break
from rushlight.autograd.mode import (
    is_grad_enabled,
    is_inference_mode_enabled,
    mode,
    no_grad,
)
from rushlight.capture import casting
from rushlight.capture.guards import MISSING
from rushlight.capture.kinds import is_container, is_iterable, is_named_tuple, is_plain, is_value
from rushlight.capture.lookups import Own
from rushlight.capture.numbers import Number, as_argument, joined
from rushlight.capture.parts import Parts
from rushlight.compiler import eager
from rushlight.compiler.substitutes import substitute_of
from rushlight.devices import device
from rushlight.dtypes import finfo, get_default_dtype, iinfo
from rushlight.library.operators import Operator, Packet
from rushlight.nn import recurrent
from rushlight.nn.module import Module
from rushlight.ops._transforms.capturing import Captured, captured_operator
from rushlight.tensor.shape import Size
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree

# Methods and properties of tensors that are no op, and tell nothing that a graph does not hold for.
TENSOR_NAMES = frozenset(
    "shape dtype device ndim T mT H mH is_cuda is_sparse is_quantized is_mps layout itemsize real "
    "imag size dim ndimension numel nelement element_size is_complex is_floating_point is_signed "
    "bfloat16 bool byte cdouble cfloat chalf char clamp_max_ clamp_min_ cpu double expand_as float "
    "half int long short to type_as view view_as reshape_as where masked_fill_ scatter_ zero_ "
    "div_ divide_ true_divide_ nan_to_num_ fill_diagonal_ index_put index_put_ index_fill_ "
    "new_tensor addmm_ baddbmm_ addbmm_ addmv_ addr_ renorm_ mvlgamma_ polygamma polygamma_ ldexp_ "
    "float_power_".split()
)
_STEPS = ("rushlight.ops.", "rushlight.nn.functional")
_NO_STEPS = ("rushlight.ops.random.generators", "rushlight.ops.creation.mapped_files")
# Answers that hold as long as a graph does: the modes are part of the kind of a call.
_CONSTANT = frozenset(
    [is_grad_enabled, is_inference_mode_enabled, get_default_dtype, jit.is_scripting,
     jit.is_tracing, eager.is_compiling, eager.is_dynamo_compiling, eager.is_exporting,
     recurrent.is_casting]
)  # fmt: skip
_PURE = frozenset([abs, round, pow, divmod, chr, ord, bin, hex, format])
# Methods that neither compare nor hash what a container holds.
_UNTOUCHING = frozenset(
    [dict.items, dict.keys, dict.values, dict.copy, dict.clear, OrderedDict.items, OrderedDict.keys,
     OrderedDict.values, OrderedDict.copy, OrderedDict.clear, list.copy, list.clear, list.reverse]
)  # fmt: skip
_BY_KEY = frozenset(
    [dict.get, dict.setdefault, dict.pop, OrderedDict.get, OrderedDict.setdefault, OrderedDict.pop,
     set.add, set.discard, list.pop]
)  # fmt: skip
_MAKERS = frozenset([int, float, bool, complex, str, range, slice, Size, device, finfo, iinfo])
_COLLECTORS = frozenset([list, tuple, set, frozenset])
_COMBINERS = frozenset([itertools.chain, itertools.product, itertools.pairwise])
_CHANGING = frozenset(
    "append extend insert remove pop clear sort reverse add discard update setdefault popitem "
    "move_to_end difference_update intersection_update symmetric_difference_update".split()
)


class Calls(Parts):
    """The part of the interpreter that calls; see :mod:`rushlight.capture.interpreter`."""

    def call(self, function, args, kwargs):
        """The result of a call."""
        if isinstance(function, BuiltinFunctionType | FunctionType | type):
            return self._call_known(function, args, kwargs)
        for kind, call in _BY_KIND.items():
            if isinstance(function, kind):
                return call(self, function, args, kwargs)
        if is_step(function):
            return self.step(function, args, kwargs)
        if is_plain(function):
            self.refuse(f"it calls a {type(function).__name__}")
        why = f"it calls {_name_of(function)}(), which cannot be followed"
        return self.call(self._method(function, "__call__", why), args, kwargs)

    def _call_known(self, function, args, kwargs):
        """Functions and classes."""
        function = substitute_of(function)
        if function in _SPECIAL:
            self._refuse_numbers(function, args)
            return _SPECIAL[function](self, args, kwargs)
        if function in _CONSTANT:
            return function()
        if function in _PURE:
            return self._call_pure(function, args, kwargs)
        if isinstance(function, BuiltinFunctionType):
            return self._call_native(function, args, kwargs)
        if isinstance(function, type):
            return self._make(function, args, kwargs)
        return (self.step if is_step(function) else self.run)(function, args, kwargs)

    def _refuse_numbers(self, function, args):
        if any(type(each) is Number for each in args):
            self.refuse(f"it calls {_name_of(function)}() with a number that differs")

    def _call_pure(self, function, args, kwargs):
        """Builtins of numbers and texts."""
        if not all(map(is_plain, (*args, *kwargs.values()))):
            self.refuse(f"it calls {function.__name__}() with an object")
        return function(*args, **kwargs)

    def step(self, function, args, kwargs):
        """Call a function of the op table; the recorder writes it down."""
        leaves = pytree.tree_leaves((args, kwargs))
        if getattr(getattr(function, "op", None), "kind", None) == "elementwise":
            args, kwargs = pytree.tree_map(as_argument, (args, kwargs))
            leaves = [leaf for leaf in leaves if type(leaf) is not Number]
        if not all(is_plain(leaf) for leaf in leaves):
            self.refuse(f"it calls {_name_of(function)}() with an object that is no tensor")
        found = function(*args, **kwargs)
        for leaf in pytree.tree_leaves(found):
            if isinstance(leaf, Tensor) and not isinstance(leaf, Captured):
                self.refuse(f"{_name_of(function)}() makes a tensor that is no step of a graph")
        return found

    def _call_operator(self, overload, args, kwargs):
        """An operator of a namespace is a step, like those of the op table."""
        name = overload.name()
        if overload._schema.is_mutable:
            self.refuse(f"it calls {name}, which writes to its arguments")
        if overload.autocast or overload.overrides is not None or not overload.is_whole():
            self.refuse(f"it calls {name}, which is no single step")
        if not all(map(is_plain, pytree.tree_leaves((args, kwargs)))):
            self.refuse(f"it calls {name} with an object that is no tensor")
        return captured_operator(overload, overload._schema.bind(args, dict(kwargs)))

    def _call_packet(self, packet, args, kwargs):
        """One of the overloads of an operator."""
        self.lookups.guards.contents(packet._overloads, f"overloads of {packet}")
        return self._call_operator(packet.overload_for(args, kwargs), args, kwargs)

    def _call_module(self, module, args, kwargs):
        call = self.lookups.method(module, "__call__")
        if not isinstance(call, MethodType) or call.__func__ is not Module.__call__:
            self.refuse(f"{type(module).__name__} has a __call__ of its own")
        if not self.lookups.no_hooks(module):
            self.refuse(f"{type(module).__name__} has hooks")
        forward = self.lookups.attribute(module, "forward")
        if forward is MISSING:
            self.refuse(f"{type(module).__name__} has no forward")
        return self.call(forward, args, kwargs)

    def _call_method(self, method, args, kwargs):
        owner, function = method.__self__, method.__func__
        if isinstance(owner, Captured):
            return self.step(method, args, kwargs)
        if not isinstance(function, FunctionType):
            self.refuse(f"it calls {_name_of(function)}(), which is no Python function")
        if isinstance(owner, type) and issubclass(owner, Tensor):
            self.refuse(f"it calls {_name_of(function)}() of a class of tensors")
        return self.call(function, (owner, *args), kwargs)

    def _call_partial(self, partial, args, kwargs):
        parts = partial.func, partial.args, partial.keywords
        if id(partial) in self.made:
            function, first, named = parts
        else:
            self.lookups.guards.contents(parts[2], "keywords of a partial")
            function, first, named = (self.lookups.loaded(p, "a partial") for p in parts)
        return self.call(function, (*first, *args), {**named, **kwargs})

    def _call_native(self, function, args, kwargs):
        """Functions of machine code, of Python's own."""
        owner = function.__self__
        given = (*args, *kwargs.values())
        if owner is math:
            if all(map(is_plain, given)):
                return function(*args, **kwargs)
        elif getattr(owner, "__name__", None) == "_operator":
            if all(is_plain(each) and not self.is_external(each) for each in given):
                return function(*args, **kwargs)
        elif is_container(owner) or is_value(owner):
            return self._call_of_container(owner, function, args, kwargs)
        self.refuse(f"it calls {_name_of(function)}()")

    def _call_of_container(self, owner, function, args, kwargs):
        name = function.__name__
        if name in _CHANGING and self.is_external(owner):
            self.refuse(f"it calls {name}() of a {type(owner).__name__} that is not its own")
        if name in ("append", "insert") and not kwargs:
            return function(*args)
        if name in ("extend", "join") and len(args) == 1 and not kwargs:
            return function([*self.iterate(args[0])])
        if name == "update" and len(args) == 1 and is_container(args[0]):
            return function(*args, **kwargs)
        method = getattr(type(owner), name)
        if method in _BY_KEY and all(map(_is_key, args[:1])):
            return function(*args, **kwargs)
        if method in _UNTOUCHING:
            return function(*args)
        if not all(map(is_plain, (owner, *args, *kwargs.values()))):
            self.refuse(f"it calls {_name_of(function)}() with objects")
        return function(*args, **kwargs)

    def _make(self, kind, args, kwargs):
        """Objects of classes whose constructors are known."""
        given = (*args, *kwargs.values())
        if kind in _MAKERS:
            if any(isinstance(each, Captured) for each in given) or all(map(is_plain, given)):
                return kind(*args, **kwargs)
        elif kind in _COLLECTORS and len(args) <= 1 and not kwargs:
            return kind([*self.iterate(args[0])]) if args else kind()
        elif kind in (dict, OrderedDict):
            if not args or is_container(args[0]):
                return kind(*args, **kwargs)
            return kind([tuple(self.iterate(pair)) for pair in self.iterate(args[0])], **kwargs)
        elif kind in _COMBINERS and not kwargs:
            return self.iterator(kind(*[self.iterate(each) for each in args]))
        elif kind is no_grad and not given and not mode.recording:
            return UNCHANGED
        elif kind is functools.partial:
            found = kind(*args, **kwargs)
            self.made[id(found)] = found
            return found
        elif is_named_tuple(kind):
            return kind(*args, **kwargs)
        self.refuse(f"it makes an object of class {kind.__name__}")

    # ------------------------------------------------------------------------------------ protocols
    def _method(self, value, name, why):
        """A special method of a value, in Python; where it has none the capture ends: `why`."""
        method = self.lookups.method(value, name)
        if not isinstance(method, MethodType):
            self.refuse(why)
        return method

    def iterate(self, value):
        """An iterator of a value."""
        if is_iterable(value) or id(value) in self.iterators or isinstance(value, Captured):
            return iter(value)
        method = self._method(value, "__iter__", f"it iterates a {type(value).__name__}")
        return self.iterate(self.call(method, (), {}))

    def iterator(self, value):
        """A value that was made here and is used up by looking at it."""
        self.iterators[id(value)] = value
        return value

    def truth(self, value):
        """``bool(value)``."""
        if type(value) is Number:
            return self.binary(operator.ne, value, 0)
        if is_plain(value):
            return bool(value)
        for name in ("__bool__", "__len__"):
            method = self.lookups.method(value, name)
            if isinstance(method, MethodType):
                return bool(self.call(method, (), {}))
            if method is not MISSING:
                self.refuse(f"it asks whether a {type(value).__name__} is true")
        return True

    def length(self, value):
        """``len(value)``."""
        if isinstance(value, Captured) or is_iterable(value):
            return len(value)
        why = f"it asks for the length of a {type(value).__name__}"
        return self.call(self._method(value, "__len__", why), (), {})

    def item(self, value, key):
        """``value[key]``."""
        if isinstance(value, Captured) and not is_plain(key):
            self.refuse(f"it indexes a tensor by a {type(key).__name__}")
        if type(value) is Own:
            return self.lookups.item_of_own(value, key)
        if isinstance(value, Captured) or is_container(value) or is_value(value):
            return value[key]
        why = f"it looks for an item of a {type(value).__name__}"
        if isinstance(value, type):
            self.refuse(why)
        return self.call(self._method(value, "__getitem__", why), (key,), {})

    def contains(self, value, item):
        """``item in value``."""
        if is_plain(value) and is_plain(item):
            return item in value
        if is_container(value):
            return any(item is each or self.truth(self.binary(operator.eq, each, item))
                       for each in value)  # fmt: skip
        why = f"it looks for something in a {type(value).__name__}"
        return self.truth(self.call(self._method(value, "__contains__", why), (item,), {}))

    def binary(self, function, left, right):
        """An operator between two values."""
        if type(left) is Number or type(right) is Number:
            found = joined(function, left, right)
            if found is NotImplemented:
                self.refuse("it looks at a number that differs from call to call")
            return found
        if not (is_plain(left) and is_plain(right)):
            kinds = f"{type(left).__name__} and {type(right).__name__}"
            self.refuse(f"it applies {function.__name__}() to {kinds}")
        return function(left, right)


# What ``with no_grad():`` changes where gradients are not recorded.
UNCHANGED = object()


class Made:
    """A function that the captured program makes."""

    __slots__ = ("defaults", "frame", "keywords", "node")

    def __init__(self, node, frame, defaults, keywords):
        self.node, self.frame, self.defaults, self.keywords = node, frame, defaults, keywords


def is_step(function) -> bool:
    """Whether a function is one of the op table, or of those that only call such."""
    module = getattr(function, "__module__", None) or ""
    if module.startswith(_NO_STEPS):
        return False
    return is_op(function) or isinstance(function, FunctionType) and module.startswith(_STEPS)


def is_op(function) -> bool:
    """Whether a function is one of the op table."""
    return hasattr(function, "op") or hasattr(function, "aten_call")


def _is_key(value):
    return is_plain(value) or type(value).__hash__ is object.__hash__


def _name_of(function):
    return getattr(function, "__qualname__", None) or type(function).__name__


# ------------------------------------------------------------------------------- builtin functions
def _of_items(function):
    """A builtin that reads one iterable, or its arguments."""

    def call(self, args, kwargs):
        if len(args) == 1:
            args = ([*self.iterate(args[0])],)
        return self._call_pure(function, args, kwargs)

    return call


def _sum(self, args, kwargs):
    total = (*args[1:], kwargs.get("start", 0))[0]
    for each in self.iterate(args[0]):
        total = self.binary(operator.add, total, each)
    return total


def _lazily(function):
    def call(self, args, kwargs):
        return self.iterator(function(*map(self.iterate, args), **kwargs))

    return call


def _enumerate(self, args, kwargs):
    return self.iterator(enumerate(self.iterate(args[0]), *args[1:], **kwargs))


def _reversed(self, args, kwargs):
    if is_iterable(args[0]):
        return self.iterator(reversed(args[0]))
    items = [self.item(args[0], i) for i in range(self.length(args[0]))]
    return self.iterator(reversed(items))


def _map(self, args, kwargs):
    columns = zip(*map(self.iterate, args[1:]), strict=False)
    return self.iterator(self.call(args[0], row, {}) for row in columns)


def _filter(self, args, kwargs):
    keep = (lambda v: v) if args[0] is None else lambda v: self.call(args[0], (v,), {})
    return self.iterator(v for v in self.iterate(args[1]) if self.truth(keep(v)))


def _sorted(self, args, kwargs):
    items, key = [*self.iterate(args[0])], kwargs.pop("key", None)
    keys = items if key is None else [self.call(key, (v,), {}) for v in items]
    if not all(map(is_value, keys)):
        self.refuse("it sorts objects")
    order = sorted(range(len(items)), key=keys.__getitem__, **kwargs)
    return [items[i] for i in order]


def _isinstance(self, args, kwargs):
    value, kinds = args[0], [*_classes(args[1])]
    for kind in kinds:
        meta = type(kind)
        if meta.__instancecheck__ is not type.__instancecheck__:
            if meta.__module__.partition(".")[0] not in ("abc", "enum", "rushlight"):
                self.refuse(f"it asks isinstance() of {kind}, whose class answers")
        if isinstance(value, Captured) and kind is not Tensor and issubclass(kind, Tensor):
            self.refuse(f"it asks whether a tensor is a {kind.__name__}")
    if isinstance(value, Captured):
        return any(issubclass(Tensor, kind) for kind in kinds)
    if type(value) is Made:
        return any(issubclass(FunctionType, kind) for kind in kinds)
    return isinstance(value, tuple(kinds))


def _classes(kinds):
    """The classes that `isinstance` is asked about."""
    if isinstance(kinds, tuple | UnionType):
        for each in kinds if isinstance(kinds, tuple) else kinds.__args__:
            yield from _classes(each)
    else:
        yield kinds


def _getattr(self, args, kwargs):
    found = self.attribute(*args[:2])
    if found is MISSING:
        if len(args) == 2:
            self.refuse(f"a {type(args[0]).__name__} has no attribute {args[1]}")
        return args[2]
    return found


def _type(self, args, kwargs):
    # Rushlight's own code does the same for every class of tensors, one way or another
    ours = self.frames[-1].function.__module__.startswith("rushlight.")
    if len(args) != 1 or isinstance(args[0], Captured) and not ours:
        self.refuse("it asks for the class of a tensor")
    return type(args[0])


def _callable(self, args, kwargs):
    if type(args[0]) is Made:
        return True
    if not isinstance(args[0], Captured) and not is_plain(args[0]):
        self.lookups.method(args[0], "__call__")
    return callable(args[0])


def _next(self, args, kwargs):
    if id(args[0]) not in self.iterators:
        self.refuse(f"it takes from a {type(args[0]).__name__} that is not its own")
    return next(*args)


def _graph_break(self, args, kwargs):
    told = "".join([f": {each}" for each in (*args, *kwargs.values()) if each])
    self.refuse(f"it calls graph_break(){told}")


_SPECIAL: dict = {
    min: _of_items(min), max: _of_items(max),
    len: lambda self, args, kwargs: self.length(*args),
    bool: lambda self, args, kwargs: self.truth(*args) if args else False,
    any: lambda self, args, kwargs: any(map(self.truth, self.iterate(*args))),
    all: lambda self, args, kwargs: all(map(self.truth, self.iterate(*args))),
    iter: lambda self, args, kwargs: self.iterator(self.iterate(*args)),
    hasattr: lambda self, args, kwargs: self.attribute(*args) is not MISSING,
    sum: _sum, zip: _lazily(zip), enumerate: _enumerate, reversed: _reversed, map: _map,
    filter: _filter, sorted: _sorted, isinstance: _isinstance, getattr: _getattr, type: _type,
    callable: _callable, next: _next,
    issubclass: lambda self, args, kwargs: issubclass(*args),
    graph_break: _graph_break, **casting.CALLS,
    # tensors of other classes end a capture before, and a network is captured by its parts
    recurrent._are_ordinary: lambda self, args, kwargs: True,
    recurrent._is_one_step: lambda self, args, kwargs: False,
}  # fmt: skip
_BY_KIND: dict = {
    Module: Calls._call_module,
    MethodType: Calls._call_method,
    Made: lambda self, function, args, kwargs: self.run_made(function, args, kwargs),
    functools.partial: Calls._call_partial,
    Operator: Calls._call_operator,
    Packet: Calls._call_packet,
}

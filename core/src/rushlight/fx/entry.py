"""The arguments of the program that is traced: placeholders, defaults, given values."""

from __future__ import annotations

import functools
import inspect
import types
import warnings

import rushlight
from rushlight.fx.codegen import _PyTreeCodeGen, _PyTreeInfo
from rushlight.fx.node import base_types
from rushlight.utils import _pytree as pytree


class PHBase:
    """Marks an input in the structures of ``concrete_args``."""

    def __repr__(self):
        return "PH"


class PHWithMeta(PHBase):
    """A marked input with a name of the program's own, which its placeholder has as `ph_key`."""

    def __init__(self, ph_key: str | None = None):
        super().__init__()
        self.ph_key = ph_key


PH = PHBase()


def _assert_is_none(value, msg):
    """What a graph says of an argument that was None when it was traced."""
    if value is not None:
        raise AssertionError(msg)


_assert_is_none.__module__ = "rushlight.fx._symbolic_trace"  # where programs and code find it


def entry_of(tracer, root_fn, is_module, concrete_args):
    """The function to call and its arguments: see ``Tracer.create_args_for_root``."""
    unwrapped = inspect.unwrap(root_fn)
    if not hasattr(unwrapped, "__code__"):
        raise AssertionError(f"Expected FunctionType, got {type(unwrapped)}")
    code = unwrapped.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[:count])
    args, first = ([tracer.root], 1) if is_module else ([], 0)
    if is_module and not names:
        raise RuntimeError("``self`` argument cannot be part of *args expansion!")
    parameters = inspect.signature(root_fn).parameters
    kinds = getattr(unwrapped, "__annotations__", {})
    make = _Placeholders(tracer, parameters, kinds, concrete_args or {})
    if isinstance(concrete_args, tuple):
        if len(names) - first != len(concrete_args):
            raise RuntimeError(
                f"Tracing expected {len(names) - first} arguments but got {len(concrete_args)} "
                "concrete arguments"
            )
        make.given = dict(zip(names[first:], concrete_args, strict=True))
    args.extend(make(name) for name in names[first:])
    if code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        rest = code.co_varnames[count:]
        for flag, stars in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
            if code.co_flags & flag:
                args.append(make(stars + rest[0]))
                rest = rest[1:]
        if root_fn is not unwrapped:
            raise NotImplementedError(
                f"tracing {unwrapped.__qualname__}(), which is decorated and takes *args, **kwargs "
                "or keyword-only arguments: trace the function below the decorator"
            )
        root_fn = _by_position(unwrapped, len(args))
    if concrete_args is None:
        return root_fn, args
    return _flattened(tracer, root_fn, args, names, first)


def _by_position(function, count):
    """A function whose ``*args``, ``**kwargs`` and keyword-only parameters are ordinary ones: a
    proxy that stands for all of them can be given."""
    code = function.__code__.replace(
        co_flags=function.__code__.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS),
        co_argcount=count,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
    )
    made = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__, made.__annotations__ = function.__kwdefaults__, function.__annotations__
    return made


class _Placeholders:
    """Makes the proxy of a parameter, or its given value and the check that it is that."""

    def __init__(self, tracer, parameters, kinds, given):
        self.tracer, self.parameters, self.kinds, self.given = tracer, parameters, kinds, given

    def __call__(self, name):
        if name in self.given:
            self.count, self.name = 0, name
            return pytree.tree_map(self.leaf, self.given[name])
        kind = self.kinds.get(name)
        default = self.default_of(name)
        return self.tracer.create_proxy("placeholder", name, default, {}, type_expr=kind)

    def default_of(self, name):
        if name[0] == "*" or self.parameters[name].default is inspect.Parameter.empty:
            return ()
        return (self.parameters[name].default,)

    def leaf(self, value):
        self.count += 1
        name = self.name
        proxy = self.tracer.create_proxy(
            "placeholder", f"{name}_{self.count}", self.default_of(name), {}
        )
        if isinstance(value, PHBase):
            for each, held in vars(value).items():  # of a marker of the program's own
                if not hasattr(proxy.node, each):
                    setattr(proxy.node, each, held)
            return proxy
        text = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.tracer.create_proxy("call_function", _assert_is_none, (proxy, text), {})
        elif isinstance(value, base_types) and not isinstance(value, rushlight.Tensor):
            condition = proxy == value
            self.tracer.create_proxy("call_function", rushlight._assert, (condition, text), {})
        else:
            warnings.warn(
                f"Was not able to add assertion to guard correct input {name} to specialized "
                "function. It is up to the user to make sure that your inputs match the inputs "
                "you specialized the function with.",
                stacklevel=2,
            )
        return value


def _flattened(tracer, root_fn, args, names, first):
    """For arguments that are structures: a function of their leaves, behind the module if
    `first` is 1."""
    leaves, spec = pytree.tree_flatten(tuple(args[first:]))
    if all(child.is_leaf() for child in spec.children_specs):
        return root_fn, args
    info = _PyTreeInfo(names[first:], spec, None)
    tracer.graph._codegen = _PyTreeCodeGen(info)

    def call(*values):
        out = root_fn(*values[:first], *pytree.tree_unflatten(values[first:], spec))
        results, info.out_spec = pytree.tree_flatten(out)
        return results

    return functools.update_wrapper(call, root_fn, (), ()), [*args[:first], *leaves]

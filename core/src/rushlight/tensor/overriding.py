"""``__torch_function__`` for functions that are no ops of the table.

An op asks its arguments by itself. A function that is plain Python over ops asks with what is here
before it looks into its arguments: as the decorator :func:`overridable`, or, where a wrapper's
fraction of a microsecond counts, with :func:`by_override` on its own slow path.
"""

from __future__ import annotations

import functools
import inspect

from rushlight.tensor.dispatch import STATE, asked, call_overrides, stack
from rushlight.tensor.tensor import EXACT

_RECORDING = ("grad", "jvp")  # kinds of levels

# Types that cannot override anything, nor hold what does.
_PLAIN = EXACT | {int, float, bool, str, type(None), complex}


def by_override(function, arguments: dict):
    """The result of ``__torch_function__`` of one of the arguments; NotImplemented where none
    overrides. `arguments` maps the parameters of `function` to values, as ``locals()`` does at its
    beginning; what is passed on has those with a default as keywords."""
    found = _asked(arguments.values(), function)
    if not found:
        return NotImplemented
    required = _required(function)
    args = tuple(arguments[name] for name in required)
    names = _signature(function).parameters
    kwargs = {name: arguments[name] for name in names if name not in required}
    return call_overrides(function, found, args, kwargs)


def call_by_override(function, given, kwargs, args=None):
    """:func:`by_override` with the arguments as they are: those `given`, unless `args` are
    others."""
    found = _asked((*given, *kwargs.values()), function)
    args = tuple(given) if args is None else args
    return call_overrides(function, found, args, kwargs) if found else NotImplemented


def overridable(function=None, *, as_given: bool = False):
    """Let the arguments of a function override it. They are passed on as :func:`by_override` does,
    or in the form in which they were given."""
    if function is None:
        return functools.partial(overridable, as_given=as_given)

    @functools.wraps(function)
    def call(*args, **kwargs):
        for value in args:
            if type(value) not in _PLAIN:
                return _ask(call, function, args, kwargs, as_given)
        if kwargs:
            for value in kwargs.values():
                if type(value) not in _PLAIN:
                    return _ask(call, function, args, kwargs, as_given)
            return function(*args, **kwargs)
        return function(*args)

    return call


def _ask(call, function, args, kwargs, as_given):
    """The result of an override, or of the function where nobody overrides it."""
    values = (*args, *kwargs.values())
    may = (stack.overrides or STATE.dispatching) and any(map(_may_override, values))
    found = _asked(values, call) if may else ()
    if not found:
        return function(*args, **kwargs)
    if as_given or (bound := _bound(function, args, kwargs)) is None:
        return call_overrides(call, found, args, kwargs)
    return by_override(call, bound)


def _may_override(value):
    if type(value) in (tuple, list):
        return any(type(item) not in _PLAIN for item in value)
    return type(value) not in _PLAIN


def _nothing(function):
    return False


def _asked(values, function):
    """Who is asked of a function's arguments: not those that take part op by op, as nested and
    sparse tensors and those of function transforms do, unless they take the function whole."""
    values = tuple(values)
    found = asked(values, {})
    if not found:
        return found
    # what records gradients inside of a program that is captured comes first, op by op
    inside = any(_records(value, function) for value in values)
    return [
        item
        for item in found
        if not getattr(type(item), "_asked_by_ops", False)
        or (not inside and getattr(type(item), "takes", _nothing)(function))
    ]


def _records(value, function):
    """Whether a value records gradients, and of the ops of a function."""
    kind = getattr(getattr(value, "_level", None), "kind", None)
    return kind in _RECORDING and not type(value).takes(function)


@functools.cache
def _signature(function):
    return inspect.signature(function)


@functools.cache
def _required(function):
    """The parameters without default."""
    empty = inspect.Parameter.empty
    return tuple(n for n, p in _signature(function).parameters.items() if p.default is empty)


def _bound(function, args, kwargs):
    """The arguments by name, defaults filled in; None where they have no names."""
    signature = _signature(function)
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if any(p.kind in variadic for p in signature.parameters.values()):
        return None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)

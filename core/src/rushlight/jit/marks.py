"""Marks that steer the compiler: what it leaves to Python, what it compiles, types it cannot see.

In eager code they do nothing.
"""

from __future__ import annotations

import types
import typing


class Attribute(typing.NamedTuple):
    """A value with the type a compiler must give it."""

    value: object
    type: object


def is_scripting() -> bool:
    """Whether the code is being compiled: False, and True where the compiler reads the call."""
    return False


def _unwrap_optional(optional):
    """A value that is not None; RuntimeError where it is. Compiled code knows its type then.

    >>> rushlight.jit._unwrap_optional(2)
    2
    """
    if optional is None:
        raise RuntimeError("Unwrapping null optional")
    return optional


def ignore(drop=False, **kwargs):
    """Mark a function that the compiler leaves to Python: it is called as it is. With ``drop=True``
    it is called nowhere in compiled code (:func:`unused`).

    >>> @rushlight.jit.ignore
    ... def show(x: rushlight.Tensor) -> None:
    ...     print(x.shape)
    """
    if callable(drop):
        return _marked(drop, "ignored")
    mark = "unused" if drop else "ignored"
    return lambda fn: _marked(fn, mark)


def unused(fn):
    """Mark a function or method that compiled code does not call: a call there raises."""
    return _marked(fn, "unused")


def export(fn):
    """Mark a method that is compiled although ``forward`` does not call it."""
    return _marked(fn, "export")


def _marked(fn, mark):
    if type(fn) is property:
        _marked(fn.fget, mark)
        return fn
    fn._jit_mark = mark
    return fn


OVERLOADED: set = set()  # modules and names of functions with overloads


def _overload(func):
    """Mark one signature of several of a function, whose body follows without the mark. In eager
    code the last definition counts, as always; the compiler refuses functions with overloads."""
    OVERLOADED.add((func.__module__, func.__qualname__))
    return func


_overload_method = _overload


def annotate(the_type, the_value):
    """The value; the type is for a compiler."""
    return the_value


def isinstance(obj, target_type) -> bool:  # noqa: A001 - PyTorch's name
    """Whether a value is of a type, with the types of its elements looked at:
    ``isinstance(x, List[int])``."""
    if type(target_type) is tuple:
        return any(isinstance(obj, kind) for kind in target_type)
    origin, inner = typing.get_origin(target_type), typing.get_args(target_type)
    if target_type in (list, dict, tuple, typing.List, typing.Dict, typing.Tuple):  # noqa: UP006
        name = getattr(target_type, "__name__", str(target_type))
        raise RuntimeError(
            f"Attempted to use {name} without a contained type. Please add a contained type, "
            f"e.g. {name}[int]"
        )
    if origin in (typing.Union, types.UnionType):
        return any(isinstance(obj, kind) for kind in inner)
    if target_type is None or target_type is type(None):
        return obj is None
    if origin is None:
        return _isinstance(obj, target_type)
    if not _isinstance(obj, origin):
        return False
    if origin is dict:
        return all(isinstance(k, inner[0]) and isinstance(v, inner[1]) for k, v in obj.items())
    if origin is tuple and not (len(inner) == 2 and inner[1] is Ellipsis):
        wanted = () if inner == ((),) else inner
        return len(obj) == len(wanted) and all(map(isinstance, obj, wanted))
    return all(isinstance(item, inner[0]) for item in obj)


_isinstance = __builtins__["isinstance"] if type(__builtins__) is dict else __builtins__.isinstance

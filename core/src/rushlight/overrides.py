"""``__torch_function__`` from the caller's side: functions of one's own that honour it, and modes.

A class that defines ``__torch_function__(cls, func, types, args, kwargs)`` is asked by every
function of Rushlight that gets one of its instances. With the functions here, functions of your own
ask too.

>>> import rushlight
>>> from rushlight.overrides import handle_torch_function, has_torch_function
>>> def twice(x):
...     if has_torch_function((x,)):
...         return handle_torch_function(twice, (x,), x)
...     return 2 * x
>>> class Counted:
...     @classmethod
...     def __torch_function__(cls, func, types, args=(), kwargs=None):
...         return func.__name__
>>> twice(Counted())
'twice'
"""

from __future__ import annotations

import functools

from rushlight.refusals import rest_of
from rushlight.tensor.dispatch import Interpreter, call_overrides, overriding
from rushlight.tensor.tensor import Tensor


def has_torch_function(relevant_args) -> bool:
    """Whether one of these arguments overrides functions by ``__torch_function__``."""
    return bool(overriding(tuple(relevant_args), {}))


def has_torch_function_unary(arg) -> bool:
    """:func:`has_torch_function` of one argument."""
    return has_torch_function((arg,))


def has_torch_function_variadic(*args) -> bool:
    """:func:`has_torch_function` of the arguments themselves."""
    return has_torch_function(args)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Call ``public_api(*args, **kwargs)`` by the ``__torch_function__`` of the relevant arguments,
    subclasses first. Raises TypeError where all of them decline."""
    found = overriding(tuple(relevant_args), {})
    if not found:
        raise TypeError(
            f"handle_torch_function(): no argument of '{_name(public_api)}' implements "
            "__torch_function__; ask has_torch_function() first"
        )
    return call_overrides(public_api, found, args, kwargs)


def wrap_torch_function(dispatcher):
    """A decorator for functions of one's own: `dispatcher`, called with the same arguments, returns
    those that may override it."""

    def decorate(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(call, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return call

    return decorate


def is_tensor_like(inp) -> bool:
    """Whether something is a tensor or takes a tensor's part by ``__torch_function__``."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def resolve_name(f) -> str | None:
    """A readable name of a function or method, such as ``torch.add`` or ``torch.Tensor.add``."""
    if isinstance(f, property):
        f = f.fget
    name, module = getattr(f, "__qualname__", None), getattr(f, "__module__", None) or "rushlight"
    if name is None:
        return None
    short = getattr(f, "__name__", "")
    if getattr(Tensor, short, None) is f:
        return f"rushlight.Tensor.{short}"
    return f"{'rushlight' if module.startswith('rushlight.ops') else module}.{name}"


def _name(function) -> str:
    return getattr(function, "__name__", repr(function))


class TorchFunctionMode(Interpreter):
    """A mode: inside of ``with``, every function of this thread goes through its
    ``__torch_function__(func, types, args, kwargs)``, whatever its arguments are. While that runs
    the mode is off, so that it can call ``func(*args, **kwargs)``."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(
            f"{type(self).__name__} has to define __torch_function__(self, func, types, args, "
            "kwargs)"
        )

    def process(self, function, types, args, kwargs):
        """What the dispatcher calls."""
        return self.__torch_function__(function, types, args, kwargs or {})


__all__ = [
    "TorchFunctionMode",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "resolve_name",
    "wrap_torch_function",
]

__getattr__ = rest_of(__name__)

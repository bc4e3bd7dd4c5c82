"""Methods of classes that define ``__torch_function__``.

An op of the table asks the classes of its arguments by itself, at no cost to plain tensors. What
:class:`~rushlight.Tensor` has beside, its properties, conversions and writes, does not look: a
class with a ``__torch_function__`` of its own gets forms of these that ask, when it is defined.
"""

from __future__ import annotations

import functools

from rushlight.autograd.later import later
from rushlight.tensor import dispatch
from rushlight.tensor.dispatch import call_overrides, overriding, stack

# Special methods that ask. Operators are among them where PyTorch names the method, not the op.
SPECIAL = frozenset(
    "__and__ __array__ __array_wrap__ __bool__ __complex__ __contains__ __deepcopy__ __dlpack__ "
    "__dlpack_device__ __eq__ __float__ __floordiv__ __format__ __getitem__ __iand__ __idiv__ "
    "__ilshift__ __index__ __int__ __invert__ __ior__ __irshift__ __itruediv__ __ixor__ __len__ "
    "__lshift__ __or__ __rdiv__ __reduce_ex__ __repr__ __reversed__ __rfloordiv__ __rlshift__ "
    "__rmatmul__ __rmod__ __rpow__ __rrshift__ __rshift__ __rsub__ __rtruediv__ __setitem__ "
    "__truediv__ __xor__".split()
)
_REFLECTED = frozenset(
    "__radd__ __rand__ __rdiv__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rmul__ __ror__ "
    "__rpow__ __rrshift__ __rsub__ __rtruediv__ __rxor__".split()
)
# What every class has of its own.
_OF_A_CLASS = frozenset("__module__ __doc__ __slots__ __qualname__ __firstlineno__".split())
_PRIVATE = {"_is_view", "_version", "_backward_hooks"}
_UNASKED = {"as_subclass", "typed_storage"}
# Methods of which another one is named to the class.
_NAMED = {
    "__idiv__": "div_",
    "__itruediv__": "div_",
    "__rtruediv__": "__rdiv__",
    "__truediv__": "div",
    "ndimension": "dim",
    "nelement": "numel",
}


def install(cls, base) -> None:
    """Give the new class `cls` the methods of `base`, the class Tensor, that ask. Classes of this
    package see to their methods themselves."""
    lower = base
    if cls.__torch_dispatch__ is not base.__torch_dispatch__:
        lower = later("dispatching_methods").Dispatching
        cls._dispatches = dispatch.STATE.dispatching = True
        if getattr(cls.__torch_function__, "__func__", None) is base.__torch_function__.__func__:
            cls.__torch_function__ = staticmethod(dispatch._disabled)  # results are its own matter
        _set(cls, base, {k: v for k, v in vars(lower).items() if k not in _OF_A_CLASS})
    handler = cls.__torch_function__
    if handler is dispatch._disabled or cls.__module__.partition(".")[0] == "rushlight":
        return
    if getattr(handler, "__func__", None) is base.__torch_function__.__func__:
        return
    _set(cls, base, _forms(base, lower), vars(lower))


def _set(cls, base, forms, replaced=()):
    """Set the methods `forms` where the class has those of `base`, or the ones `replaced`."""
    for name, form in forms.items():
        found = next((owner for owner in cls.__mro__ if name in owner.__dict__), base)
        if found is base or name in replaced and found.__dict__[name] is replaced[name]:
            setattr(cls, name, form)


@functools.cache
def _forms(base, lower) -> dict:
    """By name, what asks instead of a method or property of `base`; those of `lower` run where
    nobody answers."""
    forms = {}
    for name, value in vars(base).items():
        if isinstance(value, property):
            if not name.startswith("_") or name in _PRIVATE:
                forms[name] = _property(value)
        elif _asks_by(name, value):
            forms[name] = _method(base, lower, name)
    return forms


def _asks_by(name, value) -> bool:
    """Whether it is a method that needs a form that asks: what has a ``__get__`` and is no op."""
    if name.startswith("_"):
        return name in SPECIAL or name in _PRIVATE or name in _REFLECTED
    method = hasattr(value, "__get__") and not isinstance(value, type)
    return method and not hasattr(value, "op") and name not in _UNASKED


def _asked(named, function, args, kwargs):
    """What the classes of the arguments answer about `named`, else the result of `function`."""
    found = overriding(args, kwargs) if stack.overrides else ()
    return call_overrides(named, found, args, kwargs) if found else function(*args, **kwargs)


def _method(base, lower, name):
    """The method `name`, looked up at each call: those of rare families are loaded late."""
    named = _NAMED.get(name, name)
    # Python asks a reflected operator first where the class on the right has its own, as it has
    # this form: of two tensors the other operator is asked all the same
    forward = "__" + name[3:] if name in _REFLECTED else None

    def method(*args, **kwargs):
        if forward is not None and isinstance(args[1], base):
            return getattr(type(args[0]), forward)(args[1], args[0])
        return _asked(getattr(base, named), getattr(lower, name), args, kwargs)

    method.__name__ = name
    return method


def _property(plain):
    get, put, remove = plain.__get__, plain.__set__, plain.__delete__

    return property(
        lambda self: _asked(get, get, (self,), {}),
        None if plain.fset is None else lambda self, value: _asked(put, put, (self, value), {}),
        None if plain.fdel is None else lambda self: _asked(remove, remove, (self,), {}),
        plain.__doc__,
    )

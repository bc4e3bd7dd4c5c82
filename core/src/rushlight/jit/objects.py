"""The Python classes behind the classes of a program: objects, named tuples, enums, modules."""

from __future__ import annotations

import collections
import enum

from rushlight.jit.kinds import ClassType


class ScriptObject:
    """An object of a class of a program."""

    _script_type: ClassType

    def __repr__(self):
        return f"<object of {self._script_type}>"


class MethodOf:
    """A method of a class, compiled when it is first asked for. As an attribute of an object it is
    called with checks; ``_run_name`` is the code without them."""

    def __init__(self, kind, name):
        self.kind, self.name = kind, name

    @property
    def function(self):
        """The function in the intermediate form."""
        return self.kind.scope[0].method(self.kind, self.name)

    def __get__(self, owner, kind=None):
        if owner is None:
            return self
        from rushlight.jit.callables import ScriptMethod

        return ScriptMethod(owner, self.function)


class CodeOf(MethodOf):
    """The code of a method, for calls from code."""

    def __get__(self, owner, kind=None):
        if owner is None:
            return self
        return self.function.code.__get__(owner)


def python_class(kind, methods, base=None):
    """The Python class of the objects of a :class:`ClassType`; of modules a subclass of `base`, by
    default of RecursiveScriptModule."""
    name = kind.text.rpartition(".")[2]
    if kind.kind == "tuple":
        fields = list(kind.attributes)
        defaults = [kind.constants[f] for f in fields if f in kind.constants]
        made = collections.namedtuple(name, fields, defaults=defaults)  # noqa: PYI024
        made._script_type = kind
        return made
    if kind.kind == "enum":
        made = enum.Enum(name, kind.constants)
        for value in list(kind.constants.values())[:1]:
            kind.attributes["__value__"] = _value_type(value)
        made._script_type = kind
        return made
    if kind.kind == "interface":
        return None
    return _with_methods(kind, name, methods, base)


def _value_type(value):
    from rushlight.jit.kinds import of_value

    return of_value(value)


def _with_methods(kind, name, methods, base):
    hidden = ("__parameters__", "__buffers__", "__weights__")
    space: dict = {n: v for n, v in kind.constants.items() if n not in hidden}
    space |= {"_script_type": kind, "__module__": "rushlight.jit"}
    for method in methods:
        space["_run_" + method] = CodeOf(kind, method)
        space[method] = MethodOf(kind, method)
    if kind.kind == "module":
        from rushlight.jit.modules import RecursiveScriptModule

        space["original_name"] = name
        base = RecursiveScriptModule if base is None else base
        return type(base.__name__, (base,), space)
    if "__init__" in space:
        space["__init__"] = _initialize
    return type(name, (ScriptObject,), space)


def _initialize(self, *args, **kwargs):
    """Run the compiled ``__init__``."""
    from rushlight.jit.callables import ScriptMethod

    kind = self._script_type
    ScriptMethod(self, kind.scope[0].method(kind, "__init__"))(*args, **kwargs)


def script_modules():
    """The class of compiled modules."""
    from rushlight.jit.modules import ScriptModule

    return ScriptModule

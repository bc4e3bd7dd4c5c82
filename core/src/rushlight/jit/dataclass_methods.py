"""The methods that Python writes into dataclasses, with a source that can be compiled."""

from __future__ import annotations

import dataclasses
import inspect
import sys
import typing

from rushlight.machine.generated_python import function_of


def is_written(python, name: str) -> bool:
    """Whether a method of a class was written by `dataclasses`, and has no source of its own."""
    found = inspect.unwrap(vars(python).get(name, object))
    code = getattr(found, "__code__", None)
    return dataclasses.is_dataclass(python) and code is not None and code.co_filename == "<string>"


def with_source(python, name: str):
    """``__init__`` or ``__eq__`` of a dataclass as a function with a source; None for the rest,
    which scripted programs have no use for."""
    text, values = {"__init__": _init, "__eq__": _eq}.get(name, _nothing)(python)
    if text is None:
        return None
    space = dict(vars(sys.modules[python.__module__])) | values
    made = function_of(text, name, f"{name} of the dataclass {python.__qualname__}", space)
    made.__module__, made.__qualname__ = python.__module__, f"{python.__qualname__}.{name}"
    return made


def _nothing(python):
    return None, {}


def _init(python):
    """The text of ``__init__``; types and defaults are among its globals."""
    parameters, body, values = ["self"], [], {}
    types = typing.get_type_hints(python)
    for field in dataclasses.fields(python):
        if field.default_factory is not dataclasses.MISSING:
            raise NotImplementedError(
                f"jit.script: the field {field.name} of the dataclass {python.__name__} has a "
                "default_factory; write __init__ and make the value there"
            )
        values[f"_type_{field.name}"] = types[field.name]
        default = ""
        if field.default is not dataclasses.MISSING:
            values[f"_default_{field.name}"] = field.default
            default = f" = _default_{field.name}"
        if field.init:
            parameters.append(f"{field.name}: _type_{field.name}{default}")
        body.append(f"    self.{field.name} = {field.name if field.init else default[3:]}")
    if hasattr(python, "__post_init__"):
        body.append("    self.__post_init__()")
    text = f"def __init__({', '.join(parameters)}):\n" + "\n".join(body or ["    pass"])
    return text, values


def _eq(python):
    """The text of ``__eq__``: all fields are equal."""
    names = [field.name for field in dataclasses.fields(python) if field.compare]
    equal = " and ".join(f"self.{n} == other.{n}" for n in names) or "True"
    own = {"_own_class": python}
    return f"def __eq__(self, other: _own_class) -> bool:\n    return {equal}", own

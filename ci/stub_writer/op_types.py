"""Types that declarations of ops cannot say, and those of functions of other modules that have no
annotations, from op_types.txt."""

from __future__ import annotations

import functools
from pathlib import Path

_FILE = Path(__file__).with_name("op_types.txt")
# What is described by its name alone; the rest by module and name.
_HOMES = ("rushlight.ops.", "rushlight.nn.native_calls")


@functools.cache
def _table() -> dict[tuple[str, str], str]:
    """Types by function and parameter."""
    found = {}
    for line in _FILE.read_text().splitlines():
        if line and not line.startswith("#"):
            named, _, kind = line.partition(": ")
            functions, _, parameter = named.rpartition(".")
            found.update({(function, parameter): kind for function in functions.split()})
    return found


def type_of(function, parameter: str) -> str | None:
    """The type of a function's parameter, or of its result for ``"return"``; None where the table
    says nothing. A call in place has the types of the function without underscore."""
    table = _table()
    if not is_by_name(function):
        found = (table.get((name, parameter)) for name in _names(function))
        return next((kind for kind in found if kind is not None), None)
    name = name_of(function)
    return table.get((name, parameter)) or table.get((name.rstrip("_"), parameter))


def keys() -> list[tuple[str, str]]:
    """Function and parameter of every entry."""
    return list(_table())


def is_by_name(function) -> bool:
    """Whether the table describes a function by its name alone: an op, or a function beside ops."""
    return _op_of(function) is not None or str(getattr(function, "__module__", "")).startswith(
        _HOMES
    )


def name_of(function) -> str:
    """The name of such a function in the table, of a call in place with its underscore."""
    op = _op_of(function)
    return getattr(function, "__name__", "") if op is None else op.name


def _op_of(function):
    return None if isinstance(function, type) else getattr(function, "op", None)


def _names(function):
    """What a function is called in the table: a class by itself or by what makes instances, an
    object by the method that a call of it runs."""
    if not isinstance(function, type) and not hasattr(function, "__qualname__"):
        function = type(function).__call__
    yield f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
    if isinstance(function, type):
        for maker in (function.__new__, function.__init__):
            yield f"{getattr(maker, '__module__', '')}.{maker.__qualname__}"

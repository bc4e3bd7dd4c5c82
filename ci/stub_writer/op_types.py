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
    op = None if isinstance(function, type) else getattr(function, "op", None)
    table = _table()
    home = str(getattr(function, "__module__", ""))
    if op is None and not home.startswith(_HOMES):
        return table.get((f"{home}.{getattr(function, '__qualname__', '')}", parameter))
    name = getattr(function, "__name__", "") if op is None else op.name
    return table.get((name, parameter)) or table.get((name.rstrip("_"), parameter))

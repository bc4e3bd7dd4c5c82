"""Names in graphs and generated code: of nodes, of functions, of types."""

from __future__ import annotations

import builtins
import importlib
import keyword
import math
import re
import types
import typing

import rushlight

# Names that generated code may use without binding them, and how a program gets them.
CUSTOM_BUILTINS = {
    "inf": ("from math import inf", math.inf),
    "nan": ("from math import nan", math.nan),
    "NoneType": ("NoneType = type(None)", type(None)),
    "rushlight": ("import rushlight", rushlight),
    "torch": ("import rushlight as torch", rushlight),
    "device": ("from rushlight import device", rushlight.device),
}
LAZY_BUILTINS = {  # modules that need not be loaded to know their names
    "fx_pytree": ("import rushlight.fx._pytree as fx_pytree", "rushlight.fx._pytree"),
    "pytree": ("import rushlight.utils._pytree as pytree", "rushlight.utils._pytree"),
}
# Where a public function may stand; the first module that has it names it.
_HOMES = (
    "rushlight", "rushlight.nn.functional", "rushlight.linalg", "rushlight.special",
    "rushlight.fft", "rushlight.functional", "rushlight.nested", "rushlight.sparse",
    "rushlight.signal.windows", "rushlight.masked",
)  # fmt: skip


def builtin_values() -> dict:
    """The values of the names that generated code uses without binding them."""
    values = {name: value for name, (_, value) in CUSTOM_BUILTINS.items()}
    return values | {
        name: importlib.import_module(module) for name, (_, module) in LAZY_BUILTINS.items()
    }


def import_line(name: str, value) -> str:
    """The line that binds `name` to a global `value` of generated code."""
    for table in (CUSTOM_BUILTINS, LAZY_BUILTINS):
        if name in table:
            return table[name][0]
    if isinstance(value, types.ModuleType):
        return f"import {value.__name__} as {name}"
    home, _, attribute = _importable(value).rpartition(".")
    return f"from {home} import {attribute} as {name}"


def _importable(value):
    if getattr(value, "__module__", None) == "builtins":
        return f"builtins.{value.__name__}"
    return qualified_name(value)


def qualified_name(function) -> str:
    """Where a program finds a function or class, such as ``rushlight.nn.functional.gelu``."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    if name is None:
        raise NotImplementedError(f"cannot name {function!r}: give the graph a function instead")
    if module == "builtins" and getattr(builtins, name, None) is function:
        return name
    if (module or "rushlight").split(".")[0] == "rushlight":
        return public_name(function, name) or f"{module}.{name}"
    return f"{module}.{name}"


def public_name(function, name) -> str | None:
    """The name by which users call a function; None for one that has none, such as a method."""
    aliases = getattr(getattr(function, "op", None), "aliases", None) or ()
    names = [name, *aliases, name.lstrip("_"), name.rpartition("_")[2]]
    names = [each for each in dict.fromkeys(names) if each.isidentifier()]
    for home in _HOMES if names else ():  # ``aten.add.Tensor`` is no attribute of any
        owner = importlib.import_module(home)
        for each in names:
            if getattr(owner, each, None) is function:
                return f"{home}.{each}"
    return None


def type_name(kind) -> str:
    """A type as it is written, such as ``typing.List[int]``."""
    if isinstance(kind, type) and not typing.get_args(kind):
        return kind.__name__ if kind.__module__ == "builtins" else qualified_name(kind)
    return repr(kind)


def snake_case(name: str) -> str:
    """``MaxPool2d`` as ``max_pool2d``."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower()


class Namespace:
    """Gives out names, each once: ``relu``, ``relu_1``, ``relu_2``; those of Python and of what
    generated code needs are never free."""

    def __init__(self):
        self._names = {}  # of an object
        self._used: set[str] = set()
        self._counts: dict[str, int] = {}

    def create_name(self, candidate: str, obj=None) -> str:
        """A free identifier like `candidate`; the same one again for the same `obj`."""
        if obj is not None and id(obj) in self._names:
            return self._names[id(obj)][0]
        candidate = re.sub("[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = "_" + candidate
        numbered = re.fullmatch(r"(.*)_(\d+)", candidate)
        base, number = (numbered[1], int(numbered[2])) if numbered else (candidate, None)
        if number is None:
            number = self._counts.get(base, 0)
        elif candidate not in self._used:
            candidate = f"{base}_{number}"
        while candidate in self._used or _is_taken(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._used.add(candidate)
        self._counts[base] = number
        if obj is not None:
            self._names[id(obj)] = candidate, obj  # kept, so that its id stays its own
        return candidate

    def associate(self, name: str, obj) -> None:
        """Reserve `name` for `obj`."""
        self._used.add(name)
        self._names[id(obj)] = name, obj


def _is_taken(name, obj):
    if keyword.iskeyword(name) or name in LAZY_BUILTINS:
        return True
    if name in builtins.__dict__:
        return obj is not builtins.__dict__[name]
    return name in CUSTOM_BUILTINS and obj is not CUSTOM_BUILTINS[name][1]

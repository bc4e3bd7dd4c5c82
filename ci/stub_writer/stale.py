"""Entries of by_hand.txt and op_types.txt that say something of a name that is there no more."""

from __future__ import annotations

import functools
import importlib
import inspect

from stub_writer import by_hand, functions, modules, op_types

# What a function has without naming it: its result, and what ops write into.
_ADDED = ("return", "out")


def entries() -> list[str]:
    """``file: entry`` of every entry that matches no class, function or parameter."""
    of_classes = [f"by_hand.txt: {name}" for name in by_hand.keys() if _resolved(name) is None]
    of_types = [
        f"op_types.txt: {function}.{parameter}"
        for function, parameter in op_types.keys()
        if not any(parameter in _ADDED or parameter in _names(v) for v in _described(function))
    ]
    return of_classes + of_types


def _described(name: str) -> list:
    """What an entry of op_types.txt describes: by module and name, or as an op in every form."""
    if "." not in name:
        return _ops().get(name, []) + _ops().get(name + "_", [])
    found = _resolved(name)
    return [] if found is None else [found]


def _names(value) -> set[str]:
    """The parameters of a function, or of what makes a class's objects, ATen's names included."""
    if isinstance(value, type):
        told = {p.name for p in functions.parameters(value)}
        return told | _names(value.__new__) | _names(value.__init__)
    of_schemas = {a.name for s in functions.schemas_of(value) for a in s.arguments}
    return of_schemas | {p.name for p in functions.parameters(value)}


def _resolved(name: str):
    """The object of a dotted name, None where there is none."""
    home, inner = name, []
    while "." in home:
        home, _, last = home.rpartition(".")
        inner.insert(0, last)
        try:
            found = importlib.import_module(home)
        except ModuleNotFoundError:
            continue
        try:
            return functools.reduce(inspect.getattr_static, inner, found)
        except AttributeError:
            return None
    return None


@functools.cache
def _ops() -> dict[str, list]:
    """The functions that op_types.txt describes by name alone: ops, and methods of tensors."""
    found: dict[str, list] = {}
    for value in _public():
        if callable(value) and op_types.is_by_name(value):
            found.setdefault(op_types.name_of(value), []).append(value)
    return found


def _public():
    """Every attribute of Tensor and every public name of a module."""
    tensor = importlib.import_module("rushlight").Tensor
    yield from (getattr(tensor, name) for name in dir(tensor))
    for name in modules.public_modules("rushlight"):
        home = importlib.import_module(name)
        yield from (getattr(home, public) for public in modules.public_names(home))

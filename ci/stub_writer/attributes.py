"""What objects of a class have besides its methods: the attributes that its methods assign to, with
the types that the assignments show."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import sys
from pathlib import Path

from stub_writer import by_hand, functions

# What makes a value, by the name that is called.
_MADE = {
    "Parameter": "Parameter", "dict": "dict[Any, Any]", "list": "list[Any]", "set": "set[Any]",
    "tuple": "tuple[Any, ...]", "bool": "bool", "int": "int", "float": "float", "str": "str",
}  # fmt: skip
_DISPLAYS = {ast.Dict: "dict[Any, Any]", ast.List: "list[Any]", ast.Set: "set[Any]"}


def lines_of(cls, written) -> list[str]:
    """``name: type`` of the public attributes that no base class has already."""
    inherited = set(dir(cls))
    for base in cls.__mro__[1:]:
        inherited |= _assigned(base).keys() | by_hand.names_of(by_hand.lines_of(base))
    known = _parameter_types(cls, written)
    found = {n: _type(values, known) for n, values in _assigned(cls).items() if n not in inherited}
    if any(base.__name__ == "Distribution" for base in cls.__mro__):  # whose numbers become tensors
        of_tensors = {name for name, kind in known.items() if kind.startswith("Tensor")}
        found.update(dict.fromkeys(of_tensors & found.keys(), "Tensor"))
    found.update(_fields(cls, known, inherited | found.keys()))
    return [f"{name}: {kind}" for name, kind in found.items()]


def _fields(cls, known: dict[str, str], others: set[str]) -> dict[str, str]:
    """The public fields of a data class that have no default, which would stand in the class."""
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    names = [field.name for field in fields if not field.name.startswith("_")]
    return {name: known.get(name, "Any") for name in names if name not in others}


def has(cls, name: str) -> bool:
    """Whether a class assigns to an attribute of its objects."""
    return name in _assigned(cls)


@functools.cache
def _tree(module: str) -> dict[str, ast.ClassDef]:
    """The classes of a module's source."""
    source = getattr(sys.modules.get(module), "__file__", None)
    if not str(source).endswith(".py"):
        return {}
    body = ast.parse(Path(source).read_text()).body
    return {node.name: node for node in body if isinstance(node, ast.ClassDef)}


@functools.cache
def _assigned(cls) -> dict[str, list[ast.expr | None]]:
    """The values given to ``self.name`` in the constructor of a class, by public name; None for
    what other methods give, and for what is not a value by itself."""
    found: dict[str, list[ast.expr | None]] = {}
    if not cls.__module__.startswith("rushlight") or cls.__qualname__ != cls.__name__:
        return found
    node = _tree(cls.__module__).get(cls.__name__)
    for method in node.body if node is not None else ():
        if isinstance(method, ast.FunctionDef) and method.args.args:
            me, is_maker = method.args.args[0].arg, method.name == "__init__"
            for name, value in _assignments(method, me):
                found.setdefault(name, []).append(value if is_maker or _is_unset(value) else None)
    return found


def _assignments(method, me):
    """``name, value`` of every assignment to a public attribute of the object itself."""
    rebound = {n.id for n in ast.walk(method) if isinstance(n, ast.Name) and _is_stored(n)}
    for node in ast.walk(method):
        targets = node.targets if isinstance(node, ast.Assign) else ()
        if isinstance(node, ast.AnnAssign):
            targets = (node.target,)
        for target in targets:
            for each, value in _pairs(target, node.value):
                is_own = isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name)
                if is_own and each.value.id == me and not each.attr.startswith("_"):
                    is_open = isinstance(value, ast.Name) and value.id in rebound
                    yield each.attr, None if is_open else value


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _pairs(target, value):
    """The targets of an assignment with their values, those of ``a, b = c, d`` one by one."""
    if not isinstance(target, ast.Tuple):
        yield target, value
    elif isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
        yield from zip(target.elts, value.elts, strict=True)
    else:
        yield from ((each, None) for each in target.elts)


def _parameter_types(cls, written) -> dict[str, str]:
    """The types of the constructor's parameters."""
    maker = vars(cls).get("__init__")
    if not inspect.isfunction(maker):
        return {}
    line = functions.by_signature("made", maker, written, method=True, of_tensors=False)
    made = ast.parse(line).body[0]
    assert isinstance(made, ast.FunctionDef)
    given = [*made.args.posonlyargs, *made.args.args, *made.args.kwonlyargs]
    return {a.arg: ast.unparse(a.annotation) for a in given if a.annotation is not None}


def _type(values, known) -> str:
    """The type that the constructor's values have; Any where they differ, do not say it, or may be
    None later."""
    kinds = {_type_of(value, known) for value in values if value is not None}
    return kinds.pop() if len(kinds) == 1 else "Any"


def _is_unset(value) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _type_of(value, known) -> str:
    if isinstance(value, ast.Name):
        return known.get(value.id, "Any")
    if isinstance(value, ast.Constant) and isinstance(value.value, (bool, int, float, str)):
        return type(value.value).__name__
    if isinstance(value, ast.Call):
        called = value.func.attr if isinstance(value.func, ast.Attribute) else None
        if isinstance(value.func, ast.Name):
            called = value.func.id
        return _MADE.get(str(called), "Any")
    return _DISPLAYS.get(type(value), "Any")

"""Signatures with types and defaults: those of the stubs (ci/stub_writer), Python's defaults."""

from __future__ import annotations

import ast
import enum
import inspect
import re
import sys
import types
import typing
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "ci"))

from stub_writer import functions, op_types
from stub_writer.hints import Written

from rushlight.nn import Module

_NUMBERED = re.compile(r"<([\w.]+)[^>]*>")
_OF_TENSORS = ("rushlight.ops", "rushlight.nn.functional", "rushlight.nn.native_calls")


@dataclass
class Parameter:
    """One parameter; `default` is its text, or None where it has to be given."""

    name: str
    type: str
    default: str | None


@dataclass
class Signature:
    """What a function takes and gives; `lines` are its overloads as Python text."""

    lines: list
    parameters: list
    returns: str
    may_be_any: bool = False  # a result that its own annotation calls Any

    @property
    def is_typed(self):
        """Whether every type is known."""
        kinds = [p.type for p in self.parameters if not p.name.startswith("*")]
        return (self.returns != "Any" or self.may_be_any) and "Any" not in kinds


class _Named(Written):
    """Annotations as text; classes of other libraries by their names."""

    def _of_others(self, module, name):
        return "Any" if "<" in name else name


def signature_of(name, value, method=False) -> Signature:
    """The signature of a function or method, or of the constructor of a class."""
    written, schemas = _Named(), []
    if isinstance(value, types.GenericAlias):
        return Signature([f"{name} = {written.text(value)}"], [], written.text(value))
    if isinstance(value, typing._SpecialForm):
        return Signature([f"{name}[type]"], [], name)
    if isinstance(value, Module):  # a call runs it
        value, method = value.forward.__func__, True
    if isinstance(value, type):
        texts = [_constructor(name, value, written)]
    else:
        schemas = functions.schemas_of(value)
        gives = "Tensor" if str(getattr(value, "__module__", "")).startswith(_OF_TENSORS) else None
        texts = (
            functions.by_schemas(name, value, schemas, written, method)
            if schemas
            else [functions.by_signature(name, value, written, method, gives=gives)]
        )
    defaults, found = {**_of_schemas(schemas), **_defaults(value)}, {}
    trees = [ast.parse(text).body[0] for text in texts if text.startswith("def ")]
    lines = [_line(name, tree, defaults) for tree in trees]
    for tree in trees:
        for parameter in [*_parameters(tree, defaults)][int(method) :]:
            found.setdefault(parameter.name, parameter)
    returns = " or ".join(dict.fromkeys(ast.unparse(t.returns) for t in trees if t.returns))
    if isinstance(value, type):
        lines, returns = [line.partition(" -> ")[0] for line in lines], name
    told = op_types.type_of(value, "return") or functions.hints_of(value).get("return")
    may_be_any = told in ("Any", typing.Any)
    return Signature(list(dict.fromkeys(lines)), list(found.values()), returns, may_be_any)


def _constructor(name, value, written):
    """The constructor as a function; enumerations are not made by calls."""
    if issubclass(value, enum.Enum):
        return f"def {name}() -> {name}: ..."
    try:
        inspect.signature(value)
    except (TypeError, ValueError):
        return f"def {name}(*args, **kwargs) -> Any: ..."
    init = value.__init__
    if not inspect.isfunction(init) or len(inspect.signature(init).parameters) - 1 != len(
        inspect.signature(value).parameters
    ):
        return functions.by_signature(name, value, written, of_tensors=False)
    text = functions.by_signature(name, init, written, True, of_tensors=False)
    return re.sub(r"\(self(, )?", "(", text, count=1)


def _of_schemas(schemas):
    return {
        a.name: _text(a.default)
        for schema in schemas
        for a in schema.arguments
        if a.default is not functions.REQUIRED
    }


def _defaults(value):
    return {
        p.name: _text(p.default)
        for p in functions.parameters(value)
        if p.default is not inspect.Parameter.empty
    }


def _text(default):
    """A default as Python text, without addresses."""
    if type(default) is object:
        return "..."
    text = repr(default)
    found = _NUMBERED.fullmatch(text)
    text = getattr(default, "__name__", found[1]) if found else text
    return text if len(text) < 60 and "\n" not in text else "..."


def _each(tree):
    """``(argument, stars, has a default)`` of a function, in order."""
    given = tree.args
    plain = [*given.posonlyargs, *given.args]
    first = len(plain) - len(given.defaults)
    yield from ((a, "", i >= first) for i, a in enumerate(plain))
    if given.vararg:
        yield given.vararg, "*", False
    yield from (
        (a, "", d is not None) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    )
    if given.kwarg:
        yield given.kwarg, "**", False


def _parameters(tree, defaults):
    for argument, stars, optional in _each(tree):
        kind = "Any" if argument.annotation is None else ast.unparse(argument.annotation)
        default = defaults.get(argument.arg, "...") if optional else None
        yield Parameter(stars + argument.arg, kind, default)


def _line(name, tree, defaults):
    """An overload as one text; the star before keywords is where it was."""
    words = []
    for argument, stars, optional in _each(tree):
        if argument in tree.args.kwonlyargs[:1] and tree.args.vararg is None:
            words.append("*")
        kind = "" if argument.annotation is None else f": {ast.unparse(argument.annotation)}"
        default = f" = {defaults.get(argument.arg, '...')}" if optional else ""
        words.append(f"{stars}{argument.arg}{kind}{default}")
        if argument in tree.args.posonlyargs[-1:]:
            words.append("/")
    returns = f" -> {ast.unparse(tree.returns)}" if tree.returns else ""
    text = f"{name}({', '.join(words)}){returns}"
    if len(text) <= 96:
        return text
    return f"{name}(\n" + "".join(f"    {word},\n" for word in words) + f"){returns}"

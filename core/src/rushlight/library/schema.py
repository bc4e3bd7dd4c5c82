"""Schemas of operators: the types and defaults of their arguments, and what they return.

A schema is written as PyTorch writes it, ``(Tensor x, float scale=1.0) -> Tensor``, or inferred
from the annotations of a Python function. ``Tensor(a!)`` marks an argument that is written to.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import types
import typing
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rushlight import devices, dtypes
from rushlight.tensor.results import NAMED
from rushlight.tensor.tensor import Tensor

REQUIRED = inspect.Parameter.empty
_SCALAR = {int, float, bool}
_NAMES = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    dtypes.dtype: "ScalarType",
    devices.device: "Device",
}
_PYTHON = {
    "Tensor": Tensor,
    "int": int,
    "SymInt": int,
    "float": (int, float),
    "Scalar": (int, float, complex),
    "number": (int, float, complex),
    "bool": bool,
    "str": str,
    "ScalarType": dtypes.dtype,
}
_TYPES = {*_PYTHON, "Device", "Dimname", "Generator", "Layout", "MemoryFormat", "QScheme",
          "Storage", "Stream", "complex"}  # fmt: skip
_LISTED = {"Tensor", "Tensor?", "SymInt", "float", "bool", "Scalar"}
_ARGUMENT = re.compile(
    r"(?P<type>\w+)(\((?P<alias>\$?\w+!?)( -> \*?)?\))?(?P<rest>(\?|\[\d*\])*)"
    r" +(?P<name>\w+)(=(?P<default>.*))?$"
)


@dataclass(frozen=True)
class Argument:
    """One argument of a schema; `type` is the base name, `shape` what follows: ``[]``, ``?``."""

    name: str
    type: str
    shape: str = ""
    default: Any = REQUIRED
    alias: str = ""
    keyword_only: bool = False

    @property
    def is_write(self) -> bool:
        """Whether the operator writes to it."""
        return self.alias.endswith("!")

    @property
    def kwarg_only(self) -> bool:
        """Whether it is given by name only."""
        return self.keyword_only

    @property
    def default_value(self):
        """Its default; None where there is none."""
        return None if self.default is REQUIRED else self.default

    def has_default_value(self) -> bool:
        """Whether it may be left out."""
        return self.default is not REQUIRED

    @property
    def is_tensor_list(self) -> bool:
        """Whether it is a list of tensors."""
        return self.type == "Tensor" and "[" in self.shape

    def __str__(self):
        return self.written(_as_pytorch)

    def written(self, number):
        """The argument as text; ``number(value)`` is that of a float."""
        arrow = " -> " if self.alias.startswith("$") else ""
        text = self.type + (f"({self.alias}{arrow})" if self.alias else "") + self.shape
        if self.default is REQUIRED:
            return f"{text} {self.name}"
        return f"{text} {self.name}={self._default(number)}"

    def _default(self, number):
        value = self.default
        if isinstance(value, str | devices.device):
            return f'"{value}"'
        if isinstance(value, dtypes.dtype):
            return str(value).rpartition(".")[2]
        if isinstance(value, float):
            return number(value)
        if self.shape == "[1]" and isinstance(value, int):
            return f"[{value}]"
        return str(list(value) if isinstance(value, tuple) else value)


def _as_pytorch(value):
    """A float with all its digits, and a point."""
    text = format(value, ".17g")
    return text if re.search("[.en]", text) else text + "."


@dataclass(frozen=True)
class Schema:
    """Name, arguments and returned types of an operator; names of several results, if any has
    one."""

    name: str
    arguments: tuple[Argument, ...]
    returns: tuple[str, ...]
    overload: str = ""
    result_names: tuple[str, ...] = ()

    @property
    def overload_name(self) -> str:
        """Which of the operators of its name it is; empty for the default."""
        return self.overload

    @property
    def is_mutable(self) -> bool:
        """Whether an argument is written to."""
        return any(a.is_write for a in self.arguments)

    def __str__(self):
        return self.written(_as_pytorch)

    def written(self, number):
        """The schema as text; ``number(value)`` is that of a float among the defaults."""
        words, starred = [], False
        for argument in self.arguments:
            if argument.keyword_only and not starred:
                words.append("*")
                starred = True
            words.append(argument.written(number))
        if any("(a)[]" in kind for kind in self.returns):  # several results are views
            words = [word.replace("Tensor(a) ", "Tensor(a -> *) ") for word in words]
        several, names = len(self.returns) != 1, self._names()
        returns = ", ".join(f"{r} {n}".rstrip() for r, n in zip(self.returns, names, strict=True))
        if several:
            returns = f"({returns})"
        name = self.name + ("." + self.overload if self.overload else "")
        return f"{name}({', '.join(words)}) -> {returns}"

    def _names(self):
        """What the results are called, the empty text for those without a name."""
        fields = getattr(NAMED.get(self.name.removeprefix("aten::")), "_fields", ())
        known = self.result_names or fields
        return known if len(known) == len(self.returns) > 1 else ("",) * len(self.returns)

    def bind(self, args, kwargs):
        """Values of all arguments in order, defaults filled in; RuntimeError where they do not
        fit."""
        positional = [a for a in self.arguments if not a.keyword_only]
        if len(args) > len(positional):
            raise RuntimeError(
                f"{self.name}() expected at most {len(positional)} argument(s) but received "
                f"{len(args)} argument(s). Declaration: {self}"
            )
        values = list(args)
        for argument in self.arguments[len(args) :]:
            value = kwargs.pop(argument.name, argument.default)
            if value is REQUIRED:
                raise RuntimeError(
                    f"{self.name}() is missing value for argument '{argument.name}'. Declaration: "
                    f"{self}"
                )
            values.append(value)
        if kwargs:
            name = next(iter(kwargs))
            raise RuntimeError(f"{self.name}(): Unknown keyword argument '{name}'. Schema: {self}")
        for position, (argument, value) in enumerate(zip(self.arguments, values, strict=True)):
            self._check(argument, value, position)
        return values

    def check_result(self, result):
        """Raise RuntimeError or TypeError unless a kernel's result is what the schema says."""
        if not self.returns:
            if result is not None:
                raise RuntimeError(
                    f"Expected the kernel of {self.name} to return None, as its schema says, but "
                    f"it returned a {type(result).__name__}"
                )
            return
        many = len(self.returns) > 1
        if many and not isinstance(result, tuple | list):
            raise TypeError(
                f"{self.name}: expected a tuple of {len(self.returns)} results, got an object of "
                f"type '{type(result).__name__}', which is not a sequence"
            )
        for kind, value in zip(self.returns, result if many else (result,), strict=False):
            wanted = _PYTHON.get(kind)
            if wanted is not None and value is not None and not isinstance(value, wanted):
                raise RuntimeError(
                    f"{self.name}: expected a result of type {kind}, got one of type "
                    f"{type(value).__name__}"
                )

    def _check(self, argument, value, position):
        kind = _PYTHON.get(argument.type)
        if kind is None or (value is None and argument.shape.endswith("?")):
            return
        if "[" in argument.shape:
            items = value if isinstance(value, list | tuple) else None
            if items is None and (argument.type == "Tensor" or not isinstance(value, kind)):
                self._refuse(argument, value, position, f"List[{argument.type}]")
            optional = argument.shape.startswith("?")
            for item in items or ():
                if not (isinstance(item, kind) or (optional and item is None)):
                    self._refuse(argument, item, position, argument.type)
        elif not isinstance(value, kind) and not (
            argument.type != "Tensor" and isinstance(value, Tensor) and value.numel() == 1
        ):
            self._refuse(argument, value, position, argument.type)

    def _refuse(self, argument, value, position, wanted):
        raise RuntimeError(
            f"{self.name}() Expected a value of type '{wanted}' for argument '{argument.name}' but "
            f"instead found type '{type(value).__name__}'.\nPosition: {position}\nValue: {value!r}"
            f"\nDeclaration: {self}"
        )


# ------------------------------------------------------------------------------------------ parsing
def parse(text: str, namespace: str = "") -> Schema:
    """A schema from its text, for example ``"scale(Tensor x, float by=2.0) -> Tensor"``."""
    found = re.match(r"\s*([\w:]*)(?:\.(\w+))?\s*\((.*)\)\s*->\s*(.*?)\s*$", text, re.S)
    if found is None:
        raise RuntimeError(
            f"Tried to parse a function schema but only the operator name was given: {text!r}; "
            "expected for example 'name(Tensor x) -> Tensor'"
        )
    name, overload, inner, returned = found.groups()
    inner = _with_numbered_writes(inner)
    arguments, keyword_only = [], False
    for word in _split(inner):
        if word == "*":
            keyword_only = True
            continue
        arguments.append(_argument(word, keyword_only, text))
    returned = returned[1:-1] if returned.startswith("(") else returned
    results = [r.partition(" ") for r in _split(returned)]
    names = tuple(label for _, _, label in results) if any(r[2] for r in results) else ()
    name = name if "::" in name or not namespace else f"{namespace}::{name}"
    returns = tuple(kind for kind, _, _ in results)
    return Schema(name, tuple(arguments), returns, overload or "", names)


def _with_numbered_writes(text):
    """The arguments with ``Tensor!``, which is written to and nothing else is a view of, as
    ``Tensor($0!)``: PyTorch numbers these."""
    numbers = itertools.count()
    return re.sub(r"(?<![\w$(])(\w+)!(?=[\s?\[])", lambda m: f"{m[1]}(${next(numbers)}!)", text)


def _split(text):
    """At the commas that are in no bracket."""
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def _argument(word, keyword_only, text):
    found = _ARGUMENT.match(word)
    if found is None:
        raise RuntimeError(f"cannot read the argument {word!r} of the schema {text!r}")
    if found["type"] not in _TYPES:
        raise RuntimeError(
            f"unknown type specifier {found['type']!r} in the schema {text!r}; expected one of "
            f"{sorted(_TYPES)}"
        )
    default = found["default"]
    return Argument(
        found["name"],
        found["type"],
        found["rest"],
        REQUIRED if default is None else _default(found["type"], default),
        found["alias"] or "",
        keyword_only,
    )


def _default(kind, text):
    """The default of an argument of a type, from its text."""
    value = _value(text)
    if kind == "ScalarType" and isinstance(value, str):
        return getattr(dtypes, value)
    return devices.device(value) if kind == "Device" and isinstance(value, str) else value


def _value(text):
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text.strip()  # a name, such as contiguous_format


# ---------------------------------------------------------------------------------------- inference
def infer_schema(
    prototype_function: Any, /, *, mutates_args: Any, op_name: str | None = None, tags=()
) -> str:
    """The schema of a Python function, from its annotations.

    `mutates_args` names the arguments it writes to, or is ``"unknown"``: all tensors then.
    """
    signature = inspect.signature(prototype_function)
    hints = _hints(prototype_function, signature)

    def refuse(what):
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    unknown = mutates_args == "unknown"
    if isinstance(mutates_args, str) and not unknown:
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated "
            f"or the string 'unknown', got {mutates_args!r}"
        )
    mutated = set() if unknown else set(mutates_args)
    arguments = []
    for position, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            refuse("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.annotation is REQUIRED:
            refuse(f"Parameter {name} must have a type annotation.")
        found = _type(hints[name])
        if found is None:
            refuse(f"Parameter {name} has unsupported type {parameter.annotation}.")
        if not _may_be_default(parameter.default):
            refuse(f"Parameter {name} has an unsupported default value {parameter.default!r}.")
        kind, shape = found
        by_name = parameter.kind is parameter.KEYWORD_ONLY
        argument = Argument(name, kind, shape, parameter.default, keyword_only=by_name)
        if name in mutated or (unknown and argument.type == "Tensor"):
            if argument.type != "Tensor":
                refuse(f"Parameter {name} is in mutates_args but only Tensors can be mutated.")
            argument = replace(argument, alias=f"a{position}!")
        arguments.append(argument)
    absent = mutated - set(signature.parameters)
    if absent:
        refuse(
            f"{absent} in mutates_args were not found in the custom op's signature. mutates_args "
            "should contain the names of all args that the custom op mutates, or just the string "
            "'unknown' if you don't know."
        )
    if signature.return_annotation is REQUIRED:
        refuse("No return type annotation was provided. Please add one.")
    returns = _returns(hints["return"])
    if returns is None:
        refuse(f"Return has unsupported type {signature.return_annotation}.")
    return Schema(op_name or "", tuple(arguments), returns).written(repr)


def _may_be_default(value):
    kinds = int | float | bool | type(None) | dtypes.dtype | devices.device
    return value is REQUIRED or isinstance(value, kinds) or type(value) is str


def _hints(function, signature):
    """The annotations as types, where they are written as text too."""
    try:
        return typing.get_type_hints(function)
    except NameError as error:
        raise ValueError(
            f"infer_schema(func): an annotation cannot be resolved ({error}). Got func with "
            f"signature {signature})"
        ) from None


def _type(hint):
    """``(type, what follows)`` of an annotation; None if it has none in a schema."""
    if hint in _NAMES:
        return _NAMES[hint], ""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        rest = set(inner) - {type(None)}
        found = ("Scalar", "") if rest == _SCALAR else None
        if len(rest) == 1:
            found = _type(rest.pop())
        if found is None or (type(None) in inner and found[1].endswith("?")):
            return None
        if type(None) in inner and found[0] == "Tensor" and found[1]:
            return None  # an empty list says the same
        return (found[0], found[1] + "?") if type(None) in inner else found
    if origin in (list, Sequence) and len(inner) == 1:
        found = _type(inner[0])
        if found is None or found[0] + found[1] not in _LISTED:
            return None
        return found[0], found[1] + "[]"
    return None


_RETURNED = {"Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar"}


def _returns(hint):
    if hint is type(None):
        return ()
    parts = typing.get_args(hint) if typing.get_origin(hint) is tuple else (hint,)
    found = [None if typing.get_origin(p) is Sequence else _type(p) for p in parts]
    if any(f is None or f[0] + f[1] not in _RETURNED for f in found):
        return None
    return tuple(a + b for a, b in found)

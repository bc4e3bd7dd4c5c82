"""Types from annotations of Python: objects of `typing`, classes, and their text."""

from __future__ import annotations

import ast
import enum
import types
import typing

from rushlight import devices, dtypes
from rushlight.jit import kinds
from rushlight.jit.kinds import NONE, UNKNOWN, Type
from rushlight.ops.random.generators import Generator
from rushlight.tensor.shape import Size
from rushlight.tensor.tensor import Parameter, Tensor

_PLAIN = {
    Tensor: kinds.TENSOR, Parameter: kinds.TENSOR, int: kinds.INT, float: kinds.FLOAT,
    bool: kinds.BOOL, str: kinds.STR, None: NONE, type(None): NONE, complex: kinds.COMPLEX,
    devices.device: kinds.DEVICE, dtypes.dtype: kinds.INT, typing.Any: kinds.ANY,
    Generator: kinds.GENERATOR, Size: kinds.list_of(kinds.INT),
}  # fmt: skip
_CONTAINERS = {list: "List", dict: "Dict", tuple: "Tuple"}
_BARE = {list: "List", dict: "Dict", tuple: "Tuple", typing.List: "List", typing.Dict: "Dict",  # noqa: UP006
         typing.Tuple: "Tuple"}  # noqa: UP006  # fmt: skip


class Unreadable(Exception):
    """An annotation that is no type of TorchScript."""


def type_of(annotation, unit) -> Type:
    """The type for an annotation; `unit` compiles the classes it names."""
    try:
        found = _PLAIN.get(annotation)
    except TypeError:
        found = None
    if found is not None:
        return found
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return kinds.union([type_of(a, unit) for a in args])
    if origin is typing.Final:
        return type_of(args[0], unit)
    if origin in _CONTAINERS:
        if args == ((),):
            args = ()
        if origin is tuple and Ellipsis in args:
            raise Unreadable("tuples of any length are no type; use List")
        return Type(_CONTAINERS[origin], *(type_of(a, unit) for a in args))
    if annotation in _BARE:
        raise Unreadable(
            f"Attempted to use {_BARE[annotation]} without a contained type. Please add a "
            f"contained type, e.g. {_BARE[annotation]}[int]"
        )
    if getattr(origin, "__name__", "") == "Future":
        return Type("Future", type_of(args[0], unit))
    if isinstance(annotation, type):
        found = unit.class_type(annotation)
        if found is not None:
            return found
    raise Unreadable(f"Unknown type annotation: '{annotation}'")


def of_value(value, unit) -> Type:
    """The type of an attribute's value; UNKNOWN where it has none."""
    if isinstance(value, dtypes.dtype):
        return kinds.INT
    if isinstance(value, enum.Enum) or hasattr(type(value), "_fields"):
        return unit.class_type(type(value)) or UNKNOWN
    if isinstance(value, list | tuple | dict):
        return _of_container(value, unit)
    found = kinds.of_value(value)
    if found == UNKNOWN and unit.is_script_class(type(value)):
        return unit.class_type(type(value))
    return found


def _of_container(value, unit):
    if isinstance(value, Size):
        return kinds.list_of(kinds.INT)
    if isinstance(value, tuple):
        return Type("Tuple", *(of_value(v, unit) for v in value))
    if not value:
        return UNKNOWN
    if isinstance(value, dict):
        key, item = _one(value, unit), _one(value.values(), unit)
        return UNKNOWN if UNKNOWN in (key, item) else Type("Dict", key, item)
    inner = _one(value, unit)
    return UNKNOWN if inner == UNKNOWN else kinds.list_of(inner)


def _one(values, unit):
    found = None
    for value in values:
        kind = of_value(value, unit)
        found = kind if found is None else kinds.joined(found, kind)
        if found is None:
            return UNKNOWN
    return found


def value_of(node, names):
    """The object an annotation in source stands for; `names` looks a name up."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            return value_of(ast.parse(node.value, mode="eval").body, names)
        return node.value
    if isinstance(node, ast.Name):
        return names(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(value_of(node.value, names), node.attr)
    if isinstance(node, ast.Tuple):
        return tuple(value_of(part, names) for part in node.elts)
    if isinstance(node, ast.Subscript):
        return value_of(node.value, names)[value_of(node.slice, names)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = value_of(node.left, names), value_of(node.right, names)
        return typing.Union[sides]  # noqa: UP007 - the sides are values
    raise Unreadable(f"'{ast.unparse(node)}' is no type")

"""Calls of ATen names: which go to the table's ops, which to the language's own functions.

PyTorch's operators on numbers, lists and strings have ATen names too (``aten::add.int``); the type
of the arguments decides. Where it is not known, it is looked at when the program runs.
"""

from __future__ import annotations

from rushlight.jit import kinds, runtime, scalars, tensors, tree
from rushlight.jit.frontend import operators
from rushlight.jit.kinds import ANY, BOOL, FLOAT, INT, NONE, NUMBER, STR, TENSOR, UNKNOWN
from rushlight.tensor.tensor import Tensor

_NOT_TENSORS = {"__is__", "__isnot__", "len", "format", "warn", "str", "__not__"}
_COMPARED = ("==", "!=", "<", "<=", ">", ">=")


class AtenName(str):
    """The name of an ATen op as a value of the compiler."""

    __slots__ = ()


class _Names:
    """``aten.add``: ops by their ATen names in functions that are written for archives."""

    def __getattr__(self, name):
        return AtenName(name)


aten = _Names()


def dispatched(name, args, kwargs, at):
    """The call of an ATen name; None where there is nothing of that name."""
    types = [a.type for a in args]
    first = types[0] if types else NONE
    if TENSOR in types[:2] and name not in _NOT_TENSORS and (first == TENSOR or _is_operator(name)):
        if first == TENSOR or TENSOR == types[1]:
            return _conversion(name, args, at) or _aten(name, args, kwargs, at)
    if name in scalars.FUNCTIONS or name in scalars.STRINGS:
        unknown = {UNKNOWN, ANY} & set(types[:2]) and name not in _NOT_TENSORS
        if unknown and tensors.exists(name):
            return _late(name, args, kwargs, at)
        found = _scalar(name, args, kwargs, types, at)
        if found is not None:
            return found
    return _aten(name, args, kwargs, at)


def _is_operator(name):
    return name in scalars.SYMBOLS or name in ("__contains__", "fmod", "atan2", "copysign")


def _conversion(name, args, at):
    """``int(tensor)`` under its ATen name."""
    kind = {"Int": INT, "Float": FLOAT, "Bool": BOOL, "IntImplicit": INT, "FloatImplicit": FLOAT,
            "ScalarImplicit": NUMBER, "Complex": kinds.COMPLEX}.get(name)  # fmt: skip
    if kind is None:
        return None
    target = scalars.Scalar(name, scalars.FUNCTIONS[name], "torch.")
    return tree.Call(target, args, {}, type=kind, at=at)


def _scalar(name, args, kwargs, types, at):
    symbol = scalars.SYMBOLS.get(name)
    if symbol is not None and len(args) == 2:
        if symbol in _COMPARED:
            return tree.Compare(symbol, *args, type=BOOL, at=at)
        kind = operators.binary(symbol, *types) or UNKNOWN
        return tree.Binary(symbol, *args, type=kind, at=at)
    if name in ("__is__", "__isnot__"):
        return tree.Compare("is" if name == "__is__" else "is not", *args, type=BOOL, at=at)
    if name == "__not__":
        return tree.Unary("not", args[0], type=BOOL, at=at)
    function = scalars.language_function(name, types[0] if types else NONE)
    if function is None:
        return None
    kind = scalars.result(name, types)
    return tree.Call(scalars.Scalar(name, function, "torch."), args, kwargs, type=kind, at=at)


def _aten(name, args, kwargs, at):
    if not tensors.exists(name):
        return None
    kind = tensors.result(name, args, kwargs)
    return tree.Call(tensors.Aten(name), args, kwargs, type=kind, at=at)


def _late(name, args, kwargs, at):
    """A call that is decided when it runs."""

    def call(*values, **named):
        if any(isinstance(value, Tensor) for value in values[:2]):
            return tensors.function_of(name)(*values, **named)
        text = bool(values) and isinstance(values[0], str)
        return scalars.language_function(name, STR if text else UNKNOWN)(*values, **named)

    target = scalars.Scalar(name, call, "torch.")
    return tree.Call(target, args, kwargs, type=UNKNOWN, at=at)


def primitive(name, args, at):
    """``ops.prim.name(...)``; None where there is nothing of that name."""
    if name == "RaiseException":
        target = scalars.Scalar(name, runtime.raise_named, "ops.prim.")
        return tree.Call(target, args[:2], {}, type=NONE, at=at)
    if name in ("shape", "data") or (name in tensors.PROPERTIES and len(args) == 1):
        return tensors.property_of(args[0], name, at)
    if name == "NumToTensor":
        return _aten("scalar_tensor", args, {}, at)
    if name in ("type", "index") and args[0].type == kinds.DEVICE:
        kind = STR if name == "type" else kinds.optional(INT)
        return tree.Call(tensors.Property(name), args, {}, type=kind, at=at)
    if name in ("EnumName", "EnumValue"):
        field = name.removeprefix("Enum").lower()
        kind = STR if field == "name" else args[0].type.attributes.get("__value__", UNKNOWN)
        return tree.Get(args[0], field, type=kind, at=at)
    if name in scalars.PRIMITIVES:
        types = [a.type for a in args]
        kind = types[0]
        if name in ("min", "max"):
            one = kind.name == "List" and len(args) == 1
            kind = kind.args[0] if one else (FLOAT if FLOAT in types else kind)
        target = scalars.Scalar(name, scalars.PRIMITIVES[name], "ops.prim.")
        return tree.Call(target, args, {}, type=kind, at=at)
    return None

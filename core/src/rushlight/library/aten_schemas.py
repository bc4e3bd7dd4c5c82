"""Schemas of ATen's overloads, as declarations give or imply them.

A declaration whose signature is ATen's in all but words needs none: the schema of each overload
follows from its arguments (``input`` is called ``self``) and from the overload's name. Where ATen
has more to say (how many numbers a list holds, another order, another name) the declaration has
``schemas=``, texts; functions that are no ops have them by
:func:`rushlight.ops._table.aten.in_aten`.
"""

from __future__ import annotations

import dataclasses
import importlib
import re

from rushlight import devices, dtypes
from rushlight.library.schema import REQUIRED, Argument, Schema, parse
from rushlight.nn import native_calls, packed_calls  # noqa: F401 - declare schemas
from rushlight.ops._table.aten import FUNCTIONS, name_in
from rushlight.ops._table.attributes import DTYPE, TRUTH, WHOLE, kind_of
from rushlight.ops._table.op import OPTIONAL, SIZES, TABLE, TENSOR, TENSORS
from rushlight.ops._table.op import REQUIRED as NOTHING
from rushlight.ops.former import core_names  # noqa: F401 - declares schemas
from rushlight.ops.indexing import value_steps  # noqa: F401 - declares schemas
from rushlight.tensor.tensor import Tensor

_TENSORS = {TENSOR: ("Tensor", ""), OPTIONAL: ("Tensor", "?"), TENSORS: ("Tensor", "[]")}
_NUMBERS = {"Scalar", "int", "float"}
_OF_DIMS = {"dim", "keepdim", "dims"}
_OUT = re.compile("_?out$")
_OPTIONS = {"dtype", "layout", "device", "pin_memory"}
_cache: dict = {}


def schemas_of(name):
    """The schemas of an ATen op by overload name, in the order in which calls try them."""
    found = _cache.get(name)
    if found is None:
        found = {s.overload or "default": s for s in _schemas(name)}
        # of what is not known yet, the family may be declared later
        if found:
            _cache[name] = found
    return found


def _schemas(name):
    """Declared schemas, or those that follow from the declaration."""
    written = name.endswith("_") and not name.endswith("__")
    texts = _declared(name) or (_declared(name[:-1]) if written else ())
    if texts:
        return [_writing(parse(text, "aten"), name) for text in texts]
    aten = importlib.import_module("rushlight.library.aten")
    op = TABLE.get(name[:-1] if written else name) or aten._with_alias(name)
    if op is None:
        return []
    words = aten._overloads(name)
    return [derived(op, name, word, words) for word in _of_tensors(op, words)]


def _of_tensors(op, words):
    """The overloads that give new tensors of tensors: not those of numbers, nor for ``out=``."""
    words = [w for w in words if not _OTHER.search(w)]
    if op.kind != "elementwise":
        return words
    if len(op.tensor_positions) < 2:
        return ["default"] if "default" in words else words
    return [w for w in words if w != "default"] if "Tensor" in words else words


# Overloads for `out=`, names of dimensions, lists and numbers: no call of a public function on
# tensors comes to them.
_OTHER = re.compile("out|Dimname|^dtype$|^values|_values$|^any$|_t$|^right_|^Tensor_list$|^[A-Z]$")


def _writing(schema, name):
    """The schema of the form that writes to its first argument, where the name is one's."""
    if schema.name == "aten::" + name:
        return schema
    first = dataclasses.replace(schema.arguments[0], name="self", alias="a!")
    arguments = (first, *schema.arguments[1:])
    returns = ("Tensor(a!)",) if len(schema.returns) == 1 else schema.returns
    return dataclasses.replace(schema, name="aten::" + name, arguments=arguments, returns=returns)


def writing_out(name, overload):
    """The schema of an overload for ``out=``, which follows from that of the overload that gives a
    new tensor; None where there is none, or where it gives several."""
    if not _OUT.search(overload) or name.endswith("_"):
        return None
    known, word = schemas_of(name), _OUT.sub("", overload)
    base = known.get(word) if word else known.get("default") or known.get("Tensor")
    if base is None or base.returns != ("Tensor",) or any(a.alias for a in base.arguments):
        return None
    # a tensor to write to has these already
    options = {a.name for a in base.arguments} >= _OPTIONS
    kept = [a for a in base.arguments if not (options and a.name in _OPTIONS)]
    out = Argument("out", "Tensor", "", REQUIRED, "a!", True)
    return dataclasses.replace(
        base, arguments=(*kept, out), returns=("Tensor(a!)",), overload=overload
    )


def _declared(name):
    """The texts that a declaration gives for an ATen name."""
    op = TABLE.get(name)
    texts = () if op is None else op.options.get("schemas", ())
    found = [t for t in texts if name_in(t) == name]
    return found or FUNCTIONS.get(name) or _elsewhere(name)


def _elsewhere(name):
    return [
        text
        for op in TABLE.values()
        for text in op.options.get("schemas", ())
        if name_in(text) == name
    ]


def derived(op, name, overload, words):
    """The schema of an overload, from the op's declaration."""
    narrow = overload == "default" and any("dim" in w for w in words if w != overload)
    arguments = []
    for i, declared in enumerate(op.names):
        if narrow and declared in _OF_DIMS:
            continue
        kind, shape = _type(op, i, overload)
        default = op.defaults[i]
        default = REQUIRED if default is NOTHING else default
        alias = "a!" if not i and name.endswith("_") else ""
        label = "self" if not i and declared in ("input", "x") else declared
        arguments.append(Argument(label, kind, shape, default, alias, i >= op.positional))
    returns = ("Tensor",) * max(op.outputs, 1) if op.outputs else ("Tensor[]",)
    if name.endswith("_") and returns == ("Tensor",):
        returns = ("Tensor(a!)",)
    return Schema(
        f"aten::{name}", tuple(arguments), returns, "" if overload == "default" else overload
    )


def _type(op, position, overload):
    """Type and shape of an argument."""
    kind, name, default = op.kinds[position], op.names[position], op.defaults[position]
    if kind in _TENSORS:
        scalar = position == 1 and overload in ("Scalar", "Tensor_Scalar")
        return ("Scalar", "") if scalar else _TENSORS[kind]
    if kind == SIZES:
        return "SymInt", "[]"
    annotation = op.body.__annotations__.get(name)
    found = kind_of(name, None if default is NOTHING else default, annotation)
    optional = "?" if default is None else ""
    if found == TRUTH:
        return "bool", optional
    if found == DTYPE:
        return "ScalarType", optional
    if found == WHOLE:
        several = "[]" if "dim" in overload or default == () or name in ("dims", "shifts") else ""
        return "int", several + optional
    return {str: "str", bool: "bool"}.get(type(default), "Scalar"), optional


# ----------------------------------------------------------------------------------------- values
class DoesNotFitError(Exception):
    """A value is none of an argument's type."""


def fitted(argument, value, numbers=False):
    """A value as a graph holds it, of the argument's type: lists of numbers where ATen has lists.
    With `numbers` one counts as a tensor."""
    if value is None:
        if argument.shape.endswith("?") or argument.default is None:
            return None
        raise DoesNotFitError
    if numbers and argument.type == "Tensor" and isinstance(value, int | float | complex):
        return value
    if "[" in argument.shape:
        return _several(argument, value)
    return _one(argument.type, value)


def _several(argument, value):
    count = argument.shape[argument.shape.index("[") + 1 : argument.shape.index("]")]
    if not isinstance(value, tuple | list):
        value = [value] * int(count or 1)
    optional = argument.shape.startswith("?")
    items = [None if v is None and optional else _one(argument.type, v) for v in value]
    return items * int(count) if count and len(items) == 1 else items


def _one(kind, value):
    fits = _FITS.get(kind)
    if fits is not None and not fits(value):
        raise DoesNotFitError
    convert = _CONVERSIONS.get(kind)
    return value if convert is None else convert(value)


def _is_number(value):
    return isinstance(value, int | float)  # True counts as 1, as in PyTorch


def _is_whole(value):
    return hasattr(value, "__index__") and not isinstance(value, bool | Tensor)


_FITS = {
    "Tensor": lambda value: isinstance(value, Tensor),
    "Scalar": lambda value: not isinstance(value, Tensor | str | list | tuple),
    "int": _is_whole,
    "SymInt": _is_whole,
    "float": _is_number,
    "ScalarType": lambda value: isinstance(value, dtypes.dtype | type),
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
}
_CONVERSIONS = {
    "float": float,
    "ScalarType": dtypes.as_dtype,
    "Device": lambda value: devices.device(value) if isinstance(value, str) else value,
}

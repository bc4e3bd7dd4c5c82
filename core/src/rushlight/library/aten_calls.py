"""From a call of a public function to the ATen overload that it is, with ATen's arguments.

What the call is follows from the declaration: its name, or ``aten_call=``, a function of the bound
arguments that gives ``(name, values)`` with values by ATen's argument; and the schemas of the
overloads (:mod:`rushlight.library.aten_schemas`), the first of which takes the values.
"""

from __future__ import annotations

from typing import NamedTuple

from rushlight.library.aten_schemas import DoesNotFitError, fitted, schemas_of
from rushlight.library.operators import lookup
from rushlight.ops._table.op import REQUIRED
from rushlight.tensor.tensor import Tensor


class AtenCall(NamedTuple):
    """An overload (``ops.aten.add.Tensor``) and its arguments, defaults left out at the end."""

    target: object
    args: tuple
    kwargs: dict
    writes: bool = False


def aten_call(function, args, kwargs):
    """The :class:`AtenCall` of a call, with the generator that it draws from; None where ATen has
    no such op."""
    call = _without_generator(function, args, kwargs)
    generator = kwargs.get("generator")
    if call is None or generator is None:
        return call
    return call._replace(
        target=_drawing(call.target), kwargs={"generator": generator, **call.kwargs}
    )


def _drawing(target):
    """The overload that takes a generator, of makers of tensors another one."""
    if any(argument.name == "generator" for argument in target._schema.arguments):
        return target
    overload = target._overloadname
    name = "generator" if overload == "default" else f"{overload}_generator"
    return getattr(target.overloadpacket, name)


def _without_generator(function, args, kwargs):
    op = getattr(function, "op", None)
    if op is None:
        return _of_function(function, args, kwargs)
    values = op.bind(args, dict(kwargs))
    writes = str(getattr(function, "variant", None)).startswith("inplace")
    found = _named(op, values)
    if found is None:
        return None
    name, given = found
    skipped = "Scalar" if op.options.get("wraps_numbers") else None
    return _resolved(name + "_" * writes, given, op.names, skipped, writes)


def _named(op, values):
    """ATen's name for a call, and the values that are no defaults by argument."""
    declared = op.options.get("aten_call")
    if declared is not None:
        keywords = dict(zip(op.names[op.positional :], values[op.positional :], strict=True))
        return declared(*values[: op.positional], **keywords)
    named = op.name[0] != "_" or "aten" in op.options
    if "captured" in op.options or not op.options.get("in_aten", named):
        return None
    given = zip(op.names, values, op.defaults, strict=True)
    return op.name, {
        name: value for name, value, default in given if not is_default(value, default)
    }


def _of_function(function, args, kwargs):
    found = getattr(function, "aten_call", None)
    if found is None:
        return None
    return _resolved(*found(*args, **kwargs))


def _resolved(name, given, names=(), skipped=None, writes=False):
    """The overload that takes the values `given` by name; `names` are the declared ones. Where no
    overload does, numbers count as tensors."""
    # Python calls add.Tensor with numbers too: only C++ uses the overload for them
    schemas = {k: v for k, v in schemas_of(name).items() if k != skipped}
    for numbers in (False, True):
        for overload, schema in schemas.items():
            found = _bound(schema, _renamed(schema, given, names), numbers)
            if found is not None:
                target = _overload(name, overload)
                return AtenCall(target, *found, writes or schema.is_mutable)
    return None


def _renamed(schema, given, names):
    """The values by ATen's names: an argument that it calls otherwise is known by its position."""
    # `input` here is `self` there, `split_size_or_sections` is `split_size`
    own = [a.name for a in schema.arguments]
    other = dict(zip(names, own, strict=False))
    return {k if k in own else other.get(k, k): v for k, v in given.items()}


def _overload(name, overload):
    return getattr(getattr(lookup("aten"), name), overload)


def _bound(schema, given, numbers):
    """The arguments of a schema; None where the values do not fit it."""
    left, args, kwargs = dict(given), [], {}
    try:
        for argument in schema.arguments:
            if argument.name in left:
                value = fitted(argument, left.pop(argument.name), numbers and bool(args))
            elif argument.has_default_value():
                value = _default(argument)
            else:
                return None
            if not argument.keyword_only:
                args.append(value)
            elif not is_default(value, argument.default):
                kwargs[argument.name] = value
    except DoesNotFitError:
        return None
    if left:
        return None
    return tuple(_trimmed(schema, args)), kwargs


def _trimmed(schema, args):
    while args and is_default(args[-1], _default(schema.arguments[len(args) - 1])):
        args.pop()
    return args


def _default(argument):
    """The default as :func:`fitted` gives it."""
    if not argument.has_default_value():
        return REQUIRED
    try:
        return fitted(argument, argument.default)
    except DoesNotFitError:
        return argument.default


def is_default(value, default):
    """Whether a value is the default; tensors are not compared."""
    if value is default:
        return True
    if isinstance(value, Tensor) or isinstance(default, Tensor) or value is None or default is None:
        return False
    if isinstance(value, tuple | list) and any(isinstance(v, Tensor) for v in value):
        return False
    if isinstance(value, tuple | list) and isinstance(default, tuple | list):
        return list(value) == list(default)
    return type(value) is type(default) and value == default

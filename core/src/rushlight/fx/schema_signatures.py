"""Signatures of functions by ATen's schemas, and the types that their arguments are compared by."""

from __future__ import annotations

import inspect
import numbers
import typing
import warnings

import rushlight
from rushlight.library.aten_schemas import schemas_of, writing_out
from rushlight.library.kinds import OpOverload, OpOverloadPacket

_PYTHON = {
    "Tensor": rushlight.Tensor, "Scalar": numbers.Number, "number": numbers.Number, "int": int,
    "SymInt": int, "float": float, "bool": bool, "str": str, "complex": complex,
    "ScalarType": int, "Layout": int, "MemoryFormat": int, "QScheme": int,
    "Device": rushlight.device, "Generator": rushlight.Generator,
}  # fmt: skip


def get_signature_for_torch_op(op, return_schemas: bool = False):
    """The signatures of a function of Rushlight: one for each of its ATen schemas, whose ``self``
    is called ``input``; None for a function that ATen does not have.

    Args:
        op: a function, or an overload such as ``rushlight.ops.aten.add.Tensor``.
        return_schemas: return ``(signatures, schemas)``, by default False.

    >>> import rushlight
    >>> from rushlight.fx.operator_schemas import get_signature_for_torch_op
    >>> [list(each.parameters) for each in get_signature_for_torch_op(rushlight.relu)]
    [['input'], ['input', 'out']]
    """
    schemas = _schemas(op)
    signatures = None if schemas is None else [signature_of_schema(each) for each in schemas]
    return (signatures, schemas) if return_schemas else signatures


def _schemas(function):
    """The schemas of a function's overloads, None for one that ATen does not have."""
    if isinstance(function, OpOverload):
        schema = getattr(function, "_schema", None)
        return None if schema is None else [schema]
    if not isinstance(function, OpOverloadPacket):
        name = _aten_name(function)
        function = None if name is None else getattr(rushlight.ops.aten, name, None)
        if function is None:
            return None
    overloads = [getattr(function, word) for word in function.overloads()]
    found = [getattr(overload, "_schema", None) for overload in overloads]
    known = {schema.overload: schema for schema in found if schema is not None}
    name = function.__name__
    for word, schema in schemas_of(name).items():
        out = writing_out(name, "out" if word == "default" else f"{word}_out")
        known.setdefault(schema.overload, schema)
        if out is not None and out.arguments not in {each.arguments for each in known.values()}:
            known.setdefault(out.overload, out)
    return list(known.values())


def _aten_name(function):
    """ATen's name for a function of Rushlight, whose schemas are known; or None."""
    op = getattr(function, "op", None)
    if op is not None:
        inplace = str(getattr(function, "variant", None)).startswith("inplace")
        name = op.name + "_" * inplace
    elif hasattr(function, "aten_call"):
        name = function.__name__
    else:
        return None
    return name if schemas_of(name) else None


def signature_of_schema(schema) -> inspect.Signature:
    """The arguments of a schema as parameters with Python's types, ATen's ``self`` as ``input``."""
    parameters = []
    for argument in schema.arguments:
        by_name = inspect.Parameter.KEYWORD_ONLY
        kind = by_name if argument.keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(
            inspect.Parameter(
                "input" if argument.name == "self" else argument.name,
                kind,
                default=argument.default,
                annotation=_type(argument.type, argument.shape),
            )
        )
    return inspect.Signature(_in_order(parameters), return_annotation=_returned(schema))


def _in_order(parameters):
    """Parameters without a default behind one that has it are given by name, as Python asks."""
    seen = False
    for i, parameter in enumerate(parameters):
        required = parameter.default is inspect.Parameter.empty
        if seen and required and parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            rest = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters[i:]]
            return parameters[:i] + rest
        seen = seen or not required
    return parameters


def _type(name, shape):
    """A schema's type in Python: ``int[]?`` is ``Optional[List[int]]``."""
    found = _PYTHON.get(name, typing.Any)
    while shape:
        if shape.startswith("["):
            found, shape = typing.List[found], shape.partition("]")[2]  # noqa: UP006 - PyTorch's
        else:
            found, shape = typing.Optional[found], shape[1:]  # noqa: UP045 - PyTorch's
    return found


def _returned(schema):
    kinds = []
    for text in schema.returns:
        name = text.split("(")[0].split("[")[0].rstrip("?")
        kinds.append(_type(name, text[text.index("[") :] if "[" in text else ""))
    if not kinds:
        return None
    return kinds[0] if len(kinds) == 1 else tuple(kinds)


def create_type_hint(x):
    """A list or tuple of classes as one type: ``[int, int]`` is ``list[int]``, classes that have
    none of themselves in common are ``Any``. What is neither is returned as it is; so is a sequence
    of what are no classes, with a warning.

    >>> from rushlight.fx.operator_schemas import create_type_hint
    >>> create_type_hint([int, bool]), create_type_hint((int, str))
    (list[int], tuple[typing.Any, ...])
    """
    if not isinstance(x, list | tuple):
        return x
    made = (lambda kind: list[kind]) if isinstance(x, list) else (lambda kind: tuple[kind, ...])
    if not all(isinstance(each, type) for each in x):
        warnings.warn(f"create_type_hint(): {x} holds what is no class", stacklevel=2)
        return x
    common = [kind for kind in x if all(issubclass(each, kind) for each in x)]
    return made(common[0] if common else typing.Any)


def type_matches(signature_type, argument_type) -> bool:
    """Whether a value of one type may be given for a parameter of another: the same class or a
    subclass of it, one of a union's, a list or tuple of such for a list.

    >>> from typing import List, Tuple
    >>> from rushlight.fx.operator_schemas import type_matches
    >>> type_matches(List[int], Tuple[int, int]), type_matches(int, float)
    (True, False)
    """
    if signature_type is argument_type or signature_type == argument_type:
        return True
    kind = typing.get_origin(signature_type)
    if kind is typing.Union:
        return any(type_matches(each, argument_type) for each in typing.get_args(signature_type))
    if kind is list:
        return _matches_items(typing.get_args(signature_type)[0], argument_type)
    if signature_type is numbers.Number:
        return isinstance(argument_type, type) and issubclass(argument_type, numbers.Number)
    classes = inspect.isclass(argument_type) and inspect.isclass(signature_type)
    return classes and issubclass(argument_type, signature_type)


def _matches_items(item, argument_type):
    """Whether a type is that of a list of `item`: one of them, as ATen takes it, or several."""
    if item is int and argument_type is int:
        return True
    if typing.get_origin(argument_type) not in (list, tuple):
        return False
    items = [each for each in typing.get_args(argument_type) if each is not ...]
    return bool(items) and all(
        each is item or inspect.isclass(each) and issubclass(each, item) for each in items
    )


def check_for_mutable_operation(target, args: tuple, kwargs: dict) -> None:
    """Raise RuntimeError if ``target(*args, **kwargs)`` is a function that ATen has in one form
    that takes the arguments, and that form writes to them. Where several forms take them, nothing
    is known.

    >>> import rushlight
    >>> from rushlight.fx.operator_schemas import check_for_mutable_operation
    >>> check_for_mutable_operation(rushlight.relu, (rushlight.ones(1),), {})
    """
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    fitting = [
        schema
        for signature, schema in zip(signatures or (), schemas or (), strict=True)
        if _fits(signature, args, kwargs)
    ]
    if len(fitting) == 1 and fitting[0].is_mutable:
        raise RuntimeError(
            f"Tried to trace mutable operation {fitting[0]}. FX only supports functional code, so "
            "operations that mutate operands in-place (e.g. via `out` arguments) are not supported"
        )


def _fits(signature, args, kwargs):
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True

"""Arguments of calls by the names of the parameters they are bound to."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from rushlight.fx.schema_signatures import (
    check_for_mutable_operation,
    create_type_hint,
    get_signature_for_torch_op,
    type_matches,
)
from rushlight.library.kinds import OpOverload


class ArgsKwargsPair(NamedTuple):
    """Positional and keyword arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def signature_of(function) -> inspect.Signature | None:
    """The signature of a function or of an op, that of an operator by its schema; None where
    Python does not know it."""
    schema = getattr(function, "_schema", None)
    if isinstance(function, OpOverload) and schema is not None:
        return _of_schema(schema)
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _of_schema(schema):
    """The arguments of a schema as parameters, ATen's ``self`` as ``input``."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [
            inspect.Parameter("input" if a.name == "self" else a.name, kind, default=a.default)
            for a in schema.arguments
        ]
    )


def bound_arguments(node) -> dict | None:
    """All arguments of a ``call_function`` by name, defaults filled in; None without signature."""
    signature = signature_of(node.target)
    bound = None if signature is None else _bound(signature, node.args, node.kwargs)
    if bound is None:
        return None
    return dict(bound.kwargs if _further(bound) else _named(bound))


def normalize_function(
    target, args: tuple, kwargs: dict | None = None, arg_types=None, kwarg_types=None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """The arguments of ``target(*args, **kwargs)`` with the defaults, in the order of the
    parameters: as keywords alone, or those that were given by position so. None where the function
    has no signature, has parameters that take no keyword, or does not take the arguments. The
    `out` of an op is among them if it was given; types of arguments choose nothing here."""
    kwargs = kwargs or {}
    found = _normalized(signature_of(target), args, kwargs, normalize_to_only_use_kwargs)
    if found is not None and "out" not in kwargs and _is_ours(target):
        found.kwargs.pop("out", None)
    return found


def normalize_module(
    root, target: str, args: tuple, kwargs: dict | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """:func:`normalize_function` for the ``forward`` of a submodule of `root`."""
    module = root.get_submodule(target)
    signature = signature_of(module.forward)
    return _normalized(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def _normalized(signature, args, kwargs, by_name):
    bound = None if signature is None else _bound(signature, args, kwargs)
    if bound is None or inspect.Parameter.POSITIONAL_ONLY in _kinds(signature):
        return None
    if _further(bound):
        return ArgsKwargsPair(bound.args, dict(bound.kwargs))
    given = 0 if by_name else len(args)
    values = _named(bound)
    names = list(values)
    return ArgsKwargsPair(
        tuple(values[name] for name in names[:given]),
        {name: values[name] for name in names[given:]},
    )


def _bound(signature, args, kwargs):
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    return bound


def _kinds(signature):
    return {parameter.kind for parameter in signature.parameters.values()}


def _collecting(signature):
    """The parameters that take all further arguments, ``*args`` and ``**kwargs``."""
    several = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    return {name for name, parameter in signature.parameters.items() if parameter.kind in several}


def _further(bound):
    """Whether there are arguments that no parameter names."""
    return any(bound.arguments[name] for name in _collecting(bound.signature))


def _named(bound):
    """The arguments of all parameters but the collecting ones."""
    collecting = _collecting(bound.signature)
    return {name: value for name, value in bound.arguments.items() if name not in collecting}


def _is_ours(target):
    return (getattr(target, "__module__", None) or "").split(".")[0] == "rushlight"


__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "create_type_hint",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
    "type_matches",
]

"""Arguments of calls by the names of the parameters they are bound to."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple


class ArgsKwargsPair(NamedTuple):
    """Positional and keyword arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def signature_of(function) -> inspect.Signature | None:
    """The signature of a function or of an op; None where Python does not know it."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def bound_arguments(node) -> dict | None:
    """All arguments of a ``call_function`` by name, defaults filled in; None without signature."""
    signature = signature_of(node.target)
    bound = None if signature is None else _bound(signature, node.args, node.kwargs)
    if bound is None or _variadic(signature):
        return None if bound is None else dict(bound.kwargs)
    return dict(bound.arguments)


def normalize_function(
    target, args: tuple, kwargs: dict | None = None, arg_types=None, kwarg_types=None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """The arguments of ``target(*args, **kwargs)`` with the defaults, in the order of the
    parameters: as keywords alone, or those that were given by position so. None where the function
    has no signature, has parameters that take no keyword, or does not take the arguments."""
    return _normalized(signature_of(target), args, kwargs or {}, normalize_to_only_use_kwargs)


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
    if _variadic(signature):
        return ArgsKwargsPair(bound.args, dict(bound.kwargs))
    given = 0 if by_name else len(args)
    names = list(bound.arguments)
    return ArgsKwargsPair(
        tuple(bound.arguments[name] for name in names[:given]),
        {name: bound.arguments[name] for name in names[given:]},
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


def _variadic(signature):
    several = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    return bool(_kinds(signature) & several)

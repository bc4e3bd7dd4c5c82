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
    found = normalize_function(node.target, node.args, node.kwargs, None, None, True)
    return None if found is None else found.kwargs


def normalize_function(
    target, args: tuple, kwargs: dict | None = None, arg_types=None, kwarg_types=None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """The arguments of ``target(*args, **kwargs)`` with the defaults, in the order of the
    parameters: as keywords alone, or those without default positional. None where the function
    has no signature or does not take them."""
    signature = signature_of(target)
    return None if signature is None else _bound(signature, args, kwargs or {},
                                                 normalize_to_only_use_kwargs)  # fmt: skip


def normalize_module(
    root, target: str, args: tuple, kwargs: dict | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """:func:`normalize_function` for the ``forward`` of a submodule of `root`."""
    module = root.get_submodule(target)
    signature = signature_of(module.forward)
    return None if signature is None else _bound(signature, args, kwargs or {},
                                                 normalize_to_only_use_kwargs)  # fmt: skip


def _bound(signature, args, kwargs, by_name):
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if any(p.kind in variadic for p in signature.parameters.values()):
        return ArgsKwargsPair(bound.args, dict(bound.kwargs))
    if by_name:
        return ArgsKwargsPair((), dict(bound.arguments))
    given = len(args)
    names = list(bound.arguments)
    return ArgsKwargsPair(
        tuple(bound.arguments[name] for name in names[:given]),
        {name: bound.arguments[name] for name in names[given:]},
    )

"""Functions that captured programs call in place of others."""

from __future__ import annotations

import functools
import inspect
from types import BuiltinFunctionType, FunctionType

__all__ = ["substitute_in_graph"]

_ORIGINALS = FunctionType, BuiltinFunctionType
_known: dict = {}


def substitute_of(function):
    """What a captured program calls instead of a function: mostly the function itself."""
    return _known.get(function, function)


def substitute_in_graph(
    original_fn, *, can_constant_fold_through=False, skip_signature_check=False
):
    """A decorator: programs that `compile` captures call the decorated function in place of
    `original_fn`, of which nothing is known there. Elsewhere nothing changes.

    Args:
        original_fn: a function, mostly one of an extension that is not written in Python.
        can_constant_fold_through: accepted; calls with constants alone are computed once anyway.
        skip_signature_check: the two may have other parameters.

    Raises:
        TypeError: one of the two is no function, or their parameters differ.
        ValueError: `original_fn` has a substitute.

    >>> import math, rushlight
    >>> @rushlight.compiler.substitute_in_graph(math.dist)
    ... def dist(p, q):
    ...     return sum((a - b) ** 2 for a, b in zip(p, q)) ** 0.5
    >>> dist([0, 0], [3, 4])
    5.0
    """
    if not isinstance(original_fn, _ORIGINALS):
        raise TypeError(f"substitute_in_graph expects a function but got {type(original_fn)!r}")

    def decorate(traceable_fn):
        if not isinstance(traceable_fn, FunctionType):
            raise TypeError(
                f"@substitute_in_graph(...) expects a function but got {type(traceable_fn)!r}"
            )
        if not skip_signature_check:
            _compare_signatures(original_fn, traceable_fn)
        if original_fn in _known:
            raise ValueError(f"substitute_in_graph(): {original_fn!r} has a substitute already")
        _known[original_fn] = traceable_fn

        @functools.wraps(traceable_fn)
        def called(*args, **kwargs):
            return original_fn(*args, **kwargs)

        return called

    return decorate


def _compare_signatures(original, substitute):
    try:
        wanted, found = inspect.signature(original), inspect.signature(substitute)
    except ValueError:  # of a builtin that tells nothing
        return
    if [*map(_kind, wanted.parameters.values())] != [*map(_kind, found.parameters.values())]:
        raise TypeError(
            f"Signature mismatch between {original} and {substitute}: {wanted} != {found}"
        )


def _kind(parameter):
    return parameter.name, parameter.kind

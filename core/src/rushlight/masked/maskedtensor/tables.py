"""What functions do with tensors that carry a mask, found by the function or by ATen's name.

The files beside this one fill the tables when the package is imported; the class reads them.
"""

from __future__ import annotations

from collections.abc import Callable

FUNCTIONS: dict[Callable, Callable] = {}  # public function -> what is called in its stead
OVERLOADS: dict[str, Callable] = {}  # ATen's name -> handler(overload, args, kwargs)
RULES: list[tuple[Callable, Callable]] = []  # (whether a name is meant, handler) for whole families


def instead_of(*functions):
    """Decorator: the function answers calls of `functions`, and records its own gradient."""

    def register(handler):
        FUNCTIONS.update(dict.fromkeys(functions, handler))
        return handler

    return register


def for_ops(*ops):
    """Decorator: the function answers ATen's overloads of the ops, functions or names of ATen."""

    def register(handler):
        names = (op if isinstance(op, str) else op.__name__ for op in ops)
        OVERLOADS.update(dict.fromkeys(names, handler))
        return handler

    return register


def for_family(is_meant):
    """Decorator: the function answers all overloads for whose name ``is_meant(name)`` is true."""

    def register(handler):
        RULES.append((is_meant, handler))
        return handler

    return register


def handler_of(name):
    """What answers an overload of ATen of this name; None where nothing does."""
    found = OVERLOADS.get(name)
    if found is not None:
        return found
    return next((handler for is_meant, handler in RULES if is_meant(name)), None)

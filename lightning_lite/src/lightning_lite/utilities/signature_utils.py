"""Which arguments a hook takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable


def is_param_in_hook_signature(
    hook_fx: Callable, param: str, explicit: bool = False, min_args: int | None = None
) -> bool:
    """Whether a hook has an argument of this name.

    Unless `explicit`, one with `*args` takes any, and so does one with at least `min_args`
    arguments.
    """
    named = inspect.getfullargspec(inspect.unwrap(hook_fx))
    names = named.args[1:] if named.args[:1] == ["self"] else named.args
    if param in names or param in named.kwonlyargs:
        return True
    if explicit:
        return False
    return named.varargs is not None or (min_args is not None and len(names) >= min_args)

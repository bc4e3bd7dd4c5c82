"""Objects as plain data and back: what a file without code can hold of a Learner.

Only classes and functions that were announced here are written, and a name in a file finds nothing
else: reading a file runs no code of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import rushlight as rl

T = TypeVar("T")
PLAIN = (type(None), bool, int, float, str)
_CLASSES: dict[str, type] = {}
_FUNCTIONS: dict[str, Any] = {}


def describable(cls: type[T]) -> type[T]:
    """Announce a class; its objects are described by the arguments they were made with.

    An object of several `parts` is described by them, and joined by `composed`.
    """
    begin: Callable[..., None] = cls.__init__

    @functools.wraps(begin)
    def started(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        # After the constructors of base classes: the outermost arguments stand.
        self.made_with = args, kwargs

    cls.__init__ = started  # type: ignore[method-assign]
    _CLASSES[cls.__name__] = cls
    return cls


def announce(function: T, name: str = "") -> T:
    """Announce a function, by its own name or another."""
    _FUNCTIONS[name or getattr(function, "__name__", "")] = function
    return function


def describe(value: Any, what: str) -> Any:
    """Plain data that say what a value is. ValueError for others, which tells `what` holds it."""
    if type(value) in PLAIN or isinstance(value, rl.Tensor):
        return value
    if hasattr(value, "tolist"):  # NumPy's and pandas' arrays, and numbers of theirs
        return describe(value.tolist(), what)
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)(describe(each, what) for each in value)
    if type(value) is dict:
        return {"items": describe(list(value.items()), what)}
    if isinstance(value, Path):
        return {"path": str(value)}
    parts = getattr(value, "parts", [value])
    if len(parts) > 1:
        return {"composed": [describe(each, what) for each in parts]}
    name = type(value).__name__
    if _CLASSES.get(name) is type(value):
        args, kwargs = vars(value)["made_with"]
        made = {"class": name, "args": describe(args, what), "kwargs": describe(kwargs, what)}
        if hasattr(value, "learnt"):
            made["learnt"] = describe(value.learnt(), what)
        return made
    for name, function in _FUNCTIONS.items():
        if callable(value) and function == value:
            return {"function": name}
    raise ValueError(
        f"export: {what} holds {value!r}, which a file without code cannot describe; expected "
        "plain values, and functions and transforms of lightning_lite.easy"
    )


def rebuild(plain: Any) -> Any:
    """The value that `describe` described. ValueError for names that were not announced."""
    if isinstance(plain, list | tuple):
        return type(plain)(rebuild(each) for each in plain)
    if not isinstance(plain, dict):
        return plain
    if "items" in plain:
        return dict(rebuild(plain["items"]))
    if "path" in plain:
        return Path(plain["path"])
    if "composed" in plain:
        return functools.reduce(lambda one, two: one.composed(two), rebuild(plain["composed"]))
    kind, known = ("class", _CLASSES) if "class" in plain else ("function", _FUNCTIONS)
    found: Any = known.get(str(plain.get(kind)))
    if found is None:
        raise ValueError(f"load_learner: the file names the {kind} {plain.get(kind)!r}, not known")
    if kind == "function":
        return found
    made = found(*rebuild(plain["args"]), **rebuild(plain["kwargs"]))
    if "learnt" in plain:
        made.relearn(rebuild(plain["learnt"]))
    return made

"""NumPy's names of arguments, which PyTorch's built-in functions take too.

Ops of the table know them by themselves (:meth:`rushlight.ops._table.op.Op.bind`); this is for
functions of plain Python.
"""

from __future__ import annotations

import functools
import inspect

NUMPY_NAMES = {
    "axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other",
    "self": "input",
}  # fmt: skip
_FIRST = ("input", *(name for name, known in NUMPY_NAMES.items() if known == "input"))


def numpy_names(function):
    """A function of plain Python that takes NumPy's names for its arguments, as ops do."""
    code = inspect.unwrap(function).__code__
    names = code.co_varnames[: code.co_argcount]
    others = {k: v for k, v in NUMPY_NAMES.items() if v in names and k not in names}
    if not others:
        return function
    if names == ("input",) and not code.co_kwonlyargcount:
        return _of_one_argument(function)

    @functools.wraps(function)
    def call(*args, **kwargs):
        if not kwargs:
            return function(*args)
        for name in [n for n in kwargs if n in others]:
            if others[name] in kwargs:
                raise TypeError(f"{function.__name__}() got multiple values for '{others[name]}'")
            kwargs[others[name]] = kwargs.pop(name)
        return function(*args, **kwargs)

    return call


def _of_one_argument(function):
    """:func:`numpy_names` of a function of ``input`` alone, at half the cost of a call."""

    @functools.wraps(function)
    def call(input=None, **named):
        if named or input is None:
            input = first_by_keyword(function.__name__, named) if input is None else input
            return function(input, **named)
        return function(input)

    return call


def first_by_keyword(name, kwargs):
    """The first argument of a function, called ``input`` or as NumPy does, out of its keywords."""
    for spelling in _FIRST:
        if spelling in kwargs:
            return kwargs.pop(spelling)
    raise TypeError(f"{name}() missing required argument: 'input' (pos 1)")

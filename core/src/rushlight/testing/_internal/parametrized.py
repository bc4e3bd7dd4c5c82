"""Tests of a class that run once for each of several arguments."""

from __future__ import annotations

import functools
import inspect
import itertools
import re
from collections.abc import Callable, Iterable

import rushlight


class subtest:  # noqa: N801 - PyTorch's name
    """Arguments of one test, with a name for it and decorators."""

    def __init__(self, arg_values, name: str | None = None, decorators: Iterable | None = None):
        self.arg_values, self.name, self.decorators = arg_values, name, list(decorators or ())


def dtype_name(dtype) -> str:
    """``"float32"`` of ``rushlight.float32``."""
    return str(dtype).rpartition(".")[2]


def _shown(index, name, value):
    """How a value stands in the name of a test: simple ones as they are, others by number."""
    if isinstance(value, rushlight.dtype):
        return dtype_name(value)
    if isinstance(value, rushlight.device):
        return str(value)
    if isinstance(value, int | float | str):
        return f"{name}_{str(value).replace('.', '_')}"
    return f"{name}{index}"


def parametrize(arg_str: str, arg_values: Iterable, name_fn: Callable | None = None) -> Callable:
    """A decorator: the test runs once for each of `arg_values`, after
    :func:`instantiate_parametrized_tests` of its class.

    `arg_str` names one argument or several, ``"x,y"``, whose values then are tuples; a value may
    be a :class:`subtest`. `name_fn` makes the end of a test's name of its arguments.
    """
    names = [name.strip() for name in arg_str.split(",") if name.strip()]

    def variants():
        for index, value in enumerate(arg_values):
            given = value if isinstance(value, subtest) else subtest(value)
            found = [given.arg_values] if len(names) == 1 else list(given.arg_values)
            if len(found) != len(names):
                raise RuntimeError(
                    f"Expected # values == # arg names, but got: {len(found)} values and "
                    f"{len(names)} names for parametrization {arg_str!r}"
                )
            yield (
                _end(index, given, names, found, name_fn),
                dict(zip(names, found, strict=True)),
                (given.decorators),
            )

    def decorate(test):
        vars(test)["_variants"] = [variants, *vars(test).get("_variants", ())]
        return test

    return decorate


def _end(index, given, names, values, name_fn):
    """The end of the name of one test."""
    if given.name:
        return given.name
    if name_fn is not None:
        return name_fn(*values)
    return "_".join(_shown(index, n, v) for n, v in zip(names, values, strict=True))


def instantiate_parametrized_tests(generic_cls: type) -> type:
    """Replace every parametrized test of a class by one method for each of its variants."""
    for name, test in inspect.getmembers(generic_cls, inspect.isfunction):
        sources = vars(test).get("_variants")
        if sources is None:
            continue
        delattr(generic_cls, name)
        for chosen in itertools.product(*(make() for make in sources)):
            ends, arguments, decorators = zip(*chosen, strict=True)
            full = "_".join((name, *ends))
            if hasattr(generic_cls, full):
                raise RuntimeError(f"Redefinition of test {full}")
            values = {key: value for each in arguments for key, value in each.items()}
            method = _variant(test, full, values)
            for decorator in itertools.chain.from_iterable(decorators):
                method = decorator(method)
            setattr(generic_cls, full, method)
    return generic_cls


def _variant(test, name, values):
    @functools.wraps(test)
    def run(self, *args, **kwargs):
        return test(self, *args, **values, **kwargs)

    run.__name__ = run.__qualname__ = re.sub(r"\s", "_", name)
    del vars(run)["_variants"]
    return run


def decorateIf(decorator: Callable, predicate_fn: Callable) -> Callable:  # noqa: N802 - PyTorch's
    """A decorator: the test is decorated where `predicate_fn` of its arguments, a dict, is true."""

    def decorate(test):
        decorated = decorator(test)

        @functools.wraps(test)
        def run(self, *args, **kwargs):
            return (decorated if predicate_fn(kwargs) else test)(self, *args, **kwargs)

        return run

    return decorate

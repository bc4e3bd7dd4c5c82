"""Functions that fill a tensor with samples, in programs that are captured: one step that writes,
and in programs without writes one that gives a new tensor."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable

from rushlight.ops._table.aten import in_aten
from rushlight.tensor.dispatch import STATE, captured, through_levels
from rushlight.tensor.tensor import EXACT

BY_VALUE: dict[Callable, Callable] = {}  # functions that fill -> those that give new tensors


def draws(*schemas, by_value, call=None):
    """Declare a function that fills its first argument. `schemas` are ATen's; ``call(*args)`` gives
    the values by their arguments, which the function has too without it; `by_value` is ATen's name,
    with an overload if it has one, of the same that gives a new tensor."""
    name = schemas[0].partition("(")[0].partition(".")[0]

    def decorate(function):
        values = call or functools.partial(_named, inspect.signature(function))

        @functools.wraps(function)
        def filling(self, *args, **named):
            if STATE.levels:
                found = _step(filling, self, args, named)
                if found is not NotImplemented:
                    return found
            return function(self, *args, **named)

        drawn = _by_value(filling, name, by_value, schemas, values)

        def written(self, *args, **named):
            return self.copy_(drawn(self, *args, **named))

        BY_VALUE[filling] = drawn
        return in_aten(
            *schemas, call=lambda *args, **named: (name, _given(values, args, named)),
            run={name: filling}, functional=written,
        )(filling)  # fmt: skip

    return decorate


def _named(signature, *args, **named):
    return dict(signature.bind(*args, **named).arguments)


def _given(call, args, named):
    """The values by ATen's arguments; generators are none that a program can have."""
    return call(*args, **{key: value for key, value in named.items() if key != "generator"})


def _step(function, self, args, named):
    """The result of a call that is a step of a program; NotImplemented elsewhere."""
    found = captured(function, (self, *args), named)
    if found is not NotImplemented or type(self) in EXACT:
        return found
    if getattr(self, "_level", None) is None or not type(self).takes(function):
        return NotImplemented
    return through_levels(function, (self,), (self, *args), named)


def _by_value(filling, name, by_value, schemas, call):
    """The function that gives a new tensor of samples, in the shape and strides of another."""
    own, _, overload = by_value.partition(".")

    def drawn(self, *args, **named):
        if STATE.levels:
            found = _step(drawn, self, args, named)
            if found is not NotImplemented:
                return found
        made = self.new_empty_strided(self.shape, self.stride())
        return filling(made, *args, **named)

    drawn.__name__ = drawn.__qualname__ = own
    texts = (_functional(text, name, own, overload) for text in schemas)
    run = {} if overload else {own: drawn}
    return in_aten(*texts, call=lambda *args, **named: (own, _given(call, args, named)), run=run)(
        drawn
    )


def _functional(schema, name, own, overload):
    head, rest = schema.removeprefix(name).split("(", 1)
    if overload and head == ".float":
        head, rest = f".{overload}", re.sub("(float p)=[0-9.]+", r"\1", rest)
    return own + head + "(" + rest.replace("Tensor(a!)", "Tensor")

"""Functions that are no ops themselves but run in float32 inside an autocast region."""

from __future__ import annotations

import functools

from rushlight.tensor.dispatch import STATE, stack


def in_float32(function):
    """`function` with its float inputs widened while an interpreter of the thread asks for it: one
    with a method ``widen(value)``."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if STATE.modes:
            for interpreter in reversed(stack.interpreters):
                widen = getattr(interpreter, "widen", None)
                if widen is not None:
                    args = [widen(value) for value in args]
                    kwargs = {name: widen(value) for name, value in kwargs.items()}
                    break
        return function(*args, **kwargs)

    return call

"""Tensors that a traced function makes without any traced argument: these calls are recorded too.

While a trace runs, the functions of the top level that make tensors are replaced by ones that keep
the call. A function that was imported by its name before is not seen: its tensor is a constant.
"""

from __future__ import annotations

import functools
import threading

import rushlight
from rushlight.jit import tensors, tree
from rushlight.jit.tracer.trace_state import ACTIVE

_HOMES = ("rushlight.ops.creation.", "rushlight.ops.random.")
_DATA = ("tensor", "as_tensor", "from_numpy", "asarray", "frombuffer", "scalar_tensor")
_AT = (1, 0, 1)


def _makers():
    """The functions that make tensors of sizes, by name."""
    for name, value in list(vars(rushlight).items()):
        module = getattr(value, "__module__", None) or ""
        made = callable(value) and not isinstance(value, type) and module.startswith(_HOMES)
        if made and name not in _DATA and not name.endswith("_"):
            yield name, value


class recorded_creations:  # noqa: N801 - reads as a word
    """Inside, calls of this thread that make tensors go to a recorder."""

    def __init__(self, recorder):
        self.recorder, self.thread = recorder, threading.get_ident()
        self.replaced: dict = {}

    def __enter__(self):
        for name, function in _makers():
            self.replaced[name] = function
            setattr(rushlight, name, self.recording(name, function))

    def __exit__(self, *exc):
        for name, function in self.replaced.items():
            setattr(rushlight, name, function)

    def recording(self, name, function):
        """The function that keeps calls of another."""

        @functools.wraps(function)
        def call(*args, **kwargs):
            elsewhere = not ACTIVE or ACTIVE[-1] is not self.recorder
            if elsewhere or threading.get_ident() != self.thread:
                return function(*args, **kwargs)
            if self.recorder.sees((args, kwargs)):
                return function(*args, **kwargs)
            return self.recorder.created(name, function, args, kwargs)

        call._jit_replaces = function
        return call


def method(name):
    """A method of traced tensors that makes a new one."""

    def call(self, *args, **kwargs):
        recorder = ACTIVE[-1]
        values = [recorder.expr(v) for v in (self, *args)]
        named = {k: recorder.expr(v) for k, v in kwargs.items()}
        target = tensors.OnTensor(name)
        made = tree.Call(target, values, named, type=tree.UNKNOWN, at=_AT)
        found = recorder.run(getattr(type(self._inner), name), (self, *args), kwargs)
        return recorder.keep(made, found)

    call.__name__ = name
    return call

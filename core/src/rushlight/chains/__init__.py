"""Elementwise chains of Python functions as single kernels, for :func:`rushlight.compile`.

Nothing is captured and nothing is guarded: the function runs as Python at every call, with its
control flow, prints and prunings, so there are no graph breaks and no recompilation when a shape or
a branch changes. What is compiled are the chains of elementwise operations it happens to compute:
each runs as one pass over memory, forward and backward. Values inside of a chain are not kept, so
a chain also saves memory; backward computes them again.
"""

from __future__ import annotations

from rushlight.nn.module import Module

__all__ = ["chained"]


class _Worth:
    """For which arguments of a function deferring pays; its first call with their shapes tells."""

    LIMIT = 1024  # kinds of calls that are remembered

    def __init__(self, function):
        self.function, self.plain = function, set()

    def kind(self, args, kwargs):
        """What the work of a call depends on, or None for arguments on a GPU."""
        from rushlight.autograd.mode import mode
        from rushlight.devices import cpu
        from rushlight.tensor.tensor import EXACT

        shapes = []
        for value in (*args, *kwargs.values()):
            if type(value) in EXACT:
                if value._device is not cpu:
                    return None  # a kernel less is a launch less, whatever its size
                shapes.append(value._array.shape)
            elif isinstance(value, Module):
                shapes.append(value.training)
        return mode.recording, getattr(self.function, "training", None), *shapes

    def note(self, kind, chains):
        """Remember what a call has shown."""
        if kind is not None and not chains.pays():
            if len(self.plain) >= self.LIMIT:
                self.plain.clear()
            self.plain.add(kind)


def chained(function):
    """The function, run with its elementwise chains deferred where that pays."""
    worth = _Worth(function)

    def run(*args, **kwargs):
        from rushlight.chains.deferred import Chains
        from rushlight.settings import kernels_mode
        from rushlight.tensor.dispatch import stack

        if stack.interpreters or stack.levels or kernels_mode() == "reference":
            return function(*args, **kwargs)  # autocast, a profiler or a transform sees every op
        kind = worth.kind(args, kwargs)
        if kind in worth.plain:
            return function(*args, **kwargs)
        with Chains() as chains:
            result = function(*args, **kwargs)
        worth.note(kind, chains)
        return result

    return run

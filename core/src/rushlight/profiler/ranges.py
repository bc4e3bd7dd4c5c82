"""`record_function`: a range of a program that a profile shows under a name."""

from __future__ import annotations

import functools
from time import perf_counter_ns

from rushlight.profiler import recorder


class record_function:  # noqa: N801 - PyTorch's name
    """A range with a name: ``with record_function("forward"):``, or a decorator of a function.

    Costs next to nothing while no profiler runs.
    """

    def __init__(self, name: str, args: str | None = None):
        if not isinstance(name, str):
            raise TypeError(
                f"record_function: expected 'name' to be a str, got {type(name).__name__}"
            )
        self.name, self.args = name, args
        self._began: list = []

    def __enter__(self):
        self._began.append(perf_counter_ns() if recorder.active() is not None else None)
        return self

    def __exit__(self, *exc):
        began = self._began.pop()
        found = recorder.active()
        if began is not None and found is not None:
            found.note(self.name, max(began, found.begin))

    def __call__(self, function):
        """The function, each call of which is such a range."""

        @functools.wraps(function)
        def call(*args, **kwargs):
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return call

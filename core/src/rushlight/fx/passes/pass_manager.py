"""The former manager of passes: functions of anything that give the like, in a checked order."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

from rushlight.fx.passes.infra.pass_manager import check_order

__all__ = [
    "PassManager", "inplace_wrapper", "log_hook", "loop_pass",
    "these_before_those_pass_constraint", "this_before_that_pass_constraint",
]  # fmt: skip

logger = logging.getLogger(__name__)


def inplace_wrapper(fn: Callable) -> Callable:
    """A pass of a function that changes its first argument: it gives that argument.

    Example:
        >>> from rushlight.fx.passes.pass_manager import inplace_wrapper
        >>> inplace_wrapper(list.reverse)([1, 2])
        [2, 1]
    """

    @functools.wraps(fn)
    def wrapped(source, *args, **kwargs):
        fn(source, *args, **kwargs)
        return source

    return wrapped


def log_hook(fn: Callable, level: int = logging.INFO) -> Callable:
    """The same pass, which writes what it gives to the log of this module.

    Args:
        fn: the pass.
        level: of the message.

    Example:
        >>> from rushlight.fx.passes.pass_manager import log_hook
        >>> log_hook(sorted)([2, 1])
        [1, 2]
    """

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        found = fn(*args, **kwargs)
        logger.log(level, "Ran pass %s\t Return value: %s", fn, found)
        return found

    return wrapped


def loop_pass(
    base_pass: Callable, n_iter: int | None = None, predicate: Callable | None = None
) -> Callable:
    """A pass that runs another one again and again.

    Args:
        base_pass: the other pass.
        n_iter: how often it runs.
        predicate: it runs while this is true of what it gave last.

    Raises:
        AssertionError: neither or both of `n_iter` and `predicate` are given.

    Example:
        >>> from rushlight.fx.passes.pass_manager import loop_pass
        >>> loop_pass(lambda n: n * 2, predicate=lambda n: n < 20)(3)
        24
    """
    if (n_iter is None) == (predicate is None):
        raise AssertionError("Exactly one of `n_iter`or `predicate` must be specified.")

    @functools.wraps(base_pass)
    def looped(source):
        if predicate is None:
            for _ in range(n_iter):
                source = base_pass(source)
            return source
        while predicate(source):
            source = base_pass(source)
        return source

    return looped


def this_before_that_pass_constraint(this: Callable, that: Callable) -> Callable:
    """A constraint of :class:`PassManager`: `this` runs before `that`, where both are there.

    Example:
        >>> from rushlight.fx.passes.pass_manager import this_before_that_pass_constraint
        >>> this_before_that_pass_constraint(min, max)(max, min)
        False
    """
    return lambda first, second: first is not that or second is not this


def these_before_those_pass_constraint(these: Callable, those: Callable) -> Callable:
    """The same for passes that are wrapped: `these` and `those` are the functions inside, which
    passes have as ``__wrapped__``.

    Example:
        >>> from rushlight.fx.passes.pass_manager import inplace_wrapper
        >>> from rushlight.fx.passes.pass_manager import these_before_those_pass_constraint
        >>> first, second = inplace_wrapper(list.sort), inplace_wrapper(list.reverse)
        >>> these_before_those_pass_constraint(list.sort, list.reverse)(second, first)
        False
    """

    def constraint(first, second):
        return _inner(first) is not those or _inner(second) is not these

    return constraint


def _inner(function):
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


class PassManager:
    """Runs passes one after the other: functions that take what the one before gave.

    Args:
        passes: functions of one argument.
        constraints: ``constraint(a, b)`` says whether `a` may run before `b`.

    Raises:
        RuntimeError: a call finds that the order breaks a constraint.

    Example:
        >>> from rushlight.fx.passes.pass_manager import PassManager
        >>> PassManager([sorted, tuple])([2, 1])
        (1, 2)
    """

    def __init__(
        self, passes: list[Callable] | None = None, constraints: list[Callable] | None = None
    ) -> None:
        self.passes, self.constraints = list(passes or ()), list(constraints or ())
        self._validated = False

    @classmethod
    def build_from_passlist(cls, passes: list[Callable]) -> PassManager:
        """A manager of these passes, without constraints."""
        return cls(passes)

    def add_pass(self, _pass: Callable) -> None:
        """Add a pass behind the others."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Callable) -> None:
        """Add a constraint on the order."""
        self.constraints.append(constraint)
        self._validated = False

    def remove_pass(self, _passes: list[str]) -> None:
        """Remove the passes of these names."""
        self.passes = [each for each in self.passes if each.__name__ not in _passes]
        self._validated = False

    def replace_pass(self, _target: Callable, _replacement: Callable) -> None:
        """Put a pass where another one is, of the same name."""
        self.passes = [
            _replacement if each.__name__ == _target.__name__ else each for each in self.passes
        ]
        self._validated = False

    def validate(self) -> None:
        """Raise RuntimeError where the order of the passes breaks a constraint."""
        if self._validated:
            return
        check_order(self.passes, self.constraints)
        self._validated = True

    def __call__(self, source: Any) -> Any:
        """What the passes make of `source`."""
        self.validate()
        for each in self.passes:
            source = each(source)
        return source

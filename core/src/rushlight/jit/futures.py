"""``fork`` and ``wait``: work that may run beside other work. Here it runs when it is forked."""

from __future__ import annotations

import types
from typing import Any

from rushlight.jit import tree
from rushlight.jit.kinds import Type
from rushlight.jit.targets import Target


class Future:
    """The result of forked work.

    >>> rushlight.jit.fork(lambda x: x + 1, 2).wait()
    3
    """

    __class_getitem__: Any = classmethod(types.GenericAlias)

    def __init__(self, value):
        self._value = value

    def wait(self):
        """The result."""
        return self._value

    def value(self):
        """The result."""
        return self._value

    def done(self) -> bool:
        """Whether it is there: always."""
        return True


def fork(func, *args, **kwargs):
    """Run a function and keep its result; PyTorch may run it in another thread."""
    return Future(func(*args, **kwargs))


def wait(future):
    """The result of a :class:`Future`."""
    return future.wait()


class _Fork(Target):
    """``fork(f, ...)``; the argument is the call itself."""

    def written(self, printer, call):
        """``fork(f, ...)``."""
        inner = call.args[0]
        if not isinstance(inner, tree.Call):
            raise printer.refused(
                "a loaded program that forks a function inside of another one cannot be saved "
                "anew: copy its file"
            )
        name = printer.function(getattr(inner.target, "function", None))
        return f"fork({name}, {printer.arguments(inner.args, inner.kwargs)})"


class _Wait(Target):
    """``wait(future)``."""

    def written(self, printer, call):
        """``torch.wait(future)``."""
        return f"torch.wait({printer.arguments(call.args, {})})"


def forked(value, at):
    """The call of :func:`fork` whose result is `value`."""
    return tree.Call(FORK, [value], {}, type=Type("Future", value.type), at=at)


FORK, WAIT = _Fork(Future), _Wait(wait)

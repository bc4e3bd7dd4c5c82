"""Context managers that decorate functions: the base classes that libraries derive theirs from."""

from __future__ import annotations

import inspect
import warnings

from rushlight.autograd.decorators import run_inside
from rushlight.refusals import rest_of

__all__ = ["context_decorator"]


def context_decorator(ctx, func):
    """`func`, with each of its calls inside of a context manager.

    ctx: a context manager, or a function that gives one for each call.
    func: a function, or a generator function, whose body runs inside of it.

    Raises RuntimeError where `func` is a class, and AssertionError where `ctx` is a context manager
    that can be called too, of which nobody could tell which of the two is meant.

    Example:
        >>> import contextlib
        >>> from rushlight.utils._contextlib import context_decorator
        >>> quiet = context_decorator(lambda: contextlib.suppress(KeyError), lambda: {}["a"])
        >>> quiet() is None
        True
    """
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(
            f"context_decorator(): ctx is {ctx!r}, a context manager that can be called as well; "
            "pass lambda: ctx() or lambda: ctx, whichever is meant"
        )
    if inspect.isclass(func):
        raise RuntimeError(
            f"context_decorator(): func is the class {func.__name__}; decorate its methods one by "
            "one, so that it is clear which of them run inside of the manager"
        )
    return run_inside(ctx if callable(ctx) else lambda: ctx, func)


class _DecoratorContextManager:
    """A context manager that decorates functions, too; each call runs inside of a `clone`.

    A class with settings of its own overrides `clone` so that the copy has them.
    """

    def __call__(self, orig_func):
        if not inspect.isclass(orig_func):
            return context_decorator(self.clone, orig_func)
        warnings.warn(
            f"{type(self).__name__} decorates the class {orig_func.__name__}, which makes a "
            "function of it; decorate its methods instead",
            FutureWarning,
            stacklevel=2,
        )
        return context_decorator(self.clone, lambda *args, **kwargs: orig_func(*args, **kwargs))

    def __enter__(self):
        raise NotImplementedError(f"{type(self).__name__} has to define __enter__")

    def __exit__(self, exc_type, exc_value, traceback):
        raise NotImplementedError(f"{type(self).__name__} has to define __exit__")

    def clone(self):
        """A new manager of the class."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One without settings, which decorates with and without parentheses."""

    def __new__(cls, orig_func=None):
        self = super().__new__(cls)
        return self if orig_func is None else self(orig_func)


__getattr__ = rest_of(__name__)

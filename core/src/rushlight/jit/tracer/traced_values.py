"""What a traced function is given: tensors whose calls are recorded, and their sizes."""

from __future__ import annotations

import operator
import warnings

from rushlight.jit import tree
from rushlight.jit.kinds import INT
from rushlight.jit.tracer import creations
from rushlight.jit.tracer.trace_state import TracerWarning
from rushlight.ops._transforms.wrappers import Wrapped


def _expr(value):
    return value.expr if isinstance(value, TracedSize) else tree.Const(int(value), type=INT)


def _arithmetic(symbol, function, swapped=False):
    def call(self, other):
        if type(other) not in (int, TracedSize):
            return function(other, int(self)) if swapped else function(int(self), other)
        sides = (other, self) if swapped else (self, other)
        made = tree.Binary(symbol, *map(_expr, sides), type=INT)
        return TracedSize(function(*map(int, sides)), made)

    return call


class TracedSize(int):
    """A size of a traced tensor: a number that knows how the program finds it."""

    def __new__(cls, value, expr):
        """A number with its expression."""
        made = super().__new__(cls, value)
        made.expr = expr
        return made

    __add__ = _arithmetic("+", operator.add)
    __radd__ = _arithmetic("+", operator.add, True)
    __sub__ = _arithmetic("-", operator.sub)
    __rsub__ = _arithmetic("-", operator.sub, True)
    __mul__ = _arithmetic("*", operator.mul)
    __rmul__ = _arithmetic("*", operator.mul, True)
    __floordiv__ = _arithmetic("//", operator.floordiv)
    __rfloordiv__ = _arithmetic("//", operator.floordiv, True)
    __mod__ = _arithmetic("%", operator.mod)
    __rmod__ = _arithmetic("%", operator.mod, True)


def _looked_at(what):
    warnings.warn(
        f"Converting a tensor to a Python {what} might cause the trace to be incorrect. We can't "
        "record the data flow of Python values, so this value will be treated as a constant in "
        "the future. This means that the trace might not generalize to other inputs!",
        TracerWarning,
        stacklevel=3,
    )


class Traced(Wrapped):
    """A tensor of a traced function. ``_recorded`` is its expression in the program."""

    __slots__ = ()
    _asked_by_ops = False  # public functions are recorded, not the ops inside of them

    @property
    def shape(self):
        """The sizes, which the program finds again for other inputs."""
        return self.size()

    def size(self, dim=None):
        """The sizes, or one of them."""
        from rushlight.jit.tracer.tracing import size_of

        sizes = self._inner.shape
        if dim is None:
            return tuple(TracedSize(n, size_of(self, i)) for i, n in enumerate(sizes))
        at = dim % len(sizes)
        return TracedSize(sizes[at], size_of(self, at))

    def _rewrapped(self, inner):
        """The same values without their history: ``detach``."""
        from rushlight.jit.tracer.tracing import detached

        return detached(self, inner)

    def item(self):
        """The number in a tensor of one element: a constant of the program."""
        _looked_at("number")
        return self._inner.item()

    def tolist(self):
        """The elements: constants of the program."""
        _looked_at("list")
        return self._inner.tolist()

    def numpy(self, **options):
        """The elements as an array: constants of the program."""
        _looked_at("array")
        return self._inner.detach().numpy(**options)

    new_zeros, new_ones = creations.method("new_zeros"), creations.method("new_ones")
    new_full, new_empty = creations.method("new_full"), creations.method("new_empty")
    new_tensor = creations.method("new_tensor")

    def __bool__(self):
        _looked_at("boolean")
        return bool(self._inner)

    def __int__(self):
        _looked_at("integer")
        return int(self._inner)

    def __float__(self):
        _looked_at("float")
        return float(self._inner)

    def __index__(self):
        _looked_at("index")
        return self._inner.__index__()


class TracedInside(Traced):
    """A tensor inside of a function that archives have nothing for: its ops are recorded."""

    __slots__ = ()
    _asked_by_ops = True

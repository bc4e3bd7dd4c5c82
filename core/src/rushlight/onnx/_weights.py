"""What a program computes of its weights alone, as constants of the model.

ONNX has no factorizations, solvers or matrix exponentials; where these see parameters, buffers and
constants, and no input, their results are as fixed as the weights are.
"""

from __future__ import annotations

import operator

import rushlight
from rushlight.fx.node import Node, map_aggregate

_LARGEST = 1 << 24  # elements of such a result


class _OfInputsError(Exception):
    """A value depends on what the model is called with, or on draws."""


class Weights:
    """The values of nodes of one program that depend on its weights alone."""

    def __init__(self, stored):
        self.stored = stored  # node of an input of the program -> its tensor, or None
        self.known: dict = {}

    def value(self, node):
        """What a node computes; None where that depends on more than weights."""
        try:
            with rushlight.no_grad():
                found = self._value(node)
        except _OfInputsError:
            return None
        return found if _is_small(found) else None

    def _value(self, node):
        if node not in self.known:
            self.known[node] = self._computed(node)
        return self.known[node]

    def _computed(self, node):
        if node.op == "placeholder":
            found = self.stored(node)
            if found is None:
                raise _OfInputsError
            return found
        if node.op != "call_function" or _is_drawn(node) or node.target is rushlight.cond:
            raise _OfInputsError
        read = lambda v: self._value(v) if isinstance(v, Node) else v  # noqa: E731
        return node.target(*map_aggregate(node.args, read), **map_aggregate(node.kwargs, read))


def _is_small(value):
    values = value if isinstance(value, tuple | list) else (value,)
    return all(isinstance(v, rushlight.Tensor) and v.numel() <= _LARGEST for v in values)


def _is_drawn(node):
    """Whether a call draws random numbers, or writes to its arguments."""
    if node.target is operator.getitem:
        return False
    op = getattr(node.target, "_schema", None)
    name = str(node.target)
    words = ("rand", "bernoulli", "dropout", "multinomial", "normal", "poisson", "exponential")
    return op is None or op.is_mutable or any(word in name for word in words)

"""Numbers that a part of a program is given, and that differ from call to call.

The first value is a constant of the graph. Once another one comes the number is an input, as long
as it takes part in arithmetic, comparisons and elementwise ops alone. What a comparison gives is
guarded; what makes a shape of a number ends the capture, and the part has a graph for each value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from rushlight.ops._transforms.capturing import Captured

_ARITHMETIC = frozenset([
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow,
])  # fmt: skip
_COMPARISONS = frozenset(
    [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
)
_KINDS = (int, float)


class Leaf(NamedTuple):
    """One of the arguments."""

    number: int

    def of(self, leaves):
        """Its value in a call."""
        return leaves[self.number]


class Operation(NamedTuple):
    """What a function gives of two numbers, which are constants or expressions like this one."""

    function: Callable
    left: Any
    right: Any

    def of(self, leaves):
        """Its value in a call."""
        return self.function(_of(self.left, leaves), _of(self.right, leaves))


def _of(side, leaves):
    return side.of(leaves) if type(side) in (Leaf, Operation) else side


def hold(conditions, leaves) -> bool:
    """Whether comparisons of numbers give what they gave when a graph was captured; `conditions`:
    pairs of an expression and that."""
    try:
        return all(each.of(leaves) is outcome for each, outcome in conditions)
    except ArithmeticError:
        return False


class Number:
    """A number of which a program must not see the value: `drawn_node` is its node, `expression`
    what it is computed of, `conditions` what comparisons of the program's numbers gave.

    It is no Python number, so that nothing of Python's own takes its value for a constant.
    """

    __slots__ = ("conditions", "drawn_node", "expression", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value, node, expression, conditions):
        self.value, self.drawn_node = value, node
        self.expression, self.conditions = expression, conditions
        node.meta["val"] = value

    def __eq__(self, other):
        raise TypeError("it compares a number that differs from call to call")

    def as_plain(self):
        """The number of this call alone."""
        return self.value


class _Int(int):
    """A whole number as an argument of an op."""

    def as_plain(self):
        return int(self)


class _Float(float):
    """A float as an argument of an op."""

    def as_plain(self):
        return float(self)


def as_argument(value):
    """A value as ops take it; the recorder knows the node of a number."""
    if type(value) is not Number:
        return value
    made = (_Int if type(value.value) is int else _Float)(value.value)
    made.drawn_node = value.drawn_node
    return made


def joined(function, left, right):
    """What an operator gives of numbers, or of one and a tensor; NotImplemented for others."""
    other = right if type(left) is Number else left
    if isinstance(other, Captured):
        return function(as_argument(left), as_argument(right))
    if function not in _ARITHMETIC | _COMPARISONS or type(other) not in (*_KINDS, Number):
        return NotImplemented
    known = left if type(left) is Number else right
    values, nodes, expressions = zip(*map(_parts, (left, right)), strict=True)
    value, expression = function(*values), Operation(function, *expressions)
    if function in _COMPARISONS:
        known.conditions.append((expression, value))
        return value
    if type(value) not in _KINDS:
        return NotImplemented
    node = known.drawn_node.graph.create_node("call_function", function, nodes, {})
    return Number(value, node, expression, known.conditions)


def _parts(value):
    """The value, the node and the expression of a number; of a constant itself."""
    if type(value) is Number:
        return value.value, value.drawn_node, value.expression
    return value, value, value


class Varying:
    """Which numbers among the arguments of a function differ from call to call."""

    def __init__(self):
        self.seen: dict = {}  # kind of arguments without numbers -> the first, those that differ

    def form(self, kind):
        """The kind of some arguments with nothing but the class of numbers that differ, and where
        in it these are."""
        bare = tuple([each[0] if _is_of_number(each) else each for each in kind])
        first, differing = self.seen.setdefault(bare, (kind, set()))
        differing |= {i for i, pair in enumerate(zip(first, kind, strict=True)) if _differ(*pair)}
        form = tuple([bare[i] if i in differing else each for i, each in enumerate(kind)])
        return form, differing


def _differ(a, b):
    return _is_of_number(a) and a != b


def _is_of_number(each):
    return type(each) is tuple and len(each) == 2 and each[0] in _KINDS

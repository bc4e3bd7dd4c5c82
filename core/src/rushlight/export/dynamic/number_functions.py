"""Functions of numbers as expressions have them: what nodes call, and what that gives."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

from rushlight import symbolic_numbers
from rushlight.export.dynamic.expressions import Expression, SymFloat, add, number, times

# What expressions call the functions of nodes, where they do not have them by themselves.
_KINDS: dict[Callable, Any] = {
    symbolic_numbers.sym_float: float, symbolic_numbers.sym_max: max,
    symbolic_numbers.sym_min: min, symbolic_numbers.sym_int: math.trunc,
}  # fmt: skip
_OWN = (
    operator.add, operator.mul, operator.floordiv, operator.mod, operator.truediv, operator.pow,
    operator.abs, math.floor, math.ceil, math.trunc, builtins.round, symbolic_numbers.sym_sqrt,
)  # fmt: skip
# Those of nodes that only programs have which compute with sizes by nodes.
UNFITTED = (operator.abs, math.floor, math.ceil, math.trunc, builtins.round)
_MINUS = number(-1)


def expression_of(value) -> Expression:
    """The expression of a number."""
    if isinstance(value, SymFloat) and value.form != "itself":
        if value.form != "number":
            raise ValueError(f"the {value.form} of a size has no expression of floats")
        return Expression(float, (value.expression,))
    found = getattr(value, "expression", None)
    return Expression("number", (value,)) if found is None else found


def combined(function, values) -> Expression | None:
    """The expression of what a function gives for numbers; None of one that has none."""
    if function is builtins.round and values[-1] is None:
        values = values[:1]  # to a whole number
    parts = tuple(map(expression_of, values))
    if function is operator.sub:
        return add(parts[0], times(_MINUS, parts[1]))
    if function is operator.neg:
        return times(_MINUS, parts[0])
    if function is operator.pos:
        return parts[0]
    kind = function if function in _OWN else _KINDS.get(function)
    return None if kind is None else Expression(kind, parts)

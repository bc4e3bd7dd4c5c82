"""What a program says of numbers that it reads from tensors: ranges, and nodes that check."""

from __future__ import annotations

import math
import operator

from rushlight.export.dynamic.drawn import expression_of, narrow
from rushlight.export.dynamic.expressions import (
    Expression,
    SymBool,
    SymInt,
    ValueRanges,
    comparison_text,
    number,
    symbol,
)
from rushlight.export.dynamic.fitting import DifferentProgramsError
from rushlight.library.operators import lookup


def conditions_of(draws, quantities) -> list[tuple]:
    """What the captures say of numbers: a function and two expressions each."""
    rows = list(zip(*(each.conditions for each in draws), strict=False))
    if any(len(each.conditions) != len(rows) for each in draws):
        raise DifferentProgramsError("the number of checks differs")
    found = [
        (row[0].kind, *(_side([getattr(c, side) for c in row], draws, quantities)
                        for side in ("left", "right")))
        for row in rows
    ]  # fmt: skip
    return list(dict.fromkeys(found))


def _side(values, draws, quantities):
    """One side of a comparison: as the program computes it, unless sizes of inputs are part."""
    own = expression_of(values[0])
    if all(own.value(d.values) == v for d, v in zip(draws, map(int, values), strict=True)):
        return own
    found = quantities.number(tuple(map(int, values)))
    if found is None:
        raise DifferentProgramsError(f"a side of a check, {values}, has no expression")
    return found.expression if isinstance(found, SymInt) else number(found)


def limits_of(draws, conditions) -> dict[str, list]:
    """The limits of each number: of those that the captures have, and by the conditions."""
    found: dict[str, list] = {}
    for name in draws[0].values if draws else ():
        pairs = [each.limits[name] for each in draws]
        # a limit that follows the sizes of inputs is none of its own
        low, high = ({pair[i] for pair in pairs} for i in (0, 1))
        found[name] = [
            low.pop() if len(low) == 1 else -math.inf,
            high.pop() if len(high) == 1 else math.inf,
        ]
    for _ in range(2):  # what one says of a sum depends on what others say of its terms
        for kind, left, right in conditions:
            narrow(found, kind, left, right)
    return found


def ranges_of(limits) -> dict:
    """The limits as ranges by symbol."""
    return {symbol(name): ValueRanges(low, high) for name, (low, high) in limits.items()}


class Assertions:
    """Adds nodes that check what is said to a graph; `writer` adds those that compute numbers."""

    def __init__(self, graph, writer, sample):
        self.graph, self.writer, self.sample = graph, writer, sample
        self.ops, self.last = lookup("aten"), {}

    def write(self, origins, limits, conditions, checked):
        """The numbers; where they are checked, nodes for their limits and for other conditions."""
        own = {node.name: node for node in self.graph.nodes}  # origins may be those of a copy
        for name, (node, dim) in origins.items():
            self._number(name, own[node.name], dim)
            if checked:
                self._limits(name, *limits[name])
        if checked:
            self._others(origins, limits, conditions)

    def _others(self, origins, limits, conditions):
        """What limits do not say."""
        told = {(k, str(symbol(n)), v) for n, (a, b) in limits.items()
                for k, v in ((operator.ge, a), (operator.le, b))}  # fmt: skip
        for kind, left, right in conditions:
            names = [n for n in origins if n in left.symbols() | right.symbols()]
            plain = right.parts[0] if right.kind == "number" else None
            if names and (kind, str(left), plain) not in told:
                self._condition(kind, left, right, names[-1])

    def _number(self, name, node, dim):
        """The node that is a number: what reads it, or the size of a result."""
        if dim is None:
            made = node
        else:
            with self.graph.inserting_after(node):
                made = self.graph.call_function(self.ops.sym_size.int, (node, dim))
        made.meta["val"] = SymInt(self.sample[name], symbol(name))
        self.writer.made[symbol(name)] = self.last[name] = made

    def _limits(self, name, low, high):
        if low != -math.inf:
            self._condition(operator.ge, symbol(name), number(low), name)
        if high != math.inf:
            self._condition(operator.le, symbol(name), number(high), name)

    def _condition(self, kind, left: Expression, right: Expression, name):
        """A comparison, and a node that ends the program where it does not hold."""
        after = self.last[name].next
        sides = [self.writer.expression(side, after) for side in (left, right)]
        text = comparison_text(kind, left, right)
        with self.graph.inserting_before(after):
            made = self.graph.call_function(kind, tuple(sides))
            message = f"Runtime assertion failed for expression {text} on node '{made.name}'"
            checks = self.graph.call_function(self.ops._assert_scalar.default, (made, message))
        made.meta["val"], checks.meta["val"] = SymBool(kind, left, right), None
        self.last[name] = checks

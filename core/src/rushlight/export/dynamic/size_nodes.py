"""The nodes of a graph that compute sizes: expressions of the sizes of its inputs."""

from __future__ import annotations

import itertools
import math
import operator

from rushlight import symbolic_numbers
from rushlight.export.dynamic.expressions import (
    Expression,
    SymFloat,
    SymInt,
    add,
    number,
    simplest,
    symbol,
)
from rushlight.fx.node import Node
from rushlight.library.operators import lookup


class SizeNodes:
    """Adds the nodes that compute expressions. `sizes` are those of a graph's inputs by placeholder
    and dimension, `sample` a number for each symbol."""

    def __init__(self, graph, sizes, sample):
        self.graph, self.sizes, self.sample = graph, sizes, sample
        self.made: dict = {}
        self.last = ([n for n in graph.nodes if n.op == "placeholder"] or [None])[-1]
        self.ops = lookup("aten")

    def with_size(self, name, node):
        """A tensor that a node may read and that has the size of a symbol; None without one."""
        with_it = [
            key for key, e in self.sizes.items() if name in e.symbols() and key[1] is not None
        ]
        if with_it:
            return with_it[0][0]
        for other in itertools.takewhile(lambda n: n is not node, self.graph.nodes):
            for size in other.meta.get("sizes") or ():
                if isinstance(size, SymInt) and size.expression == symbol(name):
                    return other
        return None

    def written(self, value, node):
        """A structure with nodes instead of numbers that depend on sizes."""
        if isinstance(value, SymInt):
            return self.expression(value.expression, node)
        if isinstance(value, SymFloat):
            return self._float(value, node)
        if isinstance(value, tuple | list):
            items = [self.written(v, node) for v in value]
            return type(value)(items) if not hasattr(value, "_fields") else type(value)(*items)
        if isinstance(value, dict):
            return {k: self.written(v, node) for k, v in value.items()}
        if isinstance(value, slice):
            return slice(*self.written([value.start, value.stop, value.step], node))
        return value

    def expression(self, expression: Expression, node):
        """The node of an expression, which stands before another; a number as such."""
        if expression.kind == "number":
            return expression.parts[0]
        if expression not in self.made:
            if expression.kind == "symbol":
                made = self._symbol(expression)
            else:
                made = self._operation(expression, node)
            self.made[expression] = made
        return self.made[expression]

    def _symbol(self, expression):
        """A size of an input; of one that is ``a * size + b``, what it comes from."""
        name = expression.parts[0]
        (node, dim), whole = simplest(self.sizes, name)
        if dim is None:  # a number is an input
            return node
        made = self._at_start(self.ops.sym_size.int, (node, dim), whole)
        _, factor, offset = whole.line()
        if offset:
            made = self._at_start(operator.sub, (made, offset), add(whole, -offset))
        if factor != 1:
            made = self._at_start(operator.floordiv, (made, factor), expression)
        return made

    def _at_start(self, function, args, expression):
        """A node behind the inputs."""
        with self.graph.inserting_after(self.last):
            self.last = self.graph.call_function(function, args)
        self.last.meta["val"] = SymInt(expression.value(self.sample), expression)
        return self.last

    def _operation(self, expression, node):
        function, parts = _FUNCTIONS.get(expression.kind, expression.kind), expression.parts
        if function is operator.mul and parts[0] == number(-1):
            function, parts = operator.neg, parts[1:]
        operands = [self.expression(part, node) for part in parts]
        if function is operator.mul and not isinstance(operands[0], Node):
            operands.reverse()
        with self.graph.inserting_before(node):
            made = self.graph.call_function(function, tuple(operands))
        plain = expression.value(self.sample)
        is_float = expression.is_float()
        made.meta["val"] = (
            SymFloat(plain, "itself", expression) if is_float else SymInt(plain, expression)
        )
        return made

    def _float(self, value, node):
        if value.form == "itself":
            return self.expression(value.expression, node)
        key = value.form, value.expression
        if key not in self.made:
            size = self.expression(value.expression, node)
            number = float(value.expression.value(self.sample))
            for function, before, after in _STEPS[value.form]:
                with self.graph.inserting_before(node):
                    size = self.graph.call_function(function, (*before, size, *after))
                size.meta["val"] = SymFloat(number, "number", value.expression)
            size.meta["val"] = value
            self.made[key] = size
        return self.made[key]


# How the floats of `FORMS` are computed: functions, and what stands before and after the size.
_STEPS: dict[str, list] = {
    "number": [(symbolic_numbers.sym_float, (), ())],
    "inverted": [(operator.truediv, (1,), ())],
    "root": [(symbolic_numbers.sym_float, (), ()), (operator.pow, (), (0.5,))],
    "inverted root": [(symbolic_numbers.sym_float, (), ()), (operator.pow, (), (-0.5,))],
    "logarithm": [(math.log, (), ())],
}
_FUNCTIONS = {
    max: symbolic_numbers.sym_max, min: symbolic_numbers.sym_min,
    float: symbolic_numbers.sym_float,
}  # fmt: skip

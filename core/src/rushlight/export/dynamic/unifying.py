"""From captures of a program at several sizes to one graph that computes with them."""

from __future__ import annotations

import math
import operator

from rushlight import symbolic_numbers
from rushlight.export.dynamic.asserting import Assertions, conditions_of, limits_of, ranges_of
from rushlight.export.dynamic.drawn_floats import finished
from rushlight.export.dynamic.expressions import (
    Expression,
    SymFloat,
    SymInt,
    ValueRanges,
    add,
    simplest,
    symbol,
)
from rushlight.export.dynamic.fitting import DifferentProgramsError, Quantities
from rushlight.fx.node import Node
from rushlight.library.operators import lookup
from rushlight.tensor.tensor import Tensor


class Unified:
    """The one program that several graphs are, each captured at one of `samples`.

    `doubts` are pairs of expressions that these samples do not tell apart.
    """

    def __init__(self, graphs, samples, draws=(), lengths=()):
        self.graphs, self.samples, self.draws = graphs, samples, draws
        self.graph, self.sample = graphs[0], samples[0]
        rows = list(zip(*(graph.nodes for graph in graphs), strict=False))
        if len({len(graph.nodes) for graph in graphs}) > 1:
            raise DifferentProgramsError(*_first_difference(rows))
        quantities = Quantities(samples, lengths)
        places = [{node: i for i, node in enumerate(graph.nodes)} for graph in graphs]
        self.changed: list = [_unify_node(row, quantities, places) for row in rows]
        self.sizes: list = [_sizes_of(row, quantities) for row in rows]
        self.conditions = conditions_of(draws, quantities)
        self.doubts = quantities.doubts

    def write(self, sizes, checked=True) -> dict:
        """Let the first graph compute with the sizes of its inputs, which are expressions by
        placeholder and dimension, and with numbers that it reads, which are `checked` or not; the
        ranges of these by symbol."""
        writer = _Writer(self.graph, sizes, self.sample)
        before = list(self.graph.nodes)
        limits = limits_of(self.draws, self.conditions)
        if limits:
            asserting = Assertions(self.graph, writer, self.sample)
            asserting.write(self.draws[0].origins, limits, self.conditions, checked)
        for i, node in enumerate(before):
            if self.sizes[i] is not None:
                node.meta["sizes"] = self.sizes[i]
            if self.changed[i] is not None:
                args, kwargs = self.changed[i]
                node.args = writer.written(args, node)
                node.kwargs = writer.written(kwargs, node)
        finished(self.graph)
        floats = self.draws[0].floats if self.draws else ()
        return ranges_of(limits) | {
            symbol(name): ValueRanges(-math.inf, math.inf) for name in floats
        }


def _first_difference(rows):
    for row in rows:
        if len({(n.op, _target(n)) for n in row}) > 1:
            return _two_targets(row)
    return "the number of calls differs", rows[-1][0]


def _two_targets(row):
    """What differs, and a node that knows its line of the program."""
    words = [f"calls {n.target}" if n.op == "call_function" else "ends" for n in row]
    other = next(word for word in words if word != words[0])
    where = next((n for n in row if getattr(n, "stack_trace", None)), row[0])
    return f"one size {words[0]}, another {other}", where


def _target(node):
    """What a node calls; names of inputs and attributes do not count."""
    return node.target if node.op == "call_function" else node.op


def _unify_node(row, quantities, places):
    """The arguments of a node, if some depend on sizes."""
    first = row[0]
    if len({(n.op, _target(n)) for n in row}) > 1:
        raise DifferentProgramsError(*_two_targets(row))
    unifier = _Arguments(first, quantities, places)
    args = unifier.merged([n.args for n in row])
    kwargs = unifier.merged([n.kwargs for n in row])
    return (args, kwargs) if unifier.changed else None


class _Arguments:
    """The arguments of one node in all captures as one structure."""

    def __init__(self, node, quantities, places):
        self.node, self.quantities, self.places = node, quantities, places
        self.changed = False

    def merged(self, values):
        """One value of the captures': numbers that differ have expressions."""
        first = values[0]
        if len({type(v) for v in values}) > 1:
            raise self._different(values)
        if isinstance(first, tuple | list):
            if len({len(v) for v in values}) > 1:
                raise self._different(values)
            items = [self.merged(list(column)) for column in zip(*values, strict=True)]
            return type(first)(items) if not hasattr(first, "_fields") else type(first)(*items)
        if isinstance(first, dict):
            if len({tuple(v) for v in values}) > 1:
                raise self._different(values)
            return {key: self.merged([v[key] for v in values]) for key in first}
        if isinstance(first, slice):
            parts = [[v.start, v.stop, v.step] for v in values]
            return slice(*self.merged(parts))
        if isinstance(first, Node):
            if len({place[v] for place, v in zip(self.places, values, strict=True)}) > 1:
                raise self._different(values)
            return first
        return self._leaf(first, values)

    def _leaf(self, first, values):
        if type(first) is int or isinstance(first, SymInt):
            found = self.quantities.number(tuple(map(int, values)))
        elif type(first) is float or isinstance(first, SymFloat):
            found = self.quantities.float(tuple(map(float, values)))
        else:
            if any(v != first for v in values[1:]):
                raise self._different(values)
            return first
        if found is None:
            raise self._different(values)
        self.changed = self.changed or isinstance(found, SymInt | SymFloat)
        return found

    def _different(self, values):
        texts = list(dict.fromkeys(map(str, values)))
        return DifferentProgramsError(
            f"an argument of {self.node.target} is {texts[0]} at one size and {texts[-1]} at "
            "another, which no expression of the sizes gives",
            self.node,
        )


def _sizes_of(row, quantities):
    """What is known of a value's sizes, for ``meta["sizes"]``."""
    values = [node.meta.get("val") for node in row]
    first = values[0]
    if isinstance(first, Tensor):
        return _sizes(values, quantities)
    if isinstance(first, tuple) and all(isinstance(v, Tensor) for v in first):
        return tuple(_sizes(list(column), quantities) for column in zip(*values, strict=True))
    return None


def _sizes(tensors, quantities):
    counts = [t.ndim for t in tensors]
    if len(set(counts)) > 1:
        raise DifferentProgramsError(
            f"a value has {counts[0]} dimensions at one size, {counts[-1]} at another"
        )
    return tuple(
        quantities.number(column) for column in zip(*(t.shape for t in tensors), strict=True)
    )


class _Writer:
    """Adds the nodes that compute expressions."""

    def __init__(self, graph, sizes, sample):
        self.graph, self.sizes, self.sample = graph, sizes, sample
        self.made: dict = {}
        self.last = ([n for n in graph.nodes if n.op == "placeholder"] or [None])[-1]
        self.ops = lookup("aten")

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
        function = _FUNCTIONS.get(expression.kind, expression.kind)
        operands = [self.expression(part, node) for part in expression.parts]
        if expression.kind is operator.mul and not isinstance(operands[0], Node):
            operands.reverse()
        with self.graph.inserting_before(node):
            made = self.graph.call_function(function, tuple(operands))
        made.meta["val"] = SymInt(expression.value(self.sample), expression)
        return made

    def _float(self, value, node):
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
_FUNCTIONS = {max: symbolic_numbers.sym_max, min: symbolic_numbers.sym_min}

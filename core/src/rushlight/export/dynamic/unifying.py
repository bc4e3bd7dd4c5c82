"""From captures of a program at several sizes to one graph that computes with them."""

from __future__ import annotations

import math

from rushlight.export.dynamic.asserting import Assertions, conditions_of, limits_of, ranges_of
from rushlight.export.dynamic.computed_sizes import Computed, described
from rushlight.export.dynamic.drawn_floats import finished
from rushlight.export.dynamic.expressions import (
    SymFloat,
    SymInt,
    ValueRanges,
    symbol,
)
from rushlight.export.dynamic.fitting import DifferentProgramsError, Quantities
from rushlight.export.dynamic.size_nodes import SizeNodes
from rushlight.fx.experimental.inner_graphs import HigherOrder, with_input
from rushlight.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from rushlight.fx.node import Node, map_aggregate
from rushlight.tensor.tensor import Tensor


class Unified:
    """The one program that several graphs are, each captured at one of `samples`.

    `doubts` are pairs of expressions that these samples do not tell apart; `guessed` says that an
    expression is one that programs seldom have, and may stand for another function of the sizes.
    """

    def __init__(self, graphs, samples, draws=(), lengths=()):
        self.graphs, self.samples, self.draws = graphs, samples, draws
        self.graph, self.sample = graphs[0], samples[0]
        self.quantities = quantities = Quantities(samples, lengths)
        self.nodes = _Nodes(graphs, quantities)
        self.conditions = conditions_of(draws, quantities)
        self.doubts, self.guessed = quantities.doubts, quantities.guessed

    def holds(self, more) -> bool:
        """Whether the numbers of `more`, the same program at one further sample, are what the
        expressions of this one give there."""
        known, count, sample = self.quantities.known, len(self.samples), more.samples[-1]
        return all(
            row[-1] == (known[row[:count]].value(sample) if row[:count] in known else row[0])
            for row in more.quantities.known
            if row[:count] in known or all(value == row[0] for value in row[:count])
        )

    def write(self, sizes, checked=True) -> dict:
        """Let the first graph compute with the sizes of its inputs, which are expressions by
        placeholder and dimension, and with numbers that it reads, which are `checked` or not; the
        ranges of these by symbol."""
        writer = SizeNodes(self.graph, sizes, self.sample)
        before = list(self.graph.nodes)
        limits = limits_of(self.draws, self.conditions)
        if limits:
            asserting = Assertions(self.graph, writer, self.sample)
            asserting.write(self.draws[0].origins, limits, self.conditions, checked)
        self.nodes.write(before, writer)
        finished(self.graph)
        floats = self.draws[0].floats if self.draws else ()
        return ranges_of(limits) | {
            symbol(name): ValueRanges(-math.inf, math.inf) for name in floats
        }


class _Nodes:
    """The nodes of one graph in all captures, and those of the graphs that they are called with."""

    def __init__(self, graphs, quantities):
        rows = list(zip(*(graph.nodes for graph in graphs), strict=False))
        if len({len(graph.nodes) for graph in graphs}) > 1:
            raise DifferentProgramsError(*_first_difference(rows))
        places = [{node: i for i, node in enumerate(graph.nodes)} for graph in graphs]
        self.graph = graphs[0]
        computed = Computed(quantities)
        self.changed: list = [_unify_node(row, quantities, places, computed) for row in rows]
        self.sizes: list = [_sizes_of(row, quantities) for row in rows]
        self.inner: list = [_inner(row, quantities) for row in rows]

    def symbols(self) -> set[str]:
        """The symbols that the nodes compute with."""
        found: set[str] = set()
        numbers = (SymInt, SymFloat)

        def note(value):
            if isinstance(value, numbers):
                found.update(value.expression.symbols())

        map_aggregate(self.changed, note)
        return found.union(*(each.symbols() for inner in self.inner for each in inner))

    def magnitudes(self) -> list[bool]:
        """Of the floats that the nodes compute with, whether each is ``abs(line)``."""
        found: list[bool] = []

        def note(value):
            if isinstance(value, SymFloat):
                found.append(value.expression.kind is max)

        map_aggregate(self.changed, note)
        return found + [
            flag for inner in self.inner for each in inner for flag in each.magnitudes()
        ]

    def write(self, before, writer):
        """Let the nodes that the graph had `before` compute with sizes."""
        for i, node in enumerate(before):
            if self.sizes[i] is not None:
                node.meta["sizes"] = self.sizes[i]
            if self.changed[i] is not None:
                args, kwargs = self.changed[i]
                node.args = writer.written(args, node)
                node.kwargs = writer.written(kwargs, node)
            if self.inner[i]:
                _write_inner(node, self.inner[i], writer)
            if node.meta.get("of_sizes"):
                described(node)

    def write_inner(self, sample):
        """The same of a graph that a node is called with: sizes are those of its inputs."""
        before = list(self.graph.nodes)
        sizes = _told(self.graph, self.sizes)
        self.write(before, SizeNodes(self.graph, sizes, sample))
        self.graph.owning_module.recompile()


def _inner(row, quantities):
    """The graphs that a node is called with, each unified."""
    if not isinstance(row[0].target, HigherOrder):
        return []
    modules = [node.target.modules(node) for node in row]
    return [_Nodes([m.graph for m in each], quantities) for each in zip(*modules, strict=True)]


def _told(graph, sizes):
    """The sizes of a graph's inputs that tell a symbol, by placeholder and dimension."""
    return {
        (node, dim): size.expression
        for node, known in zip(graph.nodes, sizes, strict=False)
        if node.op == "placeholder"
        for dim, size in enumerate(known or ())
        if isinstance(size, SymInt) and size.expression.is_line()
    }


def _write_inner(node, inner, writer):
    """Let the graphs of a node compute with sizes; tensors that have them become inputs of all."""
    first = inner[0]
    known = {name for e in _told(first.graph, first.sizes).values() for name in e.symbols()}
    for name in sorted(set().union(*(each.symbols() for each in inner)) - known):
        if name in known:
            continue  # a tensor that has another size tells this one, too
        tensor = writer.with_size(name, node)
        if tensor is None:
            lines = (node.stack_trace or "").strip().splitlines()
            raise GuardOnDataDependentSymNode(
                f"a function given to {node.target.__name__} uses a number that the program reads "
                "from a tensor: give it the tensor\n" + "\n".join(lines[-2:])
            )
        for each, place in zip(inner, with_input(node, tensor), strict=True):
            at = list(each.graph.nodes).index(place)
            each.changed.insert(at, None)
            each.sizes.insert(at, tensor.meta["sizes"])
            each.inner.insert(at, [])
        told = _told(first.graph, first.sizes).values()
        known.update(symbol for e in told for symbol in e.symbols())
    for each in inner:
        each.write_inner(writer.sample)


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


def _unify_node(row, quantities, places, computed):
    """The arguments of a node, if some depend on sizes."""
    first = row[0]
    if len({(n.op, _target(n)) for n in row}) > 1:
        raise DifferentProgramsError(*_two_targets(row))
    unifier = _Arguments(first, quantities, places)
    args = unifier.merged([n.args for n in row])
    computed.note(row, args)
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
    return _each_size([node.meta.get("val") for node in row], quantities)


def _each_size(values, quantities):
    first = values[0]
    if isinstance(first, Tensor):
        return _sizes(values, quantities)
    if isinstance(first, tuple):
        return tuple(_each_size(list(column), quantities) for column in zip(*values, strict=True))
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

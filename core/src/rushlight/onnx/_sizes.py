"""Models whose sizes may differ from call to call.

The program is written at several sizes, each time as one of fixed sizes, and with several values of
the whole numbers that it reads from tensors. The models differ in constants alone, or the size was
not free: each number that differs is computed in the model from the sizes of its inputs and the
numbers it reads. So translations know nothing of sizes that may differ.
"""

from __future__ import annotations

import functools
import operator

from rushlight.errors import shape_text
from rushlight.export.dynamic import windows
from rushlight.export.dynamic.capturing import MOST_SAMPLES
from rushlight.export.dynamic.export import declaration_of
from rushlight.export.dynamic.expressions import SymInt, simplest
from rushlight.export.dynamic.fitting import Quantities
from rushlight.export.dynamic.number_functions import UNFITTED
from rushlight.machine import np
from rushlight.onnx._assembling import bodies
from rushlight.onnx._exporter import OPSETS, Exporter
from rushlight.onnx._numbers import sized_by_values
from rushlight.onnx._samples import Models
from rushlight.onnx.errors import UnsupportedOperatorError

_OPERATORS = {
    operator.add: "Add", operator.mul: "Mul", operator.floordiv: "Div", operator.mod: "Mod",
    max: "Max", min: "Min", operator.truediv: "Div",
}  # fmt: skip
_FLOATS = {
    "number": (), "inverted": ("Reciprocal",), "root": ("Sqrt",), "logarithm": ("Log",),
    "inverted root": ("Sqrt", "Reciprocal"), "itself": (),
}  # fmt: skip


__all__ = ["OPSETS", "exporter_of"]


class _Differ(Exception):
    """Models of two sizes differ in more than constants."""


def exporter_of(program, *options, prepare=lambda exporter: None) -> Exporter:
    """An exporter that has translated a program, with sizes that differ computed; `options` are
    those of :class:`Exporter`, `prepare` sees every exporter before it begins."""

    def translated(program, general=False):
        made = Exporter(program, *options)
        prepare(made)
        made.builder.varies, made.builder.general = bool(declaration.free), general
        made.translate()
        return made

    declaration = declaration_of(program)
    if not declaration.free and not sized_by_values(program):
        return translated(program)
    _check_told(program)
    reasons: list[str] = []
    for general in (False, True):
        models = Models(program, declaration, functools.partial(translated, general=general))
        for samples in models.rows():
            found = _unified(models, samples, reasons)
            if found is not None:
                return found
    raise UnsupportedOperatorError(
        f"the program cannot be written with sizes that may differ, "
        f"{list(declaration.free) or 'which depend on values'}: {reasons[0]}. Leave those out of "
        "dynamic_shapes, or give a translation in custom_translation_table"
    )


def _check_told(program):
    """Raise for a size that models at several sizes would not tell how it follows these."""
    untold = next((n for n in program.graph.nodes if n.target in UNFITTED), None)
    if untold is not None:
        raise UnsupportedOperatorError(
            f"'{untold.name}' computes with a size that may differ, by {untold.target.__name__}(), "
            "which has no translation: leave that size out of dynamic_shapes, or write it with "
            "+, -, *, //, % and max"
        )


def _unified(models, samples, reasons):
    """The exporter of the program by its models at some samples, or None and a reason."""
    try:
        made = _told_apart(models, samples)
        _vary(models.program, made)
    except UnsupportedOperatorError:
        raise
    except (_Differ, RuntimeError, ValueError, IndexError) as error:
        reasons.append(
            str(error) if isinstance(error, _Differ) else f"{type(error).__name__}: {error}"
        )
        return None
    _describe(made[0], models.program)
    return made[0]


def _told_apart(models, samples):
    """The exporters at so many samples that it is clear what depends on them, the first
    rewritten."""
    lengths = windows.lengths_of(models.program.graph)
    samples = models.all(samples, lengths)
    while True:
        made = [models.at(sample) for sample in samples]
        numbers = [models.numbers(sample) for sample in samples]
        unifier = _Unifier(made, numbers, models.declaration, lengths)
        unifier.origins = models.origins(samples[0])
        unifier.write()
        more = models.telling(unifier.quantities.doubts, samples)
        if more is None:
            return made
        if len(samples) >= MOST_SAMPLES:
            raise _Differ(f"{MOST_SAMPLES} sizes do not tell what a number depends on")
        samples = [*samples, more]


def _vary(program, made):
    """Refuse samples at which a size of the results is the same that differs at others: numbers
    that depend on it would be taken for constants."""
    results = program.graph.output_node().args[0]
    for node, *values in zip(results[::-1], *(e.results[::-1] for e in made), strict=False):
        for dim, size in enumerate(getattr(node, "meta", {}).get("sizes") or ()):
            if type(size) is not int and len({value.shape[dim] for value in values}) == 1:
                raise _Differ(f"size {dim} of a result is the same at all sizes that were tried")


def _describe(exporter, program):
    """Write the sizes of inputs and outputs as the program knows them."""
    nodes = [n for n in program.graph.nodes if n.op == "placeholder"]
    known = {n.name: n.meta.get("sizes") for n in nodes}
    for name, value in exporter.input_values.items():
        if known.get(name) is not None:
            value.shape = known[name]
    results = program.graph.output_node().args[0]
    outputs = zip(results[-len(exporter.results) :], exporter.results, strict=True)
    for node, value in outputs:
        if getattr(node, "meta", {}).get("sizes") is not None:
            value.shape = node.meta["sizes"]


class _Unifier:
    """Makes the first of several models compute what differs between them."""

    def __init__(self, exporters, samples, declaration, lengths):
        self.exporters, self.declaration = exporters, declaration
        self.origins: dict = {}  # of numbers that the program reads: a node, and a dimension
        self.builder = exporters[0].builder
        self.quantities = Quantities(samples, lengths)
        self.made: dict = {}
        self.nodes: list = []

    def write(self):
        """Rewrite the nodes of the first model."""
        places: list[dict] = [{} for _ in self.exporters]
        self._unify([e.builder.nodes for e in self.exporters], places, ())
        self.builder.nodes[:] = self.nodes

    def _unify(self, several, places, path):
        """Rewrite the nodes of a graph, which `path` tells from others."""
        if len({len(nodes) for nodes in several}) > 1:
            raise _Differ("the number of operators differs between sizes")
        for number, row in enumerate(zip(*several, strict=True)):
            here = (*path, number)
            inputs = self._inputs(row, places)
            for place, inner in enumerate(zip(*map(bodies, row), strict=True)):
                # what bodies compute of sizes stands before the node that runs them
                self._unify([body.node for body in inner], places, (*here, place))
            if not path:
                self.nodes.append(row[0])
            for position, name in inputs.items():
                row[0].input[position] = name
            for place, node in zip(places, row, strict=True):
                place.update({name: (here, k) for k, name in enumerate(node.output)})

    def _inputs(self, row, places):
        """New names of those inputs of a node that depend on sizes, by position."""
        first = row[0]
        if len({n.op_type for n in row}) > 1 or len({len(n.input) for n in row}) > 1:
            raise _Differ(f"one size has operator {first.op_type}, another {row[-1].op_type}")
        if len({_attributes(n) for n in row}) > 1:
            raise _Differ(f"attributes of {first.op_type} '{first.output[0]}' depend on sizes")
        found = {}
        for position, names in enumerate(zip(*(n.input for n in row), strict=True)):
            constants = [
                e.builder.constants.get(name) for e, name in zip(self.exporters, names, strict=True)
            ]
            if all(c is None for c in constants):
                where = {p.get(n, n) for p, n in zip(places, names, strict=True)}
                if len(where) > 1:
                    raise _Differ(f"{first.op_type} '{first.output[0]}' reads other values")
            elif any(c is None for c in constants):
                raise _Differ(f"{first.op_type} '{first.output[0]}' reads a constant at one size")
            else:
                name = self._table(names) or self._constant([c.array for c in constants], first)
                if name is not None:
                    found[position] = name
        return found

    def _table(self, names):
        """The name of what is computed instead of tables of other numbers; None for others."""
        given = [e.builder.tables.get(n) for e, n in zip(self.exporters, names, strict=True)]
        if None in given or len({table for table, _ in given}) > 1:
            return None
        rows = [*zip(*(numbers for _, numbers in given), strict=True)]
        if all(len(set(row)) == 1 for row in rows):
            return None
        numbers = [self.quantities.number(row) for row in rows]
        if None in numbers:
            raise _Differ("no expression of the sizes gives a number of a table")
        dtype = self.builder.constants[names[0]].array.dtype
        made = given[0][0].written(_Writer(self), *map(self._number, numbers))
        return self._cast(made, dtype)

    def _constant(self, arrays, node):
        """The name of what is computed instead of constants; None where all are equal."""
        first = arrays[0]
        if all(a is first or _equal(a, first) for a in arrays[1:]):
            return None
        if len({a.shape for a in arrays}) > 1 or first.ndim > 1 or first.size > 64:
            return self._counted(arrays, node)
        rows = [tuple(a.reshape(-1)[k].item() for a in arrays) for k in range(first.size)]
        if first.dtype.kind == "f":
            tolerance = 4 * float(np.finfo(first.dtype).eps)
            numbers = [self.quantities.float(row, tolerance) for row in rows]
        else:
            numbers = [self.quantities.number(row) for row in rows]
        if any(n is None for n in numbers) or (first.dtype.kind == "f" and first.ndim):
            raise _Differ(f"no expression of the sizes gives an input of {node.op_type}")
        if not first.ndim:
            return self._scalar(numbers[0], first.dtype)
        parts = [self._listed(self._number(n)) for n in numbers]
        name = parts[0] if len(parts) == 1 else self._node("Concat", parts, axis=0)
        return self._cast(name, first.dtype)

    def _counted(self, arrays, node):
        """Numbers one after the other, of which there are more for larger sizes."""
        steps = [int(a[1] - a[0]) for a in arrays if a.ndim == 1 and len(a) > 1]
        rows = [_progression(a, steps[0] if steps else 0) for a in arrays]
        if None in rows:
            shapes = [shape_text(a.shape) for a in arrays]
            raise _Differ(f"a constant of {node.op_type} has shape {shapes[0]} at one size, "
                          f"{shapes[-1]} at another")  # fmt: skip
        numbers = [self.quantities.number(row) for row in zip(*rows, strict=True)]
        if None in numbers:
            raise _Differ(f"no expression of the sizes gives an input of {node.op_type}")
        return self._node("Range", [self._number(n) for n in numbers])

    # ------------------------------------------------------------------------------------- numbers
    def _scalar(self, number, dtype):
        if isinstance(number, SymInt):
            return self._cast(self._number(number), dtype)
        name = self._cast(self._expression(number.expression), dtype)
        for kind in _FLOATS[number.form]:
            name = self._node(kind, [name])
        return name

    def _number(self, number):
        if isinstance(number, SymInt):
            return self._expression(number.expression)
        kind = np.float64 if isinstance(number, float) else np.int64
        return self.builder.constant(kind(number)).name

    def _expression(self, expression):
        if expression.kind == "number":
            return self._number(expression.parts[0])
        if expression not in self.made:
            self.made[expression] = (
                self._symbol(expression)
                if expression.kind == "symbol"
                else self._operation(expression)
            )
        return self.made[expression]

    def _operation(self, expression):
        parts = [self._expression(part) for part in expression.parts]
        if expression.is_float():
            return self._float_operation(expression, parts)
        if expression.kind is operator.floordiv and self.origins.keys() & expression.symbols():
            # Div rounds towards zero, and numbers may be negative; Mod has the sign of the divisor
            rest = self._node("Mod", parts)
            parts[0] = self._node("Sub", [parts[0], rest])
        return self._node(_OPERATORS[expression.kind], parts)

    def _float_operation(self, expression, parts):
        """A step of a float, in float64 as the program does it."""
        wide = [
            name if part.is_float() else self._cast(name, np.dtype(np.float64))
            for name, part in zip(parts, expression.parts, strict=True)
        ]
        return (
            wide[0] if expression.kind is float else self._node(_OPERATORS[expression.kind], wide)
        )

    def _symbol(self, expression):
        """A size of an input, or what one that is ``a * size + b`` comes from; a number that the
        program reads."""
        name = expression.parts[0]
        if name in self.origins:
            return self._origin(*self.origins[name])
        (place, dim), whole = simplest(self.declaration.sizes, name)
        nodes = [n for n in self.exporters[0].program.graph.nodes if n.op == "placeholder"]
        value = self.exporters[0].input_values[nodes[place].name]
        made = self._size(value, dim)
        _, factor, offset = whole.line()
        if offset:
            made = self._node("Sub", [made, self._number(offset)])
        if factor != 1:
            made = self._node("Div", [made, self._number(factor)])
        return made

    def _origin(self, node, dim):
        """A number that a node reads, or a size of the node's result that depends on values."""
        value = self.exporters[0].values[node]
        return value.name if dim is None else self._size(value, dim)

    def _size(self, value, dim):
        shape = self._node("Shape", [value.name])
        return self._node("Gather", [shape, self._number(dim)], axis=0)

    def _listed(self, name):
        return self._node("Unsqueeze", [name, self.builder.integers([0]).name])

    def _cast(self, name, dtype):
        if dtype == np.int64:
            return name
        helper = self.builder.onnx.helper
        return self._node("Cast", [name], to=helper.np_dtype_to_tensor_dtype(dtype))

    def _node(self, kind, inputs, **attributes):
        name = self.builder.name(f"size_{kind}")
        made = self.builder.onnx.helper.make_node(kind, inputs, [name], **attributes)
        self.nodes.append(made)
        return name


class _Writer:
    """What a table is written with."""

    def __init__(self, unifier):
        self._unifier = unifier

    def __call__(self, kind, inputs, **attributes):
        return self._unifier._node(kind, inputs, **attributes)

    def cast(self, name, dtype):
        """A value of another dtype."""
        return self._unifier._cast(name, np.dtype(dtype))

    def number(self, value):
        """A constant of one number."""
        return self._unifier._number(value)

    def listed(self, value):
        """A list of one whole number."""
        return self._unifier.builder.integers([value]).name


def _progression(array, step):
    """Start, end and step of whole numbers that are as far apart as each other; None for others.
    One number alone has the step given."""
    if array.ndim != 1 or array.dtype != np.int64 or not len(array):
        return None
    start = int(array[0])
    step = int(array[1]) - start if len(array) > 1 else step
    end = start + step * len(array)
    same = step and np.array_equal(array, np.arange(start, end, step))
    return (start, end, step) if same else None


def _equal(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def _attributes(node):
    """The attributes of a node, of graphs what is beside their nodes."""
    return tuple(sorted(map(_attribute, node.attribute)))


def _attribute(attribute):
    if not attribute.HasField("g"):
        return attribute.SerializeToString()
    constants = sorted(tensor.SerializeToString() for tensor in attribute.g.initializer)
    return b"".join([attribute.name.encode(), *constants])

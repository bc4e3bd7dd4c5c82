"""From an exported program to an ONNX model."""

from __future__ import annotations

import inspect
import operator

import rushlight
from rushlight.export.dynamic.expressions import COMPARISONS
from rushlight.export.graph_signature import InputKind, OutputKind
from rushlight.fx.experimental.inner_graphs import HigherOrder
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node, map_aggregate
from rushlight.onnx._assembling import described, initializer, needed, read_by
from rushlight.onnx._branches import translated as with_graphs
from rushlight.onnx._builder import Builder, Complex, Value, is_complex
from rushlight.onnx._numbers import compared, computed, is_check, is_float, read, reads_number
from rushlight.onnx._opening import opened
from rushlight.onnx._registry import called, translation
from rushlight.onnx._weights import Weights
from rushlight.onnx.errors import OnnxExporterError, UnsupportedOperatorError

PRODUCER = "rushlight"
# The version of the file format that came with an opset, for readers of that time.
_FORMATS = {13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10, 23: 11}
OPSETS = range(13, 24)
# Python's operators on sizes -> what ONNX calls them.
_SIZES = {
    operator.add: "Add", operator.sub: "Sub", operator.mul: "Mul", operator.floordiv: "Div",
    operator.mod: "Mod", rushlight.sym_max: "Max", rushlight.sym_min: "Min",
    operator.neg: "Neg",
}  # fmt: skip


class Exporter:
    """One export: walks the graph of a program and builds the model."""

    def __init__(self, program, opset, custom=None, input_names=None, output_names=None):
        self.program = program if program.functional else program.run_decompositions({})
        self.custom = custom or {}
        self.builder = Builder(opset)
        self.input_names = list(input_names or ())
        self.output_names = list(output_names or ())
        self.values: dict[Node, object] = {}
        self.input_values: dict[str, Value] = {}  # by the program's names
        self.stored_names: dict[Node, str] = {}
        self.weights = Weights(self._weight)
        self.results: list = []

    def translate(self):
        """Build nodes and constants for all of the program."""
        nodes = list(self.program.graph.nodes)
        self._enter([n for n in nodes if n.op == "placeholder"])
        for node in nodes:
            if node.op in ("call_function", "get_attr"):
                self.translate_node(node)
        self.results = self._results(nodes[-1])

    def model(self):
        """The model that was translated, with its weights inside."""
        return self._assembled(self.results)

    # ------------------------------------------------------------------------------------ inputs
    def _enter(self, placeholders):
        specs = self.program.graph_signature.input_specs
        names = iter(self.input_names)
        for node, spec in zip(placeholders, specs, strict=True):
            if spec.kind is InputKind.USER_INPUT:
                self._enter_input(node, next(names, None))
            elif spec.kind is InputKind.CUSTOM_OBJ:
                raise UnsupportedOperatorError(
                    f"'{node.name}' is a generator, which ONNX's operators do not draw from: let "
                    "the model draw from the default one, or take what is drawn as an input."
                )
            else:
                self.stored_names[node] = spec.target
                self.values[node] = self._stored(spec, node)
        rest = list(names)
        if rest:
            raise OnnxExporterError(f"input_names: the model has no input for {rest[0]!r}")

    def _enter_input(self, node, name):
        sample = node.meta["val"]
        if not isinstance(sample, rushlight.Tensor):
            self.values[node] = sample
            return
        if is_complex(sample):
            raise UnsupportedOperatorError(
                f"the input {node.name!r} is complex, which ONNX's operators are not: let the "
                "model take the pairs of view_as_real, and make it complex by view_as_complex."
            )
        value = Value(
            self.builder.name(name or node.name), sample.dtype, _shape(sample), meta=sample
        )
        self.values[node] = self.input_values[node.name] = value
        self.builder.inputs.append(value)

    def _stored(self, spec, node):
        """A parameter, a buffer or a constant of the program."""
        program = self.program
        where = program.constants if spec.target in program.constants else program.state_dict
        return self._marked(self.builder.tensor(where[spec.target], spec.target), node.meta)

    def _weight(self, node):
        """The tensor of a parameter, a buffer or a constant of the program; None of inputs."""
        program = self.program
        name = self.stored_names.get(node)
        if name is None:
            return None
        return (program.constants if name in program.constants else program.state_dict)[name]

    # --------------------------------------------------------------------------------------- ops
    def translate_node(self, node):
        """Build what a node computes, unless that is there or nobody reads it."""
        # sizes may depend on a number whose node nobody reads
        if node in self.values or not (node.users or node.meta.get("reads_values")):
            return
        if node.target is operator.getitem and isinstance(node.args[0], Node):
            self.values[node] = self._marked(self.value(node.args[0])[node.args[1]], node.meta)
        elif node.op == "get_attr":
            found = operator.attrgetter(node.target)(node.graph.owning_module)
            if not isinstance(found, GraphModule):
                found = self.builder.tensor(found, node.target)
            self.values[node] = found
        elif isinstance(node.target, HigherOrder):
            self.values[node] = self._with_graphs(node)
        elif is_check(node):
            return
        elif node.target in COMPARISONS:
            self.builder.origin = node.name
            values = [self.value(a) for a in node.args]
            self.values[node] = compared(self.builder, node, values)
        elif reads_number(node) or is_float(node):
            self.values[node] = self._number(node)
        elif node.target in _SIZES:
            self.values[node] = self._size(node)
        else:
            self.values[node] = self._called(node)

    def _number(self, node):
        values = [self.value(a) for a in node.args]
        self.builder.origin = node.name
        try:
            if reads_number(node):
                return read(self.builder, values[0])
            return computed(self.builder, node, values)
        except NotImplementedError as error:
            raise self._unsupported(node, str(error)) from None

    def _size(self, node):
        values = [self.value(a) for a in node.args]
        # what a choice compares is computed by the model, where it differs from size to size
        if not any(isinstance(v, Value) for v in values) and not node.meta.get("of_sizes"):
            return node.target(*values)
        values = [self.builder.constant(v, rushlight.int64) for v in values]
        if node.target is operator.floordiv:  # Div rounds towards zero, and Mod as Python does
            values[0] = self.builder.op("Sub", values[0], self.builder.op("Mod", *values))
        return self.builder.op(_SIZES[node.target], *values)

    def _called(self, node):
        function = self.custom.get(node.target) or translation(node.target, self._complex(node))
        reason = "there is no translation of it"
        if function is not None:
            try:
                return self._with(function, node)
            except NotImplementedError as error:
                reason = str(error)
        value = self.weights.value(node)
        if value is not None:
            return self._constants(value, node)
        found = self._by_parts(node)
        if found is None:
            raise self._unsupported(node, reason)
        return found

    def _constants(self, value, node):
        """What is computed of weights alone."""
        if isinstance(value, tuple | list):
            return tuple(self._constants(v, node) for v in value)
        return self.builder.tensor(value.detach(), node.name)

    def _with_graphs(self, node):
        try:
            return with_graphs(self, node)
        except NotImplementedError as error:
            raise self._unsupported(node, str(error)) from None

    def _complex(self, node):
        """Whether an argument or the result is complex."""
        values = [self.value(n) for n in node.all_input_nodes] + [node.meta["val"]]
        return any(is_complex(value) for value in values)

    def _with(self, function, node):
        """The result of a translation, of which nothing stays if it refuses."""
        builder = self.builder
        builder.out = node.meta["val"]
        first = builder.out[0] if isinstance(builder.out, tuple | list) else builder.out
        builder.dtype = getattr(first, "dtype", None)
        builder.origin = node.name
        builder.taken = frozenset(
            user.args[1] for user in node.users if user.target is operator.getitem and user.users
        )
        before = len(builder.nodes)
        try:
            result = called(function, builder, self._arguments(node))
        except NotImplementedError:
            del builder.nodes[before:]
            raise
        return self._marked(result, node.meta)

    def _marked(self, value, meta):
        """A result with what the program knows of it."""
        sample = meta.get("val")
        if isinstance(value, tuple | list) and isinstance(sample, tuple | list):
            pairs = zip(value, sample, strict=True)
            return tuple(self._marked(v, {"val": s}) for v, s in pairs)
        if isinstance(value, Complex):
            part = {"val": sample.real}
            return Complex(self._marked(value.real, part), self._marked(value.imag, part))
        if isinstance(value, Value) and isinstance(sample, rushlight.Tensor):
            known = value.array is not None
            marked = Value(
                value.name, sample.dtype, _shape(sample), value.array if known else None, sample
            )
            if value.dtype is not sample.dtype:
                marked.dtype = value.dtype
                return self._marked(self.builder.cast(marked, sample.dtype), meta)
            return marked
        return value

    def _arguments(self, node):
        """The arguments by ATen's names, defaults filled in."""
        found = {}
        if not hasattr(node.target, "_schema"):  # an op that ATen does not have
            values = map(self.value, node.args)
            bound = inspect.signature(node.target).bind(*values, **node.kwargs)
            return bound.arguments
        for place, argument in enumerate(node.target._schema.arguments):
            if place < len(node.args):
                found[argument.name] = self.value(node.args[place])
            elif argument.name in node.kwargs:
                found[argument.name] = self.value(node.kwargs[argument.name])
            elif argument.has_default_value():
                found[argument.name] = argument.default
        return found

    def value(self, value):
        """What a node, or each of a list of arguments, is in the model."""
        if isinstance(value, Node):
            return self.values[value]
        if isinstance(value, tuple | list):
            return [self.value(v) for v in value]
        return map_aggregate(value, lambda v: v)

    def _by_parts(self, node):
        """The result of the ops that an op is made of; None if it is not."""
        try:
            found = opened(node, self.custom)
        except (NotImplementedError, RuntimeError) as error:
            raise self._unsupported(node, f"its parts are not known: {error}") from error
        if found is None:
            return None
        graph, inputs, constants = found
        places = [n for n in graph.nodes if n.op == "placeholder"]
        tensors = [n for n in inputs if isinstance(n.meta["val"], rushlight.Tensor)]
        for place, outer in zip(places, tensors, strict=True):
            self.values[place] = self.values[outer]
        for place, tensor in constants.items():
            self.values[place] = self._marked(self.builder.tensor(tensor, "constant"), place.meta)
        last = None
        for inner in graph.nodes:
            if inner.op == "call_function":
                inner.stack_trace = node.stack_trace
                self.translate_node(inner)
            elif inner.op == "output":
                last = self.value(inner.args[0])
        return tuple(last) if isinstance(last, list) else last

    @staticmethod
    def _unsupported(node, reason):
        line = (node.stack_trace or "").strip().splitlines()
        where = "\n".join(line[-2:])
        op = getattr(node.target, "op", None)
        name = node.target if op is None else op.name.lstrip("_") + "()"
        return UnsupportedOperatorError(
            f"{name}, node {node.name!r}, cannot be written as ONNX: {reason}."
            + (f"\n{where}" if where else "")
            + "\nWrite it with other ops, or give a translation in custom_translation_table."
        )

    # ----------------------------------------------------------------------------------- results
    def _results(self, output):
        specs = self.program.graph_signature.output_specs
        nodes = [
            node
            for node, spec in zip(output.args[0], specs, strict=True)
            if spec.kind is OutputKind.USER_OUTPUT
        ]
        names = iter(self.output_names)
        results, seen = [], {v.name for v in self.builder.inputs} | set(self.builder.constants)
        for node in nodes:
            value = self.value(node)
            if value is None:
                continue
            if is_complex(value):
                raise self._unsupported(node, "it is complex: give its view_as_real")
            value = self.builder.constant(value)
            name = next(names, None)
            if name is not None or value.name in seen or value.name in self.builder.constants:
                value = self._renamed(value, name or f"{value.name}_output")
            seen.add(value.name)
            results.append(value)
        if rest := list(names):
            raise OnnxExporterError(f"output_names: the model has no output for {rest[0]!r}")
        return results

    def _renamed(self, value, name):
        builder = self.builder
        name = builder.name(name)
        builder.nodes.append(builder.onnx.helper.make_node("Identity", [value.name], [name]))
        return Value(name, value.dtype, value.shape, meta=value.meta)

    def _assembled(self, results):
        onnx, builder = self.builder.onnx, self.builder
        nodes = needed(builder.nodes, [v.name for v in results])
        used = set().union(*map(read_by, nodes))
        constants = [v for name, v in builder.constants.items() if name in used]
        graph = onnx.helper.make_graph(
            nodes,
            "main_graph",
            [described(onnx, v) for v in builder.inputs],
            [described(onnx, v) for v in results],
            [initializer(onnx, v) for v in constants],
        )
        domains = [onnx.helper.make_opsetid("", builder.opset)]
        domains += [onnx.helper.make_opsetid(d, v) for d, v in sorted(builder.domains.items())]
        model = onnx.helper.make_model(graph, producer_name=PRODUCER, opset_imports=domains)
        model.producer_version = rushlight.__version__
        model.ir_version = _FORMATS[builder.opset]
        return model


def _shape(tensor):
    return tuple(tensor.shape)

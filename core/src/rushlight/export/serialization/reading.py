"""From the JSON of ``models/model.json`` to a program. Nothing of the archive is run: every name
that comes to stand in generated code is checked, and calls are of ATen's overloads alone."""

from __future__ import annotations

import dataclasses
import operator
import re

from rushlight import devices
from rushlight.export.dynamic.expressions import SymInt
from rushlight.export.exported_program import ExportedProgram
from rushlight.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)
from rushlight.export.serialization import branches, calls, functional_calls, generators, sizes
from rushlight.export.serialization.values import (
    FormatError,
    dotted,
    dtype_of,
    identifier,
    number,
    only,
    read_leaf,
)
from rushlight.export.serialization.writing import MUTATIONS, SCHEMA_VERSION
from rushlight.export.verifier import verifier_of
from rushlight.fx.experimental.inner_graphs import holding
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.library.aten import AtenOverload
from rushlight.library.operators import NAMESPACES, Operator, lookup
from rushlight.ops.creation.tensors import empty
from rushlight.utils import _pytree as pytree

# What Python's operators call in PyTorch.
_OPERATORS = {
    "__and__": "and", "__or__": "or", "__xor__": "xor", "__lshift__": "left_shift",
    "__rshift__": "right_shift",
}  # fmt: skip
_NUMBERS = {
    "as_sym_int": "sym_int_values", "as_sym_float": "sym_float_values",
    "as_sym_bool": "sym_bool_values",
}  # fmt: skip
# Checks of what is known, which PyTorch's graphs have.
_CHECKS = ("aten._assert_tensor_metadata.default",)


def program_from_json(found, state, constants, examples) -> ExportedProgram:
    """The program that :func:`program_as_json` described, with its tensors."""
    version = found["schema_version"]
    if version["major"] != SCHEMA_VERSION["major"]:
        raise FormatError(
            f"the archive has schema version {version['major']}.{version['minor']}; version "
            f"{SCHEMA_VERSION['major']} (PyTorch 2.13) can be read"
        )
    module = found["graph_module"]
    signature = _signature(module["signature"])
    reader = _Reader(module["graph"], [spec.arg.name for spec in signature.input_specs])
    reader.rename(signature)
    range_constraints = sizes.read_ranges(found["range_constraints"])
    entries = calls.read_entries(module["module_call_graph"], reader.nodes)
    return ExportedProgram(
        holding(reader.modules), reader.graph, signature, state, range_constraints, entries,
        examples, constants, verifiers=[_verifier(name) for name in found["verifiers"]],
    )  # fmt: skip


def _verifier(dialect):
    try:
        return verifier_of(dialect)
    except KeyError:
        raise FormatError(
            f"the archive has a program of the dialect {dialect!r}, for which no Verifier is "
            "defined: import what defines it first"
        ) from None


# --------------------------------------------------------------------------------------- signature
_INPUTS = {
    "parameter": (InputKind.PARAMETER, "parameter_name"),
    "buffer": (InputKind.BUFFER, "buffer_name"),
    "tensor_constant": (InputKind.CONSTANT_TENSOR, "tensor_constant_name"),
}


def _signature(found):
    return ExportGraphSignature(
        [_input_spec(*only(spec)) for spec in found["input_specs"]],
        [_output_spec(*only(spec)) for spec in found["output_specs"]],
    )


def _input_spec(word, value):
    if word in _INPUTS:
        kind, key = _INPUTS[word]
        argument = TensorArgument(identifier(value["arg"]["name"], word))
        return InputSpec(kind, argument, dotted(value[key], word), value.get("persistent"))
    if word == "custom_obj":
        argument = generators.read_description(value["arg"], identifier)
        return InputSpec(InputKind.CUSTOM_OBJ, argument, dotted(value["custom_obj_name"], word))
    if word == "constant_input":
        name = identifier(value["name"], word)
        constant = read_leaf(*only(value["value"]))
        return InputSpec(InputKind.USER_INPUT, ConstantArgument(name, constant), None)
    if word == "user_input":
        argument = calls.read_argument(*only(value["arg"]))
        if isinstance(argument, TensorArgument | SymIntArgument):
            identifier(argument.name, word)
            return InputSpec(InputKind.USER_INPUT, argument, None)
    raise FormatError(f"an input of kind {word} cannot be read: {value!r}")


def _output_spec(word, value):
    mutation = next((kind for kind, (w, _) in MUTATIONS.items() if w == word), None)
    if mutation is not None:
        kind, key = mutation, MUTATIONS[mutation][1]
        return OutputSpec(kind, TensorArgument(value["arg"]["name"]), dotted(value[key], word))
    if word != "user_output":
        raise FormatError(f"an output of kind {word} cannot be read: {value!r}")
    argument = calls.read_argument(*only(value["arg"]))
    return OutputSpec(OutputKind.USER_OUTPUT, argument, None)


# ------------------------------------------------------------------------------------------- graph
class _Reader:
    """Builds a graph; `names` are those of its inputs, `depth` counts the graphs around it."""

    def __init__(self, found, names, depth=0):
        if depth > branches.DEEPEST:
            raise FormatError(f"more than {branches.DEEPEST} graphs inside of each other")
        self.found, self.nodes, self.depth = found, {}, depth
        self.graph, self.modules = Graph(), {}
        for given, name in zip(found["inputs"], names, strict=True):
            self._placeholder(*only(given), name)
        for node in found["nodes"]:
            self._call(node)
        results = [self._argument(*only(value)) for value in found["outputs"]]
        self.graph.output(tuple(results))

    def rename(self, signature):
        """Nodes whose names are taken by Python (``input``) have others here."""
        for spec in (*signature.input_specs, *signature.output_specs):
            if spec.arg.name in self.nodes:
                spec.arg.name = self.nodes[spec.arg.name].name
            if getattr(spec, "kind", None) is OutputKind.USER_INPUT_MUTATION:
                spec.target = self._node(spec.target).name

    def _placeholder(self, kind, value, name):
        node = self.graph.create_node("placeholder", name, (), {}, identifier(name, "input"))
        self.nodes[name] = node
        if kind == "as_tensor":
            self._note(node, name)
        elif kind in _NUMBERS:
            self._number(node, kind, name)
        elif kind == "as_custom_obj":
            described = generators.read_description(value, identifier)
            node.meta["val"] = dataclasses.replace(described, name=node.name)
        else:
            node.meta["val"] = read_leaf(kind, value)

    def _note(self, node, name):
        """Keep what the archive says of a tensor."""
        meta = self.found["tensor_values"].get(name)
        if meta is None:
            raise FormatError(f"nothing is known of the tensor '{name}'")
        shape = tuple(sizes.read_size(n, f"tensor '{name}'") for n in meta["sizes"])
        node.meta["val"] = empty(
            [int(n) for n in shape], dtype=dtype_of(meta["dtype"]), device=devices.meta
        )
        if any(isinstance(n, SymInt) for n in shape):
            node.meta["sizes"] = shape
        node.meta["device"] = devices.device(meta["device"]["type"], meta["device"]["index"])

    def _call(self, found):
        target = found["target"]
        if target.removeprefix("torch.ops.") in _CHECKS:
            return
        for module, call in (
            (branches, self._call_with_graphs), (functional_calls, self._call_without_writes)
        ):  # fmt: skip
            op = module.operator_of(target)
            if op is not None:
                call(op, found)
                return
        self._plain_call(found, target)

    def _plain_call(self, found, target):
        # the only calls of a program: nothing else that a file names is looked up
        overload = sizes.functions().get(target) or _overload(target)
        args, kwargs = [], {}
        for given in found["inputs"]:
            value = self._argument(*only(given["arg"]))
            if given.get("kind") == 2 and target not in sizes.functions():
                kwargs[identifier(given["name"], target)] = value
            else:
                args.append(value)
        name = found.get("name") or overload.__name__
        node = self.graph.create_node(
            "call_function", overload, tuple(args), kwargs, identifier(name, target)
        )
        node.meta |= calls.read_metadata(found["metadata"])
        self._results(node, found["outputs"])

    def _call_with_graphs(self, op, found):
        given = [only(each["arg"]) for each in found["inputs"]]
        args = branches.arguments(
            op, given, self.graph, self.modules, self._argument, self._inner_module
        )
        name = identifier(found.get("name") or op.__name__, op.__name__)
        node = self.graph.create_node("call_function", op, args, {}, name)
        node.meta |= calls.read_metadata(found["metadata"])
        if found.get("is_hop_single_tensor_return"):
            raise FormatError(f"'{name}' gives a tensor instead of a list, which cannot be read")
        self._items(node, [only(output)[1]["name"] for output in found["outputs"]])

    def _call_without_writes(self, op, found):
        called, named = functional_calls.arguments(
            op, found["inputs"], lambda value: self._argument(*only(value)), _overload
        )
        name = identifier(found.get("name") or op.__name__, op.__name__)
        node = self.graph.create_node("call_function", op, (called,), named, name)
        node.meta |= calls.read_metadata(found["metadata"])
        node.meta["val"] = self._given(node, [only(output) for output in found["outputs"]])

    def _given(self, node, outputs):
        """Results that are tensors, None or lists of tensors."""
        found = []
        for i, (kind, value) in enumerate(outputs):
            if kind == "as_none":
                found.append(None)
            elif kind == "as_tensors":
                part = self._item(node, i, None)
                found.append(self._given(part, [("as_tensor", each) for each in value]))
                part.meta["val"] = found[-1]
            elif kind == "as_tensor":
                item = self._item(node, i, value["name"])
                self._note(item, value["name"])
                found.append(item.meta["val"])
            else:
                raise FormatError(f"'{node.name}': a result of kind {kind} cannot be read")
        return tuple(found)

    def _item(self, node, i, name):
        """The node of one of several results."""
        name = None if name is None else identifier(name, "result")
        item = self.graph.create_node("call_function", operator.getitem, (node, i), {}, name)
        item.meta |= {key: value for key, value in node.meta.items() if key != "val"}
        if name is not None:
            self.nodes[name] = item
        return item

    def _inner_module(self, found, name):
        names = [_input_name(*only(given), i) for i, given in enumerate(found["inputs"])]
        reader = _Reader(found, names, self.depth + 1)
        return GraphModule(holding(reader.modules), reader.graph, name)

    def _results(self, node, outputs):
        if len(outputs) == 1 and next(iter(outputs[0])) in _NUMBERS:
            ((kind, value),) = outputs[0].items()
            self._number(node, kind, value["as_name"])
            return
        names = []
        for kind, value in map(only, outputs):
            if kind not in ("as_tensor", "as_tensors"):
                raise FormatError(f"'{node.name}': a result of kind {kind} cannot be read")
            names += [v["name"] for v in ([value] if kind == "as_tensor" else value)]
        if len(outputs) == 1 and "as_tensor" in outputs[0]:
            self.nodes[names[0]] = node
            self._note(node, names[0])
            return
        self._items(node, names)

    def _items(self, node, names):
        """A node for each of several results."""
        for i, name in enumerate(names):
            self._note(self._item(node, i, name), name)
        node.meta["val"] = tuple(self.nodes[name].meta["val"] for name in names)

    def _number(self, node, kind, name):
        """Keep what the archive says of a number that a node computes."""
        self.nodes[name] = node
        found = self.found[_NUMBERS[kind]].get(name)
        if kind == "as_sym_int" and found is not None:
            node.meta["val"] = sizes.read_size(found, f"number '{name}'")
        if kind == "as_sym_float" and found is not None:
            node.meta["val"] = sizes.read_float(found, node, f"float '{name}'")
        if kind == "as_sym_bool" and found is not None:
            node.meta["val"] = sizes.read_bool(found, node, f"comparison '{name}'")

    def _argument(self, kind, value):
        if kind in _NUMBERS:
            return self._node(value["as_name"]) if "as_name" in value else read_leaf(*only(value))
        if kind == "as_sym_ints":
            return [self._argument("as_sym_int", v) for v in value]
        if kind in ("as_tensor", "as_custom_obj"):
            return self._node(value["name"])
        if kind == "as_tensors":
            return [self._node(v["name"]) for v in value]
        if kind == "as_optional_tensors":
            return [self._argument(*only(v)) for v in value]
        if kind in ("as_ints", "as_bools", "as_strings"):
            return list(value)
        if kind == "as_floats":
            return [number(v) for v in value]
        try:
            return read_leaf(kind, value)
        except LookupError:
            raise FormatError(f"an argument of kind {kind} cannot be read: {value!r}") from None

    def _node(self, name):
        if name not in self.nodes:
            raise FormatError(f"'{name}' is read before it is computed")
        return self.nodes[name]


def _input_name(kind, value, place):
    """The name of an input of a graph inside of a graph."""
    key = "name" if kind == "as_tensor" else "as_name"
    return value[key] if isinstance(value, dict) and key in value else f"input_{place}"


def _overload(target):
    """The overload that a target names: ATen's, or an operator that this process has defined."""
    found = re.fullmatch(r"torch\.ops\.(\w+)\.(\w+)\.(\w+)", target)
    if found is None:
        raise FormatError(f"a call of {target!r} cannot be read: only operators' overloads can")
    namespace, name, overload = found.groups()
    if namespace != "aten":
        return _defined(namespace, name, overload)
    name = name if name not in _OPERATORS else "bitwise_" + _OPERATORS[name]
    known = getattr(getattr(lookup("aten"), name, None), overload, None)
    if not isinstance(known, AtenOverload):
        raise FormatError(f"{target} is not available")
    return known


def _defined(namespace, name, overload):
    """An operator of another namespace; FormatError unless it is defined."""
    packet = getattr(NAMESPACES.get(namespace), "_packets", {}).get(name)
    known = packet.__dict__["_overloads"].get(overload) if packet is not None else None
    if not isinstance(known, Operator):
        raise FormatError(
            f"the operator {namespace}::{name}.{overload} is not defined: define it, as by "
            "library.custom_op, before the program is loaded"
        )
    return known


def checked_structure(examples, program):
    """The example inputs, if they are what the program takes."""
    spec = program.call_spec.in_spec
    if examples is not None and pytree.tree_structure(examples) != spec:
        raise FormatError("the example inputs have another structure than the program's inputs")
    return examples

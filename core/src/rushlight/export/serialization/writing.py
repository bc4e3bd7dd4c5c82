"""A program as the JSON of ``models/model.json``."""

from __future__ import annotations

import keyword
import operator

from rushlight.export.graph_signature import (
    ConstantArgument,
    CustomObjArgument,
    InputKind,
    OutputKind,
)
from rushlight.export.serialization import branches, calls, functional_calls, generators, sizes
from rushlight.export.serialization.values import FormatError, leaf
from rushlight.export.verifier import schema_of
from rushlight.fx.experimental.functional_calls import FunctionalCall
from rushlight.fx.experimental.inner_graphs import HigherOrder
from rushlight.fx.node import Node
from rushlight.tensor.tensor import Tensor

SCHEMA_VERSION = {"major": 8, "minor": 20}
OPSET = {"aten": 10}
WRITTEN_FOR = "2.13.0"  # the PyTorch whose format this is


def program_as_json(program) -> dict:
    """A program without its tensors."""
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT and isinstance(spec.arg, CustomObjArgument):
            raise FormatError(
                f"input '{spec.arg.name}' is a generator that the program was given, which an "
                "archive cannot hold: let the model have it, or draw from the default one"
            )
    graph_module = {
        "graph": _program_graph(program),
        "signature": _signature(program.graph_signature),
        "module_call_graph": calls.entries_as_json(program.module_call_graph),
        "metadata": {},
        "treespec_namedtuple_fields": {},
    }
    return {
        "graph_module": graph_module,
        "opset_version": OPSET,
        "range_constraints": sizes.ranges(program.range_constraints),
        "schema_version": SCHEMA_VERSION,
        "verifiers": [each.dialect for each in program.verifiers],
        "torch_version": WRITTEN_FOR,
        "guards_code": [],
    }


# ------------------------------------------------------------------------------------------- graph
def _program_graph(program):
    graph = program.graph
    found = _graph(graph, calls.of_model(graph))
    asks = {name for name, p in program.named_parameters() if p.requires_grad}
    for spec in program.graph_signature.input_specs:
        if spec.target in asks and spec.kind is InputKind.PARAMETER:
            found["tensor_values"][spec.arg.name]["requires_grad"] = True
    return found


def _graph(graph, model):
    """A graph of a model whose own call is `model`."""
    values = {
        n.name: _meta(n.meta["val"], n, n.meta.get("sizes")) for n in graph.nodes if _is_tensor(n)
    }
    nodes = [
        _node(node, values, model)
        for node in graph.nodes
        if node.op == "call_function" and node.target is not operator.getitem
    ]
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    return {
        "inputs": [_argument(n if _is_value(n) else n.meta["val"], "") for n in placeholders],
        "outputs": [_argument(value, "") for value in graph.output_node().args[0]],
        "nodes": nodes,
        "tensor_values": values,
        "is_single_tensor_return": False,
        "custom_obj_values": {
            n.name: generators.described(n.meta["val"]) for n in placeholders if _is_generator(n)
        },
        **sizes.numbers(graph),
    }


def _is_value(node):
    return _is_tensor(node) or sizes.is_number(node) or _is_generator(node)


def _is_generator(node):
    return isinstance(node.meta.get("val"), CustomObjArgument)


def _is_tensor(node):
    return isinstance(node.meta.get("val"), Tensor)


def _meta(value, node, known):
    return sizes.tensor_meta(value, node.meta.get("device"), False, known)


def _node(node, values, model):
    found = sizes.call(node)
    if found is not None:
        return {**found, "metadata": {}, "is_hop_single_tensor_return": None, "name": node.name}
    if isinstance(node.target, FunctionalCall):
        results, known = node.meta["val"], node.meta.get("sizes")
        given = _given(node, results, known or [None] * len(results), node, values)
        return functional_calls.call(node, model, _argument, given)
    if isinstance(node.target, HigherOrder):
        return branches.call(node, model, _graph, _results(node, values))
    schema = schema_of(node.target)
    if schema is None:
        raise FormatError(
            f"node '{node.name}' calls {node.target!r}, which ATen lacks and an archive cannot "
            "have: write that part of the model with other functions"
        )
    return {
        "target": f"torch.ops.{node.target}",
        "inputs": _inputs(node, schema),
        "outputs": _outputs(node, schema, values),
        "metadata": calls.metadata_as_json(node.meta, model),
        "is_hop_single_tensor_return": None,
        "name": node.name,
    }


def _inputs(node, schema):
    found = []
    for argument, value in zip(schema.arguments, _positional(node, schema), strict=False):
        kind = argument.type + argument.shape
        found.append({"name": argument.name, "arg": _argument(value, kind), "kind": 1})
    kinds = {a.name: a.type + a.shape for a in schema.arguments}
    for name, value in node.kwargs.items():
        found.append({"name": name, "arg": _argument(value, kinds[name]), "kind": 2})
    return found


def _positional(node, schema):
    """The arguments by position, with the default of one that Python has the name of (``from``):
    PyTorch's reader asks for it."""
    given = len(node.args)
    named = [i for i, a in enumerate(schema.arguments) if keyword.iskeyword(a.name)]
    return [*node.args, *(a.default for a in schema.arguments[given : max(named, default=-1) + 1])]


def _argument(value, kind):
    if sizes.is_number(value):
        return sizes.argument(value)
    if isinstance(value, Node) and _is_generator(value):
        return {"as_custom_obj": generators.described(value.meta["val"])}
    if isinstance(value, Node):
        return {"as_tensor": {"name": value.name}}
    if not isinstance(value, list | tuple):
        return leaf(value)
    if any(map(sizes.is_number, value)):
        return sizes.listed(value)
    if any(isinstance(item, Node) for item in value) or kind.startswith("Tensor"):
        if any(item is None for item in value):
            return {"as_optional_tensors": [_optional(item) for item in value]}
        return {"as_tensors": [{"name": item.name} for item in value]}
    for word, types in (("as_bools", bool), ("as_ints", int), ("as_strings", str)):
        if all(isinstance(item, types) for item in value):
            if value or word == "as_ints":
                return {word: list(value)}
    if all(isinstance(item, int | float) for item in value):
        return {"as_floats": [leaf(float(item))["as_float"] for item in value]}
    raise FormatError(f"a list of these values cannot be written: {value!r}")


def _optional(item):
    return {"as_none": True} if item is None else {"as_tensor": {"name": item.name}}


def _outputs(node, schema, values):
    """The names of results; of one that nobody takes, a name is made up."""
    if not schema.returns:
        return []
    if sizes.is_number(node):
        return [sizes.argument(node)]
    if _is_tensor(node):
        return [{"as_tensor": {"name": node.name}}]
    names = _results(node, values)
    if len(schema.returns) == 1:
        return [{"as_tensors": names}]
    return [{"as_tensor": name} for name in names]


def _results(node, values):
    """The names of several results."""
    known = node.meta.get("sizes") or [None] * len(node.meta["val"])
    return [each["as_tensor"] for each in _given(node, node.meta["val"], known, node, values)]


def _given(taker, results, known, node, values, unused=None):
    """Several results of a node, which are tensors, None or lists of them, as arguments; `taker` is
    what parts of them are taken from."""
    users = () if taker is None else taker.users
    taken = {u.args[1]: u for u in users if u.target is operator.getitem}
    found = []
    for i, value in enumerate(results):
        item, name = taken.get(i), f"{unused or node.name}_unused_{i}"
        if value is None:
            found.append({"as_none": True})
        elif isinstance(value, Tensor):
            name = name if item is None else item.name
            values.setdefault(name, _meta(value, node, known[i]))
            found.append({"as_tensor": {"name": name}})
        else:
            parts = _given(item, value, known[i] or [None] * len(value), node, values, name)
            found.append({"as_tensors": [each["as_tensor"] for each in parts]})
    return found


# --------------------------------------------------------------------------------------- signature
def _signature(signature):
    return {
        "input_specs": [_input_spec(spec) for spec in signature.input_specs],
        "output_specs": [_output_spec(spec) for spec in signature.output_specs],
    }


def _input_spec(spec):
    name = {"name": spec.arg.name}
    if spec.kind is InputKind.PARAMETER:
        return {"parameter": {"arg": name, "parameter_name": spec.target}}
    if spec.kind is InputKind.BUFFER:
        persistent = bool(spec.persistent)
        return {"buffer": {"arg": name, "buffer_name": spec.target, "persistent": persistent}}
    if spec.kind is InputKind.CONSTANT_TENSOR:
        return {"tensor_constant": {"arg": name, "tensor_constant_name": spec.target}}
    if spec.kind is InputKind.CUSTOM_OBJ:
        described = generators.described(spec.arg)
        return {"custom_obj": {"arg": described, "custom_obj_name": spec.target}}
    if isinstance(spec.arg, ConstantArgument):
        return {"constant_input": {"name": spec.arg.name, "value": leaf(spec.arg.value)}}
    return {"user_input": {"arg": calls.argument_as_json(spec.arg)}}


def _output_spec(spec):
    if spec.kind is OutputKind.USER_OUTPUT:
        return {"user_output": {"arg": calls.argument_as_json(spec.arg)}}
    word, key = MUTATIONS[spec.kind]
    return {word: {"arg": {"name": spec.arg.name}, key: spec.target}}


MUTATIONS = {
    OutputKind.BUFFER_MUTATION: ("buffer_mutation", "buffer_name"),
    OutputKind.PARAMETER_MUTATION: ("parameter_mutation", "parameter_name"),
    OutputKind.USER_INPUT_MUTATION: ("user_input_mutation", "user_input_name"),
}

"""Calls of submodules in ``models/model.json``: which of them nodes belong to, and what those of
known signature take and give."""

from __future__ import annotations

import json
import re

from rushlight.export.exported_program import ModuleCallEntry
from rushlight.export.graph_signature import (
    ConstantArgument,
    ModuleCallSignature,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from rushlight.export.serialization.values import (
    FormatError,
    identifier,
    leaf,
    only,
    read_leaf,
    tree_of,
    tree_text,
)
from rushlight.fx.traceback import NodeSource

# Arguments and results that are numbers.
NUMBERS = {SymIntArgument: "as_sym_int", SymFloatArgument: "as_sym_float"}
_STACK = "nn_module_stack"
_PATH = re.compile(r"([^.]+(\.[^.]+)*)?", re.DOTALL)


# ---------------------------------------------------------------------------------- of every node
def of_model(graph) -> dict:
    """The model's call alone: nodes that export adds belong to it."""
    for node in graph.nodes:
        for key, call in node.meta.get(_STACK, {}).items():
            return {key: call}
    return {}


def _stack_as_json(meta, model) -> dict:
    """The calls that a node belongs to, from the model's to the innermost: ``key,path,class``."""
    calls = meta.get(_STACK) or model
    if any(set(path) & {",", ";"} for path, _ in calls.values()):
        return {}  # the text has no way to write such a name
    text = ";".join(f"{key},{path},{kind}" for key, (path, kind) in calls.items())
    return {_STACK: text} if text else {}


def metadata_as_json(meta, model) -> dict:
    """What is kept of where a node was made: calls of modules and of a function, the line of the
    program, the nodes it was made of; and what users noted in ``meta["custom"]``."""
    found = _stack_as_json(meta, model)
    if meta.get("stack_trace"):
        found["stack_trace"] = meta["stack_trace"]
    if meta.get("torch_fn"):
        found["torch_fn"] = ";".join(meta["torch_fn"])
    if meta.get("custom"):
        found["custom"] = _custom_as_json(meta["custom"])
    if "from_node" in meta:
        found["from_node"] = json.dumps([each.to_dict() for each in meta["from_node"]])
    return found


def _custom_as_json(custom):
    try:
        return json.dumps(custom)
    except (TypeError, ValueError) as error:
        raise FormatError(
            f"meta['custom'] of a node is {custom!r}, which JSON cannot write: {error}"
        ) from error


def read_metadata(metadata) -> dict:
    """The same from an archive; FormatError where a path is no name of a submodule."""
    found: dict = _read_stack(metadata)
    if "stack_trace" in metadata:
        found["stack_trace"] = str(metadata["stack_trace"])
    if "torch_fn" in metadata:
        found["torch_fn"] = tuple(str(metadata["torch_fn"]).split(";"))
    if "custom" in metadata:
        found["custom"] = _of_json("custom", metadata["custom"])
    if "from_node" in metadata:
        found["from_node"] = _sources(_of_json("from_node", metadata["from_node"]))
    return found


def _of_json(key, text):
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise FormatError(f"'{key}' of a node is no JSON: {error}") from error


def _sources(found):
    try:
        return [source for source in map(NodeSource._from_dict, found or ()) if source]
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FormatError(f"'from_node' of a node describes no nodes: {error}") from error


def _read_stack(metadata):
    text = metadata.get(_STACK)
    if not text:
        return {}
    found = {}
    for call in str(text).split(";"):
        key, *others = call.split(",", 2)
        if len(others) < 2 or not _PATH.fullmatch(others[0]):
            raise FormatError(f"'{_STACK}' has the entry {call!r} instead of key,path,class")
        found[key] = tuple(others)
    return {_STACK: found}


# ------------------------------------------------------------------------------------- signatures
def entries_as_json(entries) -> list:
    """The model's modules, and how those of known signature are called."""
    return [{"fqn": entry.fqn, "signature": _as_json(entry.signature)} for entry in entries]


def _as_json(signature):
    if signature is None:
        return None
    return {
        "inputs": list(map(argument_as_json, signature.inputs)),
        "outputs": list(map(argument_as_json, signature.outputs)),
        "in_spec": tree_text(signature.in_spec),
        "out_spec": tree_text(signature.out_spec),
        "forward_arg_names": signature.forward_arg_names,
    }


def argument_as_json(argument) -> dict:
    """A tensor, a number of the program or a constant."""
    if isinstance(argument, ConstantArgument):
        return leaf(argument.value)
    word = NUMBERS.get(type(argument))
    if word is not None:
        return {word: {"as_name": argument.name}}
    return {"as_tensor": {"name": argument.name}}


def read_argument(kind, value):
    """The same from an archive."""
    if kind == "as_tensor":
        return TensorArgument(value["name"])
    for made, word in NUMBERS.items():
        if kind == word and "as_name" in value:
            return made(value["as_name"])
    return ConstantArgument("", read_leaf(kind, value))


def read_entries(found, nodes) -> list[ModuleCallEntry]:
    """The modules of an archive; `nodes` are those of its graph, by their names there."""
    entries = [ModuleCallEntry(_path(e["fqn"]), _read(e["signature"], nodes)) for e in found]
    info = entries[0].signature
    if info is None:
        raise FormatError("'module_call_graph' does not say how the model is called")
    info.inputs, info.outputs = [], []  # of the model, which its graph has
    names = info.forward_arg_names
    given = (names or [])[: info.in_spec.children_specs[0].num_children]
    given += info.in_spec.children_specs[1].context or []
    for name in (*given, *(names or ())):
        identifier(name, "argument of forward")
    if len(set(given)) < len(given):
        raise FormatError(f"two arguments of forward have one name: {given}")
    return entries


def _path(name):
    if not isinstance(name, str) or not _PATH.fullmatch(name):
        raise FormatError(f"'module_call_graph' has {name!r}, which is no name of a submodule")
    return name


def _read(found, nodes):
    if found is None:
        return None
    return ModuleCallSignature(
        [_exchanged(value, nodes) for value in found["inputs"]],
        [_exchanged(value, nodes) for value in found["outputs"]],
        tree_of(found["in_spec"]), tree_of(found["out_spec"]), found["forward_arg_names"],
    )  # fmt: skip


def _exchanged(union, nodes):
    argument = read_argument(*only(union))
    if not isinstance(argument, ConstantArgument):
        if argument.name not in nodes:
            raise FormatError(f"a submodule takes or gives {argument.name!r}, which is no node")
        argument.name = nodes[argument.name].name
    return argument

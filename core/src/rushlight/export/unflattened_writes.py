"""New values of buffers and inputs as writes: what a program without writes returns of them is
copied into them where it was computed, in the call of the submodule that has the buffer, or in that
of kept signature that computes it."""

from __future__ import annotations

from rushlight.export.calls import ROOT
from rushlight.export.graph_signature import OutputKind
from rushlight.fx.graph import Graph
from rushlight.fx.node import Node
from rushlight.library.operators import lookup


def add_writes(graph: Graph, signature, names: dict[str, list[str]], kept_calls) -> list[Node]:
    """Add nodes that write to a graph, which then returns the results of the user alone; the nodes.
    `names` are all names of the tensors that inputs of the graph stand for, `kept_calls` the
    signatures of calls by their names, where these are kept."""
    inputs = {node.name: node for node in graph.nodes if node.op == "placeholder"}
    homes = {spec.target: inputs[spec.arg.name] for spec in signature.input_specs if spec.target}
    output, kept, writes = graph.output_node(), [], []
    for value, spec in zip(output.args[0], signature.output_specs, strict=True):
        if spec.kind is OutputKind.USER_OUTPUT:
            kept.append(value)
            continue
        of_user = spec.kind is OutputKind.USER_INPUT_MUTATION
        home = inputs[spec.target] if of_user else homes[spec.target]
        if value is not home:
            writes.append((home, value))
    output.args = (tuple(kept),)
    between = [(homes[n.meta["value_of"]], n) for n in graph.nodes if _leaves(n, kept_calls)]
    writes = [*(pair for pair in between if pair not in writes), *writes]
    return [
        _written(graph, home, value, names.get(home.name, ()), kept_calls) for home, value in writes
    ]


def _leaves(node, kept_calls):
    """Whether a node is what a buffer is between two writes, and calls of kept signature between it
    and who reads it do not pass it."""
    if "value_of" not in node.meta:
        return False
    inner = _structured(node, kept_calls)
    return any(_is_needed(node, inner, user, kept_calls) for user in node.users)


def _is_needed(node, inner, user, kept_calls):
    around = _structured(user, kept_calls)
    if user.op == "output" or not around.keys() >= inner.keys():
        return bool(inner)
    given = [signature for key, signature in around.items() if key not in inner]
    return any(node.name not in {a.name for a in signature.inputs} for signature in given)


def _structured(node, kept_calls):
    """The signatures of the calls of kept signature that a node is in, by their keys."""
    stack = node.meta.get("nn_module_stack") or {}
    names = {key: key.removeprefix(ROOT) for key in stack}
    return {key: kept_calls[name] for key, name in names.items() if name in kept_calls}


def _written(graph, home, value, names, kept_calls):
    """A node that writes a value behind the last one that reads the value before."""
    order = {node: i for i, node in enumerate(graph.nodes)}
    readers = [node for node in home.users if node.op == "call_function"]
    last = max((value, *readers), key=order.__getitem__)
    stack = last.meta.get("nn_module_stack") or {}
    owners = _owners(stack, names, _structured(value, kept_calls))
    inner = next((key for key in stack if key not in owners), None)
    after = last
    while inner is not None and after.next.op == "call_function":
        if inner not in after.next.meta.get("nn_module_stack", {inner: None}):
            break
        after = after.next
    copy_ = lookup("aten").copy_.default
    with graph.inserting_after(_behind_inputs(after)):
        made = graph.call_function(copy_, (home, value))
    made.meta = {**home.meta, "nn_module_stack": owners}
    return made


def _owners(stack, names, structured):
    """The outer calls of a node, up to the last one whose submodule has a tensor of these names, or
    that is `structured`: outside of it nobody has the value."""
    found, kept = {}, {}
    for key, (path, kind) in stack.items():
        found[key] = path, kind
        if not path or key in structured or any(n.startswith(f"{path}.") for n in names):
            kept = dict(found)
    return kept


def _behind_inputs(node):
    while node.next.op in ("placeholder", "get_attr"):
        node = node.next
    return node

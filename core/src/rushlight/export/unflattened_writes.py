"""New values of buffers and inputs as writes: what a program without writes returns of them is
copied into them where it was computed, in the call of the submodule that has the buffer."""

from __future__ import annotations

from rushlight.export.calls import ROOT
from rushlight.export.graph_signature import OutputKind
from rushlight.fx.graph import Graph
from rushlight.fx.node import Node
from rushlight.library.operators import lookup


def add_writes(graph: Graph, signature, names: dict[str, list[str]], kept_calls) -> list[Node]:
    """Add nodes that write to a graph, which then returns the results of the user alone; the nodes.
    `names` are all names of the tensors that inputs of the graph stand for, `kept_calls` those of
    the calls of kept signature."""
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
    return [_written(graph, home, value, names.get(home.name, ())) for home, value in writes]


def _leaves(node, kept_calls):
    """Whether a node is what a buffer is between two writes, and is read outside of the innermost
    call of kept signature that computes it."""
    stack = node.meta.get("nn_module_stack") or {}
    inner = [key for key in stack if key.removeprefix(ROOT) in kept_calls]
    if "value_of" not in node.meta or not inner:
        return False
    return any(inner[-1] not in user.meta.get("nn_module_stack", ()) for user in node.users)


def _written(graph, home, value, names):
    """A node that writes a value behind the last one that reads the value before."""
    order = {node: i for i, node in enumerate(graph.nodes)}
    readers = [node for node in home.users if node.op == "call_function"]
    last = max((value, *readers), key=order.__getitem__)
    stack = last.meta.get("nn_module_stack") or {}
    owners = _owners(stack, names)
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


def _owners(stack, names):
    """The outer calls of a node, up to the last one whose submodule has a tensor of these names."""
    found, kept = {}, {}
    for key, (path, kind) in stack.items():
        found[key] = path, kind
        if not path or any(name.startswith(f"{path}.") for name in names):
            kept = dict(found)
    return kept


def _behind_inputs(node):
    while node.next.op in ("placeholder", "get_attr"):
        node = node.next
    return node

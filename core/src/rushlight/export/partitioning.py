"""The graph of an exported program as a tree: the calls of submodules that its nodes belong to."""

from __future__ import annotations

import copy
from itertools import takewhile

from rushlight.export.decomposing import is_needed
from rushlight.export.graph_signature import TensorArgument, exchanged
from rushlight.export.unflattened_writes import add_writes
from rushlight.export.verifier import writes
from rushlight.fx.graph import Graph
from rushlight.fx.node import Node

_READ = ("placeholder", "get_attr")


class Call:
    """A call of a submodule: `path` is the submodule's name, `number` counts its calls from 0,
    `items` are the nodes of the call and the calls in it, in order. `signature` is a
    :class:`ModuleCallSignature` where it is to be kept."""

    def __init__(self, path: str, number: int = 0, signature=None):
        self.path, self.number, self.signature = path, number, signature
        self.items: list[Node | Call] = []
        self.nodes: dict[Node, None] = {}  # of the call and of those in it
        self.inputs: list[Node] = []
        self.outputs: list[Node] = []

    def calls(self):
        """The calls in it, from the outermost, in order."""
        for item in self.items:
            if isinstance(item, Call):
                yield item
                yield from item.calls()

    def has(self, name: str) -> bool:
        """Whether the submodule, or one of its own, has the tensor of that name."""
        return not self.path or name.startswith(f"{self.path}.")


def partitioned(program, names: dict[str, list[str]]) -> tuple[Graph, Call]:
    """A copy of the program's graph without what nobody reads, and the tree of its calls. `names`
    are all names of the tensors that inputs of the graph stand for."""
    graph = copy.deepcopy(program.graph)
    entries = program.module_call_graph
    kept = {entry.fqn: copy.deepcopy(entry.signature) for entry in entries if entry.fqn}
    signatures = {name: signature for name, signature in kept.items() if signature is not None}
    copies = add_writes(graph, program.graph_signature, names, signatures)
    needed = {argument.name for signature in kept.values() for argument in exchanged(signature)}
    graph.eliminate_dead_code(lambda node: node.name in needed or is_needed(node) or writes(node))
    root = _tree(graph, kept)
    structured = [call for call in root.calls() if call.signature is not None]
    for node in copies:
        _read_buffer(node, structured)
    for call in structured:
        _read_what_is_written(call, names)
    passed = _passed(graph, root)
    for call in root.calls():
        _connect(call, names, passed)
    return graph, root


# -------------------------------------------------------------------------------------------- tree
def _tree(graph, kept):
    nodes = [node for node in graph.nodes if node.op not in (*_READ, "output")]
    keys = _keys(nodes)
    root = Call("")
    opened: list[tuple[str, Call]] = []
    for node, wanted in zip(nodes, keys, strict=True):
        same = len(_common([key for key, _ in opened], [key for key, _ in wanted]))
        del opened[same:]
        for key, path in wanted[same:]:
            number = _number(key)
            call = Call(path, number, kept.get(f"{path}@{number}" if number else path))
            (opened[-1][1] if opened else root).items.append(call)
            opened.append((key, call))
        (opened[-1][1] if opened else root).items.append(node)
        root.nodes[node] = None
        for _, call in opened:
            call.nodes[node] = None
    return root


def _keys(nodes):
    """For every node the keys and paths of its calls below the model's."""
    known = [_stack(node) for node in nodes]
    following, behind = [], []
    for found in reversed(known):
        following.append(behind)
        behind = behind if found is None else found
    following.reverse()
    before: list = []
    for i, found in enumerate(known):
        # sizes that export adds are in no call: they stand in that around them
        known[i] = before = _common(before, following[i]) if found is None else found
    return known


def _stack(node):
    stack = node.meta.get("nn_module_stack")
    if stack is None:
        return None
    found, path = [], ""
    for key, (name, _) in stack.items():
        # a module of another part of the model is a part of its caller
        if name.startswith(f"{path}." if path else "") and name != path:
            found.append((key, name))
            path = name
    return found


def _common(one, two):
    return [a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False))]


def _number(key):
    _, found, number = key.rpartition("@")
    return int(number) if found and number.isdecimal() else 0


# ------------------------------------------------------------------------------ what calls exchange
def _passed(graph, root):
    """By nodes, the calls of kept signature that they are given to or come from."""
    nodes = {node.name: node for node in graph.nodes}
    found: dict[Node, list[Call]] = {}
    for call in root.calls():
        for argument in exchanged(call.signature):
            found.setdefault(nodes[argument.name], []).append(call)
    return found


def _connect(call, names, passed):
    """Note what a call reads of others, the first last as in PyTorch, and what others read."""
    within = {call, *call.calls()}
    read = {source: None for node in call.nodes for source in node.all_input_nodes}
    read |= {node: None for node, calls in passed.items() if not within.isdisjoint(calls)}
    read = {n: None for n in read if n not in call.nodes and not is_own(call, n, names)}
    call.inputs = list(reversed(read))
    for node in call.nodes:
        if any(user not in call.nodes for user in node.users) or any(
            other not in within for other in passed.get(node, ())
        ):
            call.outputs.append(node)


def is_own(call, node, names) -> bool:
    """Whether a call finds what a node reads: a graph, or a tensor of its submodule; one of kept
    signature, which is called with nothing else than the original, any tensor of the model."""
    if node.op == "get_attr":
        return True
    homes = names.get(node.name, ()) if node.op == "placeholder" else ()
    return bool(homes) if call.signature is not None else any(map(call.has, homes))


def _read_what_is_written(call, names):
    """Between a call whose signature is kept and others only its arguments and results pass: what
    was written to is read where it is, instead of as the result of the op that wrote."""
    given, taken = ({a.name for a in side if isinstance(a, TensorArgument)}
                    for side in (call.signature.inputs, call.signature.outputs))  # fmt: skip
    for node in list(call.nodes):
        if node.name not in taken:
            base = _written(node, lambda n: n not in call.nodes or n.name in taken)
            _replace(node, base, lambda user: user not in call.nodes)
    outside = {n: None for node in call.nodes for n in node.all_input_nodes if n not in call.nodes}
    for node in outside:
        if node.name not in given and not is_own(call, node, names):
            base = _written(node, lambda n: n.name in given or is_own(call, n, names))
            _replace(node, base, lambda user: user in call.nodes)


def _read_buffer(node, structured):
    """What `node` writes to a buffer is read from the buffer where calls of kept signature, such as
    `structured` are, do not pass it."""
    value, order = node.args[1], {each: i for i, each in enumerate(node.graph.nodes)}

    def behind(each):
        return order[each] > order[node]

    for call in structured:
        inside = value in call.nodes
        passed = call.signature.outputs if inside else call.signature.inputs
        if value.name in {argument.name for argument in passed}:
            continue
        _replace(
            value,
            node,
            lambda n, call=call, inside=inside: behind(n) and (n in call.nodes) != inside,
        )
        if inside:
            _give_buffer(node, [c for c in structured if all(map(behind, c.nodes))])


def _give_buffer(node, calls):
    """Let calls that are given what `node` writes to a buffer be given the buffer."""
    home, value = node.args
    for argument in (argument for call in calls for argument in call.signature.inputs):
        if isinstance(argument, TensorArgument) and argument.name == value.name:
            argument.name = home.name


def _written(node, found):
    """What a node wrote to, or that before it for which `found` holds; None if there is none."""
    while writes(node) and isinstance(node.args[0], Node):
        node = node.args[0]
        if found(node):
            return node
    return None


def _replace(node, by, where):
    if by is not None:
        for user in [user for user in node.users if where(user)]:
            user.replace_input_with(node, by)

"""Writes in place where a graph of ATen ops without writes no longer reads the old value."""

from __future__ import annotations

import functools
import operator

from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.fx.passes.shape_prop import ShapeProp, TensorMetadata
from rushlight.library.aten import AtenOverload
from rushlight.library.operators import lookup
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree


def reinplace(gm: GraphModule, *sample_args) -> GraphModule:
    """Write into tensors that a graph reads no more, in place of new ones; the same module.

    `gm` calls ATen ops that do not write, as :func:`make_fx` of :func:`functionalize` gives them;
    `sample_args` are arguments of it, which are not changed. An op becomes its in-place form where
    that has the result's shape and dtype and nothing reads its first argument, or a view of it,
    afterwards; ``select_scatter`` and its like become writes to views. Inputs and attributes of the
    module are never written to.

    >>> import rushlight
    >>> from rushlight.fx.experimental.proxy_tensor import make_fx
    >>> from rushlight.fx.passes.reinplace import reinplace
    >>> gm = make_fx(lambda x: (x + 1).relu())(rushlight.ones(2))
    >>> [n.target for n in reinplace(gm, rushlight.ones(2)).graph.nodes if n.name == "relu"]
    [<OpOverload(op='aten.relu_', overload='default')>]
    """
    copies = pytree.tree_map(lambda v: v.clone() if isinstance(v, Tensor) else v, sample_args)
    memory = _Memory(gm)
    memory.propagate(*copies)
    _Writes(gm.graph, memory.storages).run()
    gm.graph.lint()
    gm.recompile()
    return gm


class _Memory(ShapeProp):
    """Runs a graph and notes in which storages the tensors of each node are."""

    def __init__(self, module):
        super().__init__(module)
        self.storages: dict[Node, set[int]] = {}
        self.alive: list = []  # so that no storage takes the address of another

    def run_node(self, n):
        """The value of a node."""
        found = super().run_node(n)
        tensors = [v for v in pytree.tree_leaves(found) if isinstance(v, Tensor)]
        self.storages[n] = {tensor.untyped_storage()._key() for tensor in tensors}
        self.alive.append(found)
        return found


class _Writes:
    """The nodes of a graph by the memory that they share; `shared` maps each to its first one."""

    def __init__(self, graph, storages):
        self.graph, self.nodes, self.storages = graph, list(graph.nodes), storages
        self.order = {node: i for i, node in enumerate(self.nodes)}
        self.shared: dict[Node, Node] = {}
        self.members: dict[Node, list[Node]] = {}
        self.kept: set[Node] = set()  # memory that is not the graph's own
        self.changed: set[Node] = set()
        first: dict[int, Node] = {}
        for node in self.nodes:
            owners = [first.setdefault(storage, node) for storage in storages[node]] or [node]
            self._note(node, owners)

    def _note(self, node, owners):
        self.shared[node] = owners[0]
        self.members.setdefault(owners[0], []).append(node)
        if _is_foreign(node):
            owners = [*owners, *(self.shared[read] for read in node.all_input_nodes)]
        several = len(self.storages[node]) > 1 and node.op != "output"
        if node.op in ("placeholder", "get_attr") or several or _is_foreign(node):
            self.kept.update(owners)

    def run(self):
        """Change one node after the other."""
        for node in self.nodes:
            view = _view_of(node)
            if view is not None:
                self._write_view(node, view)
            elif (written := _in_place(node)) is not None and self._is_free(node):
                node.target = written
                self._replaced(node, node.args[0])
                self.changed.add(node.args[0])

    def _replaced(self, node, target):
        """Let a value stand for another, whose views are views of it from now on."""
        node.replace_all_uses_with(target, delete_user_cb=lambda user: user is not node)
        former, owner = self.shared[node], self.shared[target]
        if former is owner:
            return
        for member in self.members.pop(former):
            self.shared[member] = owner
            self.members[owner].append(member)
        if former in self.kept:
            self.kept.add(owner)

    def _is_free(self, node):
        """Whether the first argument of a node may be written to when it runs."""
        first, *others = node.all_input_nodes
        if first is not node.args[0] or any(self._alike(first, other) for other in others):
            return False
        return not self._read_after(node, first)

    def _alike(self, one, other):
        return self.shared[one] is self.shared[other]

    def _read_after(self, node, value):
        """Whether something else needs memory as it was before a node."""
        owner = self.shared[value]
        if owner in self.kept:
            return True
        readers = (user for member in self.members[owner] for user in member.users)
        return any(
            self.order[reader] > self.order[node]
            and not _is_dead(reader)
            and not _brings_back(reader, node, value)
            for reader in readers
        )

    def _write_view(self, node, view):
        """``base`` with a changed view as a write to the view, which may be done already."""
        base, source, *rest = node.args
        done = isinstance(source, Node) and source in self.changed
        if done and source.target is view and source.args == (base, *rest):
            self._replaced(node, base)
            self.graph.erase_node(node)
            return
        if not isinstance(source, Node) or self._alike(base, source):
            return
        if self._read_after(node, base):
            return
        with self.graph.inserting_before(node):
            part = self.graph.call_function(view, (base, *rest), dict(node.kwargs))
            copy = self.graph.call_function(lookup("aten").copy_.default, (part, source))
        for made in (part, copy):
            self.order[made], self.shared[made] = self.order[node], self.shared[base]
            self.members[self.shared[base]].append(made)
        self._replaced(node, base)
        self.graph.erase_node(node)


def _is_foreign(node):
    """Whether a node calls what has no schema, so that nothing is known of its memory."""
    known = isinstance(node.target, AtenOverload) or node.target is operator.getitem
    return node.op.startswith("call") and not known


def _is_dead(node):
    target = node.target
    plain = isinstance(target, AtenOverload) and not target._schema.is_mutable
    return plain and not node.users


def _brings_back(reader, node, value):
    """Whether a node takes the result of another, which writes to a view, back into its base."""
    view = _view_of(reader)
    if view is None or reader.args[1] is not node:
        return False
    return value.target is view and value.args == (reader.args[0], *reader.args[2:])


def _view_of(node):
    """The operator of the view that a node brings back; None for other nodes."""
    if not isinstance(node.target, AtenOverload) or node.kwargs:
        return None
    name, _, _ = node.target.__name__.rpartition("_")  # before what says that it is brought back
    return _view_named(name, node.target) if name else None


@functools.cache
def _view_named(name, target):
    """The overload of an op that takes what another takes beside the changed view."""
    wanted = [argument.name for argument in target._schema.arguments]
    packet = getattr(lookup("aten"), name, None)
    for overload in () if packet is None else packet.overloads():
        found = getattr(packet, overload)
        taken = [argument.name for argument in found._schema.arguments]
        if [*taken[:1], "src", *taken[1:]] == wanted:
            return found
    return None


def _in_place(node):
    """The in-place form of what a node calls, where its first argument can hold the result."""
    if not isinstance(node.target, AtenOverload) or node.target._schema.is_mutable:
        return None
    if not node.args or not isinstance(node.args[0], Node) or not _holds(node.args[0], node):
        return None
    name, _, overload = str(node.target).removeprefix("aten.").partition(".")
    found = getattr(getattr(lookup("aten"), f"{name}_", None), overload, None)
    if found is None or not _same_arguments(found._schema, node.target._schema):
        return None
    return found


def _same_arguments(one, other):
    first = one.arguments[:1]
    names = [[a.name for a in schema.arguments] for schema in (one, other)]
    return names[0] == names[1] and bool(first) and first[0].is_write


def _holds(value, node):
    """Whether a value has the shape and dtype of another, and each element memory of its own."""
    one, other = (each.meta.get("tensor_meta") for each in (value, node))
    if not isinstance(one, TensorMetadata) or not isinstance(other, TensorMetadata):
        return False
    apart = all(step or size < 2 for size, step in zip(one.shape, one.stride, strict=True))
    return apart and one.shape == other.shape and one.dtype == other.dtype


__all__ = ["reinplace"]

"""The graph: one Node per recorded call. A leaf tensor is its own end of the graph."""

from __future__ import annotations

import itertools
import typing
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from rushlight.autograd.handle import RemovableHandle, add_hook
from rushlight.autograd.later import later
from rushlight.autograd.mode import mode

next_sequence = itertools.count(1).__next__


class _Marker:
    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


LEAF = _Marker("LEAF")  # in `tensor._node`: requires grad and has no history
STALE = _Marker("STALE")  # in `view._node`: its storage was written to; replay the path when asked


class Node:
    """One recorded call: enough to run its gradient formulas.

    `edges[i]` is where the gradient of the i-th tensor argument goes: a Node, a leaf tensor, or
    None; `numbers[i]` is the output number there (`numbers` is None while all are 0).
    """

    __slots__ = ("__dict__", "__weakref__", "edges", "op", "outputs", "plan", "saved", "sequence")

    # Rare state, set on the instance when needed.
    hooks: OrderedDict[int, Callable[..., Any]] | None = None
    pre_hooks: OrderedDict[int, Callable[..., Any]] | None = None
    tensor_hooks = None
    numbers = None
    shapes = None  # of the tensor arguments, when one differs from the output's
    dtypes = None  # of the tensor arguments, likewise
    values = None  # all bound arguments, when an attribute has not its default
    versions = None  # of the saved values, when one is not 0
    packed = False  # whether hooks of the user hold saved values
    is_part = False  # whether it only shows what is part of the call after it
    requires_grad = True  # as PyTorch has it of every node
    following = None  # `next_functions`, once asked for: what stands for leaves lives as long

    def __init__(self, op, edges, numbers, outputs=1):
        self.op, self.edges, self.outputs = op, edges, outputs
        if numbers is not None:
            self.numbers = numbers
        self.sequence = next_sequence()
        self.saved = self.plan = None

    def name(self) -> str:
        """The node's type name as PyTorch prints it, for example ``AddBackward0``."""
        name = getattr(self.op, "name_node", None)
        return self.op.node_name if name is None else name(self)

    def __call__(self, *grads):
        """The gradients of the inputs for those of the outputs: one, or a tuple."""
        given = list(grads) if self.outputs > 1 else grads[0]
        pieces = tuple(self.op.backward(self, given, mode.recording))
        order = arrangement_of(self)
        pieces = pieces if order is None else order.shown(pieces)
        return pieces if len(pieces) > 1 else pieces[0]

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """``((node, output number), ...)`` of the arguments; leaves as `AccumulateGrad`."""
        if self.following is None:
            numbers, order = self.numbers or (0,) * len(self.edges), arrangement_of(self)
            pairs = zip(self.edges, numbers, strict=True)
            if order is not None:
                pairs = order.edges(self.edges, numbers)
            self.following = tuple((as_function(edge), number) for edge, number in pairs)
        return self.following

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the node ran; it may return new ones."""
        self._refuse_part()
        if self.hooks is None:
            self.hooks = OrderedDict()
        return add_hook(self.hooks, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before this node runs; it may return new outputs."""
        self._refuse_part()
        if self.pre_hooks is None:
            self.pre_hooks = OrderedDict()
        return add_hook(self.pre_hooks, hook)

    def _refuse_part(self):
        if self.is_part:
            raise NotImplementedError(
                f"{self.name()} is part of the call after it, so no hook can run at it; put the "
                "hook on that node, which gets the gradients of all its inputs, or on the tensor"
            )

    @property
    def metadata(self) -> dict[Any, Any]:
        """Notes of users and of anomaly mode about this call."""
        return self.__dict__.setdefault("_notes", {})

    def _sequence_nr(self) -> int:
        return self.sequence

    def __getattr__(self, name):
        if name.startswith("_saved_"):
            return _saving().saved_value(self, name[7:])
        if name.startswith("_raw_saved_"):
            return _saving().SavedTensor(self, name[11:])
        if getattr(self.op, "of_user", False) and self.values is not None:
            if name == "_forward_cls":
                return self.op.kind
            return getattr(self.values[0], name)  # what forward noted in its context
        raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")

    def __dir__(self):
        return [*super().__dir__(), *_saving().saved_names(self)]

    def __repr__(self):
        return f"<{class_name(self)} object at {id(self):#x}>"


def arrangement_of(node):
    """How PyTorch orders the inputs of a node, or None where it is as the op does."""
    arranged = getattr(node.op, "arranged", None)
    return None if arranged is None else later("arrangement").arrangement(arranged(node))


def _saving():
    from rushlight.autograd import saving  # which imports this module

    return saving


# Nodes are recorded as plain ones; the first look of a program at one gives it the class of its
# name. ``type(edge) in NODES`` tells nodes from leaves; machine code asks for the same by the base.
NODES: set[type] = {Node}
_named: dict[tuple[str, str], type] = {}  # by name and module


def class_name(node: Node) -> str:
    """The name of a node's class: that of the node without namespaces."""
    return node.name().rpartition("::")[2]


def _named_class(name: str, module: str) -> type:
    found = _named.get((name, module))
    if found is None:
        found = _named[name, module] = type(name, (Node,), {"__slots__": (), "__module__": module})
        NODES.add(found)
    return found


class AccumulateGrad(Node):
    """The end of the graph at a leaf; `variable` is the tensor. Made when somebody asks for it, and
    the same one as long as somebody holds it."""

    __slots__ = ("variable",)
    op = saved = plan = None
    edges = next_functions = ()
    outputs = 1
    sequence = 2**64 - 1  # after every call: the engine takes the largest first

    def __init__(self, variable):
        self.variable = variable

    def __call__(self, grad):
        """Add `grad` to the leaf's gradient, as the backward pass does, hooks included."""
        self.variable.backward(grad)
        return ()

    def name(self) -> str:
        """The node's type name as PyTorch prints it."""
        return "torch::autograd::AccumulateGrad"

    def register_prehook(self, hook):
        """Call ``hook((grad,))`` before the leaf's gradient is accumulated; it may return another
        one."""

        def before(grad):
            found = hook((grad,))
            return found[0] if isinstance(found, tuple) else found

        return self.variable._leaf_hooked("_hooks", before, True)

    def register_hook(self, hook):
        """Call ``hook((), (grad,))`` after the leaf's gradient is accumulated."""
        return self.variable._leaf_hooked(
            "_post_hooks", lambda leaf: hook((), (leaf.grad,)) and None, True
        )


_ends: weakref.WeakValueDictionary[int, AccumulateGrad] = weakref.WeakValueDictionary()


def as_function(edge):
    """An edge as programs see it: None, a node of the class of its name, or the AccumulateGrad of
    a leaf."""
    if edge is None or isinstance(edge, AccumulateGrad):
        return edge
    kind = type(edge)
    if kind is Node:
        module = "rushlight.autograd.function" if getattr(edge.op, "of_user", False) else "builtins"
        edge.__class__ = _named_class(class_name(edge), module)
    elif kind not in NODES:
        # An end holds its leaf, so no other leaf can have the same id while it is in the table.
        edge = _ends.get(id(edge)) or _ends.setdefault(id(edge), AccumulateGrad(edge))
    return edge


class _Edge(typing.NamedTuple):
    node: Node | AccumulateGrad
    output_nr: int
    ownership_token: object = None


class GradientEdge(_Edge):
    """Where a tensor's gradient goes: a node, or the accumulation at a leaf, and which of its
    outputs. Of a node it stands in for a tensor with this history."""

    __slots__ = ()
    requires_grad = True

    @property
    def _node(self):
        return self.node

    @property
    def _index(self):
        return self.output_nr


def gradient_edge(tensor):
    """Where a tensor's gradient goes: ``(node, output number)`` or ``(leaf tensor, 0)``."""
    node = tensor._node
    if node is None:
        return None, 0
    if node is LEAF:
        return tensor, 0
    if node is STALE:
        tensor._refresh()
        return gradient_edge(tensor)
    return node, tensor._index


def edges_of(tensors):
    """Edges and output numbers of a tuple of tensors or Nones."""
    edges, numbers = [], None
    for i, tensor in enumerate(tensors):
        if tensor is None:
            edges.append(None)
            continue
        node, number = gradient_edge(tensor)
        edges.append(node)
        if number:
            numbers = numbers or [0] * len(tensors)
            numbers[i] = number
    return tuple(edges), numbers

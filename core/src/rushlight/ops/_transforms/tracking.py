"""Reverse mode inside of `vmap` and forward mode: a level whose wrappers record.

The wrapper of a differentiated input is a leaf, and ops on wrappers make ordinary nodes that hold
wrappers. Running such a graph backward gives tensors of the levels below. (Outside of other
transforms no wrapper is needed: then the ordinary graph is used.)
"""

from __future__ import annotations

from functools import partial
from types import FunctionType

from rushlight.autograd import saving
from rushlight.autograd.engine import grad
from rushlight.autograd.mode import mode
from rushlight.autograd.node import LEAF
from rushlight.dtypes import FLOAT
from rushlight.ops._table.fusion import FusedFormula
from rushlight.ops._table.op import TENSORS
from rushlight.ops._table.recording import fitted, part, record
from rushlight.ops._transforms import wrapped_writes as writes
from rushlight.ops._transforms.wrappers import (
    Level,
    Wrapped,
    call_op,
    in_form,
    replace,
    shed,
    wrap,
)
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import Tensor


class Tracked(Wrapped):
    """A tensor whose operations are recorded at its level."""

    __slots__ = ()

    @staticmethod
    def complete(tensor):
        """Nothing beside the inner tensor."""

    def requires_grad_(self, requires_grad=True):
        """A leaf from now on, where the program itself says what it differentiates by."""
        if not (self._level.of_program and requires_grad):
            return super().requires_grad_(requires_grad)
        if self._node is None:
            check_floating(self)
            self._node = LEAF
            self._level.leaves.append(self)
        return self

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Add gradients into ``.grad`` of the leaves, where the program says what these are."""
        if not self._level.of_program:
            super().backward(gradient, retain_graph, create_graph, inputs)
        leaves = self._level.leaves if inputs is None else inputs
        leaves = (leaves,) if isinstance(leaves, Tensor) else tuple(leaves)
        found = grad(
            self, leaves, gradient, retain_graph, create_graph, allow_unused=inputs is None
        )
        for leaf, part_of_it in zip(leaves, found, strict=True):
            if part_of_it is not None:
                leaf.grad = part_of_it if leaf.grad is None else leaf.grad + part_of_it

    def rebind(self, new):
        """Take the value and history of another tensor."""
        if getattr(new, "_level", None) is self._level:
            self._inner, self._node, self._index = new._inner, new._node, new._index
        else:
            self._inner, self._node, self._index = new, None, 0


class TrackingLevel(Level):
    """A `grad` level inside of other transforms."""

    __slots__ = ("of_program", "stripping")
    wrapper = Tracked

    def __init__(self):
        super().__init__("grad", process)
        self.stripping = False
        self.of_program = False  # whether the program asks for gradients, not a transform

    def strips(self, create):
        """Whether formulas run on the tensors below; a program's own do not where they record."""
        return self.stripping and not (create and self.of_program)


def check_floating(tensor):
    """Refuse tensors that cannot have gradients."""
    if tensor._dtype.category < FLOAT:
        raise RuntimeError(
            "only Tensors of floating point dtype can require gradients; this one is "
            f"{tensor._dtype}"
        )


def as_leaf(tensor, level):
    """Make a tensor of another level one of a recording level, in place: a leaf."""
    check_floating(tensor)
    inner = object.__new__(type(tensor))
    inner._array, inner._dtype = tensor._array, tensor._dtype
    inner._node, inner._storage = tensor._node, tensor._storage
    inner.__dict__.update(tensor.__dict__)
    kept = {k: v for k, v in tensor.__dict__.items() if k == "_device"}
    tensor.__class__ = level.wrapper
    tensor.__dict__.clear()
    tensor.__dict__.update(kept, _inner=inner, _level=level)
    tensor._node = LEAF
    level.leaves.append(tensor)
    return tensor


def lifted(tensor, level):
    """The tensor as a constant of the level, unless it is the level's already."""
    return tensor if getattr(tensor, "_level", None) is level else wrap(Tracked, tensor, level)


def process(level, function, args, kwargs):
    """Run a call at a recording level."""
    return writes.process(level, function, args, kwargs, _call)


def _call(level, op, values):
    result = call_op(op, [replace(v, lambda t: shed(t, level)) for v in values])
    many = isinstance(result, tuple)
    inners = result if many else (result,)
    outs = [
        wrap(Tracked, r, level) if isinstance(r, Tensor) and r._dtype.category >= FLOAT else r
        for r in inners
    ]
    tensors = _tensors(level, op, values)
    tracked = [t for t in outs if isinstance(t, Tracked)]
    if (
        mode.recording
        and tracked
        and op.options.get("differentiable", True)
        and any(t is not None and t._node is not None for t in tensors)
    ):
        _record(level, op, tensors, values, outs)
    if op.kind == "view" and isinstance(values[0], Tracked):
        writes.link_views(op, tracked, values, many)
    return in_form(result, outs) if many else outs[0]


def _tensors(level, op, values):
    found = []
    for position in op.tensor_positions:
        value = values[position]
        for item in value if op.kinds[position] == TENSORS else (value,):
            found.append(lifted(item, level) if isinstance(item, Tensor) else None)
    return found


def _record(level, op, tensors, values, outs):
    if saving.active.count and saving.current() is not None:
        raise RuntimeError(
            "rushlight.func.{grad, vjp, jacrev, hessian} do not support saved tensor hooks: set "
            "them around Tensor.backward() or autograd.grad(), outside of the transform"
        )
    attributes = [None if isinstance(v, Tensor) else v for v in values]
    slots = [lifted(o, level) if isinstance(o, Tensor) else o for o in outs]
    node = record(op, tensors, attributes, slots)
    plan, node.plan = node.plan, None  # an ordinary pass would run it on placeholders
    node.op = _LevelOp(op, level, plan)
    if node.saved:
        inputs = len(plan.inputs)
        for i in range(inputs, len(node.saved)):
            number = node.saved[i][3]
            node.saved[i] = (wrap(Tracked, slots[number]._inner, level), number)
            storage_of(node.saved[i][0])


class _LevelOp:
    """The op of a recorded call of a level, as the engine calls it."""

    __slots__ = ("level", "name", "node_name", "op", "plan")
    pulls = {}

    def __init__(self, op, level, plan):
        self.op, self.level, self.plan = op, level, plan
        self.name, self.node_name = op.name, op.node_name

    def backward(self, node, grads, create, plan=None):
        """Run the formulas: on the tensors below where the level's own transform asks."""
        saved = self._saved(node, create)
        values = node.values or self.op.defaults
        return fitted(node, self._pull(plan or self.plan)(node, grads, saved, values))

    def narrowed(self, node, uses):
        """:meth:`backward` for some of the inputs."""
        return partial(self.backward, plan=part(self.op, self.plan, uses))

    def _saved(self, node, create):
        if node.saved is None:
            raise RuntimeError(
                "Trying to backward through the graph a second time: the saved tensors of "
                f"{self.node_name} have already been freed. Specify retain_graph=True."
            )
        found, strip = [], self.level.strips(create)
        for item in node.saved:
            if type(item) is tuple:
                item, number = item
                if create and not strip:
                    item = item._rewrapped(item._inner)
                    item._node, item._index = node, number
            found.append(item._inner if strip else item)
        return found

    def _pull(self, plan):
        """The plan's formulas as they are written, not compiled for arrays."""
        found = self.pulls.get(plan)
        if found is None:
            pull = plan.pull
            space = {
                k: v.formula if isinstance(v, FusedFormula) else v
                for k, v in pull.__globals__.items()
            }
            found = self.pulls[plan] = FunctionType(pull.__code__, space)
        return found

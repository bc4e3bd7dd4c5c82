"""Graph pass: elementwise steps whose values only each other read become one kernel.

A group ends in one step, its result; every other value of the group has the result's shape and is
read inside of the group alone, so it is never stored. Kernels are those of chains
(:mod:`rushlight.chains.expressions`): every op's own arithmetic, element by element, so that
results have the same bits as step by step.
"""

from __future__ import annotations

import math

from rushlight import devices
from rushlight.chains.expressions import can_join, chain_op
from rushlight.dtypes import float32
from rushlight.fx.node import Node
from rushlight.ops._table.elementwise import Call
from rushlight.ops._table.op import TABLE
from rushlight.tensor.tensor import Tensor

MOST_CALLS = 24  # in one kernel
MOST_INPUTS = 8
_LARGEST = 1 << 24  # integers up to here are float32 numbers
_CONSTANTS = (int, float, bool, str, type(None))


def fuse(graph) -> list:
    """Rewrite a graph without writes; the steps of a :class:`Chain` that were made."""
    order = {node: i for i, node in enumerate(graph.nodes)}
    taken: set = set()
    made = []
    for node in reversed(list(graph.nodes)):
        if node in taken or not fits(node):
            continue
        group = _grown(node, taken)
        if len(group) > 1:
            taken |= group
            made.append(_replaced(graph, node, sorted(group, key=order.__getitem__)))
    return made


def elementwise_op(node):
    """The op of the table that a step calls element by element, or None."""
    op = getattr(node.target, "op", None)
    if node.op != "call_function" or op is None or op.kind != "elementwise":
        return None
    if TABLE.get(op.name) is not op or getattr(node.target, "variant", None) is not None:
        return None
    return op


def fits(node):
    """Whether a step is an elementwise call of float32 tensors and of constants."""
    op = elementwise_op(node)
    if op is None or not can_join(op) or not _is_float32(node):
        return False
    if len(node.args) > op.positional or not set(node.kwargs) <= set(op.names):
        return False
    given = (*node.args, *node.kwargs.values())
    if not all(_is_float32(v) if isinstance(v, Node) else _is_constant(v) for v in given):
        return False
    return op.rule(float32) == (float32, float32)


def _is_float32(node):
    value = node.meta.get("val")
    if not isinstance(value, Tensor) or node.meta.get("device") is not devices.cpu:
        return False
    return value._dtype is float32


def _is_constant(value):
    """Whether a value can be part of a kernel's code as it is."""
    kind = type(value)
    if kind is float:
        return math.isfinite(value)
    return kind in _CONSTANTS and (kind is not int or abs(value) <= _LARGEST)


def shape_of(node):
    """The shape of what a step gives."""
    return tuple(node.meta["val"].shape)


def _grown(root, taken):
    """The steps that can be computed with `root`, itself included."""
    group, inputs = {root}, list(root.all_input_nodes)
    while len(group) < MOST_CALLS:
        found = next((node for node in inputs if _joins(node, root, group, taken)), None)
        joined = found and _joined(inputs, found)
        if not joined or len(joined) > MOST_INPUTS:
            break
        group.add(found)
        inputs = joined
    return group


def _joins(node, root, group, taken):
    """Whether a value that a group reads can be computed inside of it."""
    if node in taken or not fits(node) or not set(node.users) <= group:
        return False
    return shape_of(node) == shape_of(root)


def _joined(inputs, node):
    """What a group reads that computes one of its inputs as well."""
    return list(dict.fromkeys([n for n in inputs if n is not node] + list(node.all_input_nodes)))


def as_chain(graph, node):
    """Make an elementwise step a :class:`Chain` of one call."""
    return _replaced(graph, node, [node])


def _replaced(graph, root, group):
    """Replace a group, in the order of the graph, by one step."""
    numbers, inputs = {node: i for i, node in enumerate(group)}, {}
    calls = []
    for node in group:
        references = tuple(_reference(v, numbers, inputs) for v in _bound(node))
        calls.append((node.target.op, references))
    chain = Chain(chain_op(tuple(calls), len(inputs), False))
    with graph.inserting_before(root):
        made = graph.create_node("call_function", chain, tuple(inputs), {})
    made.meta = dict(root.meta)
    root.replace_all_uses_with(made)
    for node in reversed(group):
        graph.erase_node(node)
    return made


def _bound(node):
    """The value of every argument of a step's op."""
    op = node.target.op
    found = list(op.defaults)
    found[: len(node.args)] = node.args
    for name, value in node.kwargs.items():
        found[op.index[name]] = value
    return found


def _reference(value, numbers, inputs):
    if not isinstance(value, Node):
        return "text", value
    if value in numbers:
        return "call", numbers[value]
    return "input", inputs.setdefault(value, len(inputs))


class Chain:
    """Elementwise calls as one step of a graph.

    Called, it runs one call after the other, and finds out whether one kernel would lay the result
    out like them, which depends on guarded layouts alone; `settled` is then what to call. `over` is
    the number of an operand that the result may be written over.
    """

    def __init__(self, op):
        self.__name__ = "chain"
        self.op, self.over = op, None
        self.settled = self

    def __call__(self, *tensors):
        """The calls one by one, as eager does them."""
        expected, found = self.op.body(*tensors), self.op.function(*tensors)
        strides = expected._array.strides
        if found._array.strides != strides:
            self.settled = self.op.body
        elif self.over is not None and tensors[self.over]._array.strides == strides:
            self.settled = Over(self.op, tensors, self.over)
        else:
            self.settled = self.op.function
        return expected


class Over:
    """A chain that writes its result over one of its operands."""

    def __init__(self, op, tensors, over):
        self.__name__ = op.name
        self.kernel, _ = Call(op, op.bind(tensors, {})).kernel()
        self.over = over

    def __call__(self, *tensors):
        """The operand, with the result in it."""
        arrays = [tensor._array for tensor in tensors]
        self.kernel.into([arrays[self.over]], *arrays)
        return tensors[self.over]

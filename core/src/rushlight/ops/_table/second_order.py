"""The history of gradients that were computed under ``create_graph``.

A gradient formula depends on the tensors that it computes with, and so does the graph of its
result. Where PyTorch's formula is one op, its result has a part in the graph of all arguments of
that op, also of those by which its derivative is zero: the gradient of ``relu`` requires grad.
Declarations name these arguments, in ``second_zero`` where the derivative by them is a tensor of
zeros, in ``second_none`` where there is none, and with ``second_if``, a function of the bound
arguments, which calls it is about. In composites :func:`with_history` does the same.
"""

from __future__ import annotations

from types import SimpleNamespace

from rushlight.autograd.anomaly import anomaly, note_line
from rushlight.autograd.mode import mode
from rushlight.autograd.node import Node, gradient_edge
from rushlight.tensor.dispatch import stack


class _Joined:
    """In the place of an op in nodes that hand a gradient on and know of further edges."""

    names = tensor_positions = defaults = ()

    def __init__(self, name, zeros):
        self.node_name, self.zeros = name, zeros
        self.plan = SimpleNamespace(quick=self.quick, inputs=(), outputs=())

    def join(self, piece, edges, metadata):
        """`piece` with further `edges`, ``(node, output number)`` each; `metadata` is shape, dtype
        and device of their tensors."""
        edge, number = gradient_edge(piece)
        if edge is not None and not self.zeros:
            return piece
        numbers = [number, *(n for _, n in edges)]
        edges = (edge, *(e for e, _ in edges))
        return _behind(piece, self, edges, numbers if any(numbers) else None, metadata)

    def quick(self, node, grad):
        """The gradients of the edges: what comes in, then zeros or nothing."""
        if not self.zeros:
            return (None,) * len(node.edges)
        from rushlight.ops.creation.tensors import zeros

        made = [zeros(shape, dtype=dtype, device=device) for shape, dtype, device in node.values]
        return (grad, *made)

    def backward(self, node, grad, create):
        """:meth:`quick`: recorded or not is the same."""
        return self.quick(node, grad)


class History:
    """Adds edges to the gradients of an op."""

    def __init__(self, op, names, zeros):
        self.positions = tuple(op.tensor_positions.index(op.index[name]) for name in names)
        self.joined = _Joined(op.node_name[:-1] + "Backward0", zeros)
        self.applies, self.defaults = op.options.get("second_if"), op.defaults

    def add(self, node, grad, pieces):
        """The gradients of `node`, each with edges to the named arguments too."""
        positions = [i for i in self.positions if node.edges[i] is not None]
        if not positions or stack.levels:
            return pieces
        if self.applies is not None and not self.applies(*(node.values or self.defaults)):
            return pieces
        shapes, dtypes, numbers = node.shapes, node.dtypes, node.numbers
        metadata = [
            (
                grad.shape if shapes is None else shapes[i],
                grad._dtype if dtypes is None else dtypes[i],
                grad._device,
            )
            for i in positions
        ]
        edges = [(node.edges[i], 0 if numbers is None else numbers[i]) for i in positions]
        return [p if p is None else self.joined.join(p, edges, metadata) for p in pieces]


def history_of(op):
    """What adds the history that an op's options ask for; None where they ask for none."""
    for option, zeros in (("second_zero", True), ("second_none", False)):
        if option in op.options:
            return History(op, op.options[option], zeros)
    return None


class _Itself:
    """In the place of an op in nodes of tensors that :func:`with_history` gave."""

    names = tensor_positions = defaults = ()
    node_name = "AliasBackward0"

    def __init__(self, zeros):
        self.joined = _Joined("AliasBackwardBackward0", zeros)
        self.plan = SimpleNamespace(quick=lambda node, grad: (grad,), inputs=(), outputs=())

    def backward(self, node, grad, create):
        """The gradient as it is, recorded with its edges."""
        return (self.joined.join(grad, *node.values) if create else grad,)


_ITSELF = {zeros: _Itself(zeros) for zeros in (True, False)}


def with_history(tensor, *others):
    """`tensor`, whose gradient under ``create_graph`` has a part in its own graph with a derivative
    of zeros; or, where there are `others`, tensors or None, in theirs without a derivative."""
    if not (mode.recording and tensor.requires_grad) or stack.levels or stack.interpreters:
        return tensor
    joined = [t for t in others or (tensor,) if t is not None and t.requires_grad]
    if not joined:
        return tensor
    metadata = [(t.shape, t._dtype, t._device) for t in joined]
    edge, number = gradient_edge(tensor)
    values = [gradient_edge(t) for t in joined], metadata
    return _behind(tensor, _ITSELF[not others], (edge,), [number] if number else None, values)


def zero_by(result, *tensors):
    """`result` as if it depended on the tensors, by which its derivative is zero."""
    tensors = [t for t in tensors if t.requires_grad]
    if not (mode.recording and tensors) or stack.levels or stack.interpreters:
        return result
    metadata = [(t.shape, t._dtype, t._device) for t in tensors]
    return _ZERO_BY.join(result, [gradient_edge(t) for t in tensors], metadata)


_ZERO_BY = _Joined("ZeroBackward0", True)


def _behind(tensor, op, edges, numbers, values):
    """The data of a tensor with a node of its own."""
    node = Node(op, edges, numbers)
    node.plan, node.saved, node.values = op.plan, (), values
    found = tensor.detach()
    found._node = node
    if anomaly.enabled:
        note_line(node)
    return found

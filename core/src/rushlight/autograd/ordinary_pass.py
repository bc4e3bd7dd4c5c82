"""The backward pass of one root in which nothing is unusual: most passes of most programs.

No mode is active, no hook waits at any node or leaf, the pass is not recorded and it is leaves that
get gradients: all of them, or those that are asked for. What the general pass of
:mod:`rushlight.autograd.engine` keeps in an object, for hooks to look at, are local variables here.
"""

from __future__ import annotations

from operator import attrgetter
from sys import getrefcount

from rushlight.autograd import observer
from rushlight.autograd.accumulation import accumulate, summed, takeable
from rushlight.autograd.anomaly import anomaly
from rushlight.autograd.mode import mode
from rushlight.autograd.node import NODES
from rushlight.tensor import construction as make
from rushlight.tensor.dispatch import stack

by_sequence = attrgetter("sequence")


def deliver(pending, owned, node, number, piece, create=False):
    """Add a gradient to those that wait for a node."""
    if piece is None:
        return
    if node.outputs == 1:
        old = pending.get(node)
        pending[node] = piece if old is None else summed(owned, node, old, piece, create)
        return
    slots = pending.setdefault(node, [None] * node.outputs)
    old = slots[number]
    slots[number] = piece if old is None else summed(owned, (node, number), old, piece, create)


def ordinary_pass(root, retain, taken=None):
    """Run the pass from ``(node, output number, gradient)``; False, and nothing done, where
    something is unusual. `taken`: a dictionary with leaves as keys, which get their gradients as
    values instead of adding them to their own; nothing is computed for others."""
    start, number, gradient = root
    if (
        type(start) not in NODES
        or stack.interpreters
        or observer.around_node is not None
        or anomaly.enabled
    ):
        return False
    found = make.below(start)
    if found is NotImplemented:
        found = _below(start)
    if found is None:
        return False
    nodes, counts = found
    if taken is not None and not taken.keys() <= counts.keys():
        return False
    if len(nodes) > 2:
        nodes.sort(key=by_sequence, reverse=True)
    uses = None if taken is None or len(taken) == len(counts) else _uses(nodes, taken)
    recording, mode.recording = mode.recording, False
    try:
        if start.outputs == 1:
            pending = {start: gradient}
        else:
            deliver(pending := {}, (), start, number, gradient)
        root = gradient = None
        if uses is None:
            _run(nodes, counts, pending, retain, taken)
        else:
            _run_some(nodes, uses, counts, pending, retain, taken)
    finally:
        mode.recording = recording
    return True


def _below(start):
    """The node and those below it, and how many gradients each leaf will get; None where a hook is
    found, or a function of the user."""
    nodes, seen, counts = [start], {start}, {}
    for node in nodes:
        if (
            node.plan is None
            or node.tensor_hooks is not None
            or node.hooks is not None
            or node.pre_hooks is not None
        ):
            return None
        for edge in node.edges:
            if type(edge) in NODES:
                if edge not in seen:
                    seen.add(edge)
                    nodes.append(edge)
            elif edge is not None:
                if edge in counts:
                    counts[edge] += 1
                elif edge._hooks is None and edge._post_hooks is None:
                    counts[edge] = 1
                else:
                    return None
    return nodes, counts


def _uses(nodes, taken):
    """The nodes above some leaves, each with whether its edges lead to them."""
    found: dict = {}
    for node in reversed(nodes):
        uses = [e is not None and (e in found or e in taken) for e in node.edges]
        if True in uses:
            found[node] = tuple(uses)
    return found


def _run_some(nodes, uses, counts, pending, retain, taken):
    """Run those nodes alone that have `uses`, newest first, and their formulas of these."""
    waiting: dict = {}
    owned: set = set()
    for node in nodes:
        grads, used = pending.pop(node, None), uses.get(node)
        if used is None:
            continue
        if grads is None:
            pieces = (None,) * len(node.edges)
        else:
            pieces = formulas(node, used)(node, grads, False)
            if not retain and node.saved != ():  # nodes that saved nothing run again
                node.saved = None
        _hand(node, pieces, 0, pending, counts, waiting, owned, taken)


def formulas(node, used):
    """What gives the gradients of a node's inputs: of those alone that are used."""
    op = node.op
    for edge, use in zip(node.edges, used, strict=True):
        if edge is not None and not use and hasattr(op, "narrowed"):
            return op.narrowed(node, used)
    return op.backward


def _run(nodes, counts, pending, retain, taken):
    """Run the nodes, newest first."""
    waiting: dict = {}  # gradients of leaves that are not complete
    owned: set = set()
    for node in nodes:
        grads = pending.pop(node, None)
        if grads is None:
            pieces = (None,) * len(node.edges)
        else:
            pieces = node.plan.quick(node, grads)  # an op's `backward` begins with it, too
            if pieces is NotImplemented:
                pieces = node.op.backward(node, grads, False)
            elif node.shapes is not node.dtypes:  # one of them is there
                pieces = node.op.fitted(node, pieces)
            if not retain and node.saved != ():  # nodes that saved nothing run again
                node.saved = None
        first = NotImplemented
        if taken is None:
            first = make.handed(node, pieces, pending, counts, waiting)
        if first is not None:
            first = 0 if first is NotImplemented else first
            _hand(node, pieces, first, pending, counts, waiting, owned, taken)


def _hand(node, pieces, first, pending, counts, waiting, owned, taken):
    """Hand the gradients of a node, from that of the `first` edge on, to what is below it."""
    for i in range(first, len(node.edges)):
        edge = node.edges[i]
        if type(edge) in NODES:
            if edge.outputs == 1 and edge not in pending:
                if (piece := pieces[i]) is not None:
                    pending[edge] = piece
            else:
                numbers = node.numbers
                deliver(pending, owned, edge, 0 if numbers is None else numbers[i], pieces[i])
        elif edge is not None:
            piece = pieces[i]
            left = counts[edge] = counts[edge] - 1
            held = 3  # by `pieces`, by `piece` and by the call that counts
            if edge in waiting:
                old, held = waiting.pop(edge), 2
                piece = old if piece is None else summed(owned, edge, old, piece)
                old = None
            if left:
                if piece is not None:
                    waiting[edge] = piece
            elif taken is not None:
                taken[edge] = piece
            elif piece is not None:
                lone = getrefcount(piece) <= held and takeable(piece)
                accumulate(edge, piece, False, lone)

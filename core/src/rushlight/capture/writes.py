"""Graph pass: steps that write to a value which nobody else reads become steps without writes."""

from __future__ import annotations

from rushlight.nn import functional as F
from rushlight.ops.elementwise.arithmetic import add, div, mul, sub

# Steps whose results have memory of their own.
_FRESH = frozenset(
    [F.batch_norm, F.conv1d, F.conv2d, F.conv3d, F.linear, F.layer_norm, F.group_norm]
)
_FRESH_OPS = frozenset([add.op, sub.op, mul.op, div.op])


def without_writes(graph) -> bool:
    """Rewrite a graph; whether no step of it writes to a tensor now."""
    clean = True
    for node in graph.nodes:
        if not is_write(node):
            continue
        op = getattr(node.target, "op", None)
        before = node.args[0]
        if op is not None and op.kind == "elementwise" and _is_fresh(before, node):
            node.target = op.function
        else:
            clean = False
    return clean


def is_write(node) -> bool:
    """Whether a step writes to its first argument."""
    return node.op == "call_function" and writes_to_its_first(node.target)


def writes_to_its_first(function) -> bool:
    """Whether a function writes to its first argument."""
    variant = str(getattr(function, "variant", None))
    name = getattr(function, "__name__", "")
    return variant.startswith("inplace") or name in ("copy_", "__setitem__", "setitem")


def _is_fresh(value, user) -> bool:
    """Whether a step alone reads a value, whose memory is nobody else's."""
    if value.op != "call_function" or list(value.users) != [user]:
        return False
    if value.target in _FRESH:
        return True
    op, variant = getattr(value.target, "op", None), getattr(value.target, "variant", None)
    return op in _FRESH_OPS and variant is None

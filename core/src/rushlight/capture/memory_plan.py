"""Graph pass: elementwise steps write over a value that nobody reads after them.

Values are dropped behind their last use, so that the allocator hands their memory on (warm calls
of four networks at batch 16 had no page fault). An elementwise step needs none of its own where one
of its operands is read by it alone, has the result's shape, and was made by a step whose result is
memory of its own: it writes there, where the values are in the cache. What the graph returns, what
the program brought, and views of either are never written to.
"""

from __future__ import annotations

from rushlight.capture.fusion import Chain, as_chain, fits, shape_of
from rushlight.capture.layers import Convolution, FrozenLinear, Linear
from rushlight.nn import functional as F
from rushlight.ops.linalg.products import bmm, matmul

SMALLEST = 1 << 14  # elements below which the allocator is quicker than the way round it
# Steps whose results have memory of their own: no argument, and no view.
_LAYERS = (Chain, Convolution, FrozenLinear, Linear)
_FUNCTIONS = frozenset(
    [F.conv1d, F.conv2d, F.conv3d, F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d,
     F.linear, F.layer_norm, F.group_norm, F.batch_norm, F.embedding, F.softmax, matmul, bmm]
)  # fmt: skip


def reuse(graph) -> None:
    """Have elementwise steps of a graph without writes write over what they alone read."""
    for node in list(graph.nodes):
        is_chain = type(node.target) is Chain
        if not is_chain and not fits(node):
            continue
        over = next((n for n in node.all_input_nodes if _is_left(n, node)), None)
        if over is not None:
            made = node if is_chain else as_chain(graph, node)
            made.target.over = made.args.index(over)


def _is_left(value, user):
    """Whether a step may write over a value."""
    if value.op != "call_function" or list(value.users) != [user]:
        return False
    if not isinstance(value.target, _LAYERS) and value.target not in _FUNCTIONS:
        return False
    shape = shape_of(user)
    return shape_of(value) == shape and user.meta["val"].numel() >= SMALLEST

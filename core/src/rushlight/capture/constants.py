"""Graph passes: steps whose results nobody reads are left out, and elementwise steps of frozen
weights alone are computed once."""

from __future__ import annotations

import operator

from rushlight.autograd.mode import no_grad
from rushlight.capture.fusion import elementwise_op
from rushlight.capture.recording import is_view
from rushlight.machine import np
from rushlight.ops.creation.tensors import empty, full, ones, zeros
from rushlight.ops.shape.joining import cat, stack
from rushlight.tensor.tensor import Tensor

# Functions that raise no error because of the elements, and do nothing but give their result.
_QUIET = frozenset([operator.getitem, cat, stack, empty, full, ones, zeros])


def without_unread(graph) -> None:
    """Remove the steps of a graph without writes that nobody reads. Those that may raise an error
    because of elements stay."""
    for node in reversed(list(graph.nodes)):
        if node.op == "call_function" and not node.users and _is_quiet(node):
            graph.erase_node(node)


def _is_quiet(node):
    return is_view(node.target) or node.target in _QUIET or elementwise_op(node) is not None


class Folded:
    """The result of an elementwise step of frozen weights, a tensor under `name`."""

    def __init__(self, node, constants):
        self.function, self.kwargs = node.target, dict(node.kwargs)
        self.args = [_value_of(each, constants) for each in node.args]
        self.tensor = self.computed()

    def computed(self):
        """The step, of the weights as they are now."""
        with no_grad():
            return self.function(*self.args, **self.kwargs)

    def sources(self):
        """The tensors that the step reads."""
        return [value for value in self.args if isinstance(value, Tensor)]

    def refresh(self):
        """Take the weights as they are now; steps that hold the tensor find its new elements."""
        np.copyto(self.tensor._array, self.computed()._array)


def fold(graph, constants) -> list:
    """Compute the elementwise steps of a graph whose tensors are all frozen weights; the steps that
    have to be refreshed when weights are written to."""
    found: list = []
    for node in list(graph.nodes):
        if elementwise_op(node) is None or not _is_constant(node):
            continue
        step = Folded(node, constants)
        name = f"folded_{len(found)}"
        constants[name] = step.tensor
        with graph.inserting_before(node):
            made = graph.get_attr(name)
        made.meta = dict(node.meta)
        node.replace_all_uses_with(made)
        graph.erase_node(node)
        found.append(step)
    return found


def _is_constant(node):
    """Whether a step reads weights alone, and keywords hold none."""
    given = node.all_input_nodes
    if not given or any(each.op != "get_attr" for each in given):
        return False
    return all(each in node.args for each in given)


def _value_of(value, constants):
    return constants[value.target] if getattr(value, "op", None) == "get_attr" else value

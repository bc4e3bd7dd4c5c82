"""Ops without a translation of their own, as the ops that they are made of."""

from __future__ import annotations

import rushlight
from rushlight.fx.experimental.core_parts import composed_losses, indexed, recurrent
from rushlight.fx.experimental.recorder import Recorder
from rushlight.fx.node import Node, map_aggregate
from rushlight.onnx._registry import translation


class _Opening(Recorder):
    """Writes down calls that have a translation; opens others that are made of several."""

    def __init__(self, target, custom):
        super().__init__(True, constant=self._constant, stacks=False)
        self.target, self.custom, self.tensors = target, custom, {}

    def step(self, function, args, kwargs):
        """None for a call that is opened."""
        step = super().step(function, args, kwargs)
        op = getattr(function, "op", None)
        if step is None or op is None or op.kind != "composite":
            return step
        known = step.target in self.custom or translation(step.target, _complex(args)) is not None
        return step if known and not _same(step.target, self.target) else None

    def _constant(self, tensor):
        """A tensor that the op makes by itself."""
        for node, known in self.tensors.items():
            if known is tensor:
                return node
        node = self.graph.get_attr(f"constant_{len(self.tensors)}")
        self.entering(node, tensor)
        self.tensors[node] = tensor
        return node


def _complex(args):
    return any(isinstance(v, rushlight.Tensor) and v.is_complex() for v in args)


def _same(target, other):
    """Whether two targets are one op: overloads are made anew when they are asked for."""
    return target is other or (str(target) == str(other) and str(target).startswith("aten."))


def _parts_of(target):
    """What runs the parts of an op: itself, but recurrent layers are one call of a kernel, and of
    losses and of unpooling, which are no ops, the parts are written down."""
    written = recurrent.parts() | composed_losses.parts() | indexed.unpooling()
    apart = {str(each): parts for each, parts in written.items()}
    return apart.get(str(target), target)


def opened(node, custom=()):
    """The graph that a node's op comes to, its inputs (nodes of the outer graph, in order) and its
    constants; None if it is not made of others."""
    recorder = _Opening(node.target, custom)
    inputs: dict[Node, object] = {}

    def given(value):
        if not isinstance(value, Node):
            return value
        if value not in inputs:
            sample = value.meta["val"]
            if isinstance(sample, rushlight.Tensor):
                sample = rushlight.empty(tuple(sample.shape), dtype=sample.dtype)
                _, sample = recorder.placeholder(f"input_{len(inputs)}", sample)
            inputs[value] = sample
        return inputs[value]

    with recorder.level:
        args, kwargs = map_aggregate(node.args, given), map_aggregate(node.kwargs, given)
        result = _parts_of(node.target)(*args, **kwargs)
        if not any(n.op == "call_function" for n in recorder.graph.nodes):
            return None
        recorder.node("output", "output", (result,), {})
    calls = [n for n in recorder.graph.nodes if n.op == "call_function"]
    if any(_same(n.target, node.target) for n in calls):
        return None
    return recorder.graph, list(inputs), recorder.tensors

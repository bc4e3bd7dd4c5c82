"""Reverse mode for function transforms: values, and functions that pull gradients back.

Outside of `vmap` and forward mode the ordinary graph does it: an input becomes a leaf, or another
view of itself where somebody outside differentiates by it too. Inside of them the inputs become
wrappers of a recording level.
"""

from __future__ import annotations

from rushlight.autograd.engine import grad
from rushlight.autograd.mode import mode, recorded
from rushlight.autograd.node import NODES, gradient_edge
from rushlight.dtypes import FLOAT
from rushlight.ops._transforms.tracking import Tracked, TrackingLevel
from rushlight.ops._transforms.wrappers import wrap
from rushlight.ops.creation.tensors import zeros_like
from rushlight.tensor.dispatch import stack


class _OrdinaryLevel:
    """A `grad` outside of wrapping transforms: the ordinary graph."""

    def __init__(self):
        self.outer, self.alive = mode.recording, True

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.alive = False

    def track(self, tensor):
        """The tensor as something to differentiate by."""
        if tensor.requires_grad and self.outer:
            return tensor.view_as(tensor)
        leaf = tensor.clone() if tensor.is_inference() and not mode.inference else tensor.detach()
        leaf.requires_grad_()
        leaf._transform = self
        return leaf

    def release(self, tensor):
        """A result as the caller may see it."""
        return tensor if self.outer and self.foreign([tensor]) else tensor.detach()

    def foreign(self, tensors):
        """Whether something outside has a part in the graph of these tensors."""
        seen, waiting = set(), [gradient_edge(t)[0] for t in tensors]
        while waiting:
            edge = waiting.pop()
            if edge is None or edge in seen:
                continue
            seen.add(edge)
            if type(edge) in NODES:
                waiting += edge.edges
            else:
                owner = getattr(edge, "_transform", None)
                if owner is None or owner is not self and owner.alive:
                    return True
        return False

    def gradients(self, outputs, inputs, cotangents, create=None, retain=True):
        """Gradients of the outputs that depend on something; None where there is none."""
        pairs = [
            (o, v) for o, v in zip(outputs, cotangents, strict=True) if gradient_edge(o)[0]
            is not None
        ]  # fmt: skip
        if not pairs:
            return [None] * len(inputs)
        if create is None:
            create = mode.recording and (
                self.outer
                and self.foreign([o for o, _ in pairs])
                or any(v is not None and v.requires_grad for _, v in pairs)
            )
        return grad(
            [o for o, _ in pairs],
            inputs,
            [v for _, v in pairs],
            retain_graph=retain,
            create_graph=create,
            allow_unused=True,
        )


class _WrappingLevel(TrackingLevel):
    """A `grad` inside of `vmap` or forward mode."""

    __slots__ = ()

    def track(self, tensor):
        """A wrapper that is a leaf of this level."""
        from rushlight.autograd.node import LEAF

        leaf = wrap(Tracked, tensor, self)
        leaf._node = LEAF
        return leaf

    def release(self, tensor):
        """The tensor below."""
        return tensor._inner if getattr(tensor, "_level", None) is self else tensor

    def gradients(self, outputs, inputs, cotangents, create=None, retain=True):
        """Gradients as tensors of the levels below."""
        pairs = [
            (o, v)
            for o, v in zip(outputs, cotangents, strict=True)
            if getattr(o, "_level", None) is self and o._node is not None
        ]
        if not pairs:
            return [None] * len(inputs)
        previous, self.stripping = self.stripping, True
        try:
            return grad(
                [o for o, _ in pairs],
                inputs,
                [v for _, v in pairs],
                retain_graph=retain,
                create_graph=mode.recording and create is not False,
                allow_unused=True,
            )
        finally:
            self.stripping = previous


def grad_level():
    """The level for a reverse-mode transform that starts here."""
    return _WrappingLevel() if stack.levels else _OrdinaryLevel()


def zero_like(tensor):
    """Zeros that keep the wrappers of lower levels."""
    return zeros_like(tensor.detach())


def pullback(function, inputs):
    """``function(*inputs)``, a tuple of tensors, and the function from cotangents to gradients."""
    level = grad_level()
    with level, recorded():
        tracked = [level.track(x) if x._dtype.category >= FLOAT else x for x in inputs]
        outputs = function(*tracked)

    def pull(cotangents):
        wanted = [t for t in tracked if t._dtype.category >= FLOAT]
        found = iter(level.gradients(outputs, wanted, cotangents))
        pieces = [next(found) if t._dtype.category >= FLOAT else None for t in tracked]
        return [
            zero_like(x) if piece is None else piece
            for x, piece in zip(inputs, pieces, strict=True)
        ]

    return [level.release(o) for o in outputs], pull

"""Gradients that a program asks for itself, by `autograd.grad`, while its calls are recorded."""

from __future__ import annotations

from rushlight.fx.node import map_aggregate
from rushlight.ops._transforms.differentiation import grad_level
from rushlight.ops._transforms.tracking import as_leaf
from rushlight.ops._transforms.wrappers import shed
from rushlight.tensor.dispatch import stack
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree


class Gradients:
    """The level that records them. It begins with the first tensor that asks for gradients: an
    input that does, or one that the program calls ``requires_grad_()`` of."""

    def __init__(self):
        self.level = None

    def _enter(self):
        if self.level is None:
            if stack.levels[-1].kind != "capture":
                raise NotImplementedError(
                    "requires_grad_() inside of a function transform while a program is captured: "
                    "use rushlight.func.grad there"
                )
            self.level = grad_level()
            # gradients are tensors of the program, not of the level that records
            self.level.stripping = self.level.of_program = True
            self.level.__enter__()
        return self.level

    def begin(self, tensor):
        """Record what is done to a tensor of the program, from now on."""
        as_leaf(tensor, self._enter())

    def run(self, function, args):
        """The result of a function, as tensors of the program."""
        try:
            result = function(*pytree.tree_map_only(Tensor, self._tracked, args))
            if self.level is None:
                return result
            return map_aggregate(result, self._shed)
        finally:
            if self.level is not None:
                self.level.__exit__(None, None, None)

    def _shed(self, value):
        return shed(value, self.level) if isinstance(value, Tensor) else value

    def _tracked(self, tensor):
        if not tensor.requires_grad:
            return tensor
        leaf = self._enter().track(tensor)
        self.level.leaves.append(leaf)
        return leaf

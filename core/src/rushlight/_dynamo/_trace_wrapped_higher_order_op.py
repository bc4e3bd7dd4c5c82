"""PyTorch's path to the mode in which elements are taken by tensors as indices."""

from __future__ import annotations

from rushlight.overrides import TorchFunctionMode


class TransformGetItemToIndex(TorchFunctionMode):
    """Inside, ``x[i]`` with a tensor `i` without dimensions works in function transforms: here it
    always does, so nothing is changed."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


__all__ = ["TransformGetItemToIndex"]

"""Shapes and dtypes of a graph's values, found by running it."""

from __future__ import annotations

from typing import Any, NamedTuple

import rushlight
from rushlight.fx.interpreter import Interpreter
from rushlight.fx.node import map_aggregate


class TensorMetadata(NamedTuple):
    """What is kept of a tensor."""

    shape: rushlight.Size
    dtype: rushlight.dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict


def _extract_tensor_metadata(result: rushlight.Tensor, include_contiguity=True) -> TensorMetadata:
    """The metadata of a tensor; with its memory format unless it is not asked for."""
    formats = (
        rushlight.contiguous_format, rushlight.channels_last, rushlight.channels_last_3d,
    )  # fmt: skip
    dims = {rushlight.channels_last: 4, rushlight.channels_last_3d: 5}
    layout = None
    if include_contiguity:
        for each in formats:
            if dims.get(each, result.dim()) == result.dim() and result.is_contiguous(
                memory_format=each
            ):
                layout = each
                break
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, result.stride(), layout, False, {}
    )


class ShapeProp(Interpreter):
    """Runs a module and writes shape, dtype and strides of every node's value to
    ``node.meta["tensor_meta"]``, and its type to ``node.meta["type"]``.

    >>> import rushlight
    >>> from rushlight.fx.passes.shape_prop import ShapeProp
    >>> module = rushlight.fx.symbolic_trace(lambda x: x @ x)
    >>> _ = ShapeProp(module).propagate(rushlight.ones(2, 2))
    >>> module.graph.output_node().args[0].meta["tensor_meta"].shape
    rushlight.Size([2, 2])
    """

    def __init__(self, gm, fake_mode=None):
        if fake_mode is not None:
            raise NotImplementedError(
                "ShapeProp(): fake_mode is not available; propagate tensors of device 'meta'"
            )
        super().__init__(gm)

    def run_node(self, n):
        """The value of a node, whose metadata it keeps."""
        result = super().run_node(n)
        found = []

        def look(value):
            if not isinstance(value, rushlight.Tensor):
                return value
            found.append(value)
            return _extract_tensor_metadata(value)

        meta = map_aggregate(result, look)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """Run the module with these arguments, and return its result."""
        return super().run(*args)

"""Layers whose weights were packed before: what frozen graphs call, on float32 tensors of the CPU.

Functions here give None where nothing is to be gained, or where kernels would be watched or
recorded.
"""

from __future__ import annotations

import math

from rushlight.dtypes import float32
from rushlight.kernels.convolution import packed as convolutions
from rushlight.machine.processors import fuses_vectors
from rushlight.ops._calls.direct import lies_plainly, tensor_of, unrecorded
from rushlight.ops.neural.convolution import settings_in_order
from rushlight.settings import kernels_mode

__all__ = ["packed_convolution", "packed_linear"]


def _is_compiled(input, weight, bias):
    """Whether there are kernels for these tensors, and nothing is recorded."""
    if kernels_mode() == "reference" or not fuses_vectors():
        return False
    given = [tensor for tensor in (input, weight, bias) if tensor is not None]
    return all(t._dtype is float32 and lies_plainly(t) for t in given) and unrecorded(*given)


def packed_convolution(input, weight, bias, settings):
    """``f(input, epilogue)``: the convolution over two dims of an input of this shape by a weight
    as it is now; `settings` are stride, padding, dilation and groups."""
    if not _is_compiled(input, weight, bias) or input.dim() != 4:
        return None
    known = settings_in_order(2, input, weight, bias, *settings)
    if known is None:
        return None
    found = convolutions.packed_convolution(input._array.shape, weight._array, *known)
    return None if found is None else _Packed(found, bias, input._array.shape, None)


def packed_linear(input, weight, bias):
    """``f(input, epilogue)``: the linear layer of an input of this shape with a weight as it is
    now."""
    if not _is_compiled(input, weight, bias) or weight.dim() != 2:
        return None
    shape, outputs = input._array.shape, weight._array.shape[0]
    from rushlight.kernels.gemm import packed

    rows = math.prod(shape[:-1])
    if not packed.fits(rows, outputs, shape[-1]):
        return None
    return _Packed(packed.PackedWeight(weight._array, rows), bias, shape, outputs)


class _Packed:
    """A layer with a packed weight, for inputs of one shape."""

    def __init__(self, layer, bias, shape, outputs):
        self.layer, self.bias, self.shape = layer, bias, shape
        self.flat = self.out = None
        if outputs is not None and len(shape) != 2:  # rows of a linear layer
            self.flat, self.out = (-1, shape[-1]), (*shape[:-1], outputs)

    def __call__(self, input, epilogue):
        """The layer, then an epilogue (or None); None for an input of another kind."""
        array = input._array
        if array.shape != self.shape or not lies_plainly(input):
            return None
        row = None if self.bias is None else self.bias._array
        if self.flat is None:
            return tensor_of(self.layer.run(array, row, epilogue))
        return tensor_of(self.layer.run(array.reshape(self.flat), row, epilogue).reshape(self.out))

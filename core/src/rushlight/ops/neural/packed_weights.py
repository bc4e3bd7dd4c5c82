"""Layers whose weights were packed before: what frozen graphs call, on float32 tensors of the CPU.

Functions here give None where nothing is to be gained, or where kernels would be watched or
recorded.
"""

from __future__ import annotations

import math

from rushlight.dtypes import float32
from rushlight.kernels.convolution import packed as convolutions
from rushlight.kernels.copying.assignment import by_rows
from rushlight.machine.processors import fuses_vectors
from rushlight.ops._calls.direct import lies_plainly, tensor_of, unrecorded
from rushlight.ops.neural.convolution import settings_in_order
from rushlight.settings import kernels_mode
from rushlight.tensor.dispatch import STATE

__all__ = ["packed_convolution", "packed_linear", "packed_recurrence"]


def _is_compiled(input, weight, bias):
    """Whether there are kernels for these tensors, and nothing is recorded."""
    if kernels_mode() == "reference" or not fuses_vectors():
        return False
    held = [tensor for tensor in (weight, bias) if tensor is not None]
    if not all(t._dtype is float32 and lies_plainly(t) for t in held):
        return False
    return input._dtype is float32 and input._array.size > 0 and unrecorded(input, *held)


def packed_convolution(input, weight, bias, settings):
    """``f(input, epilogue)``: the convolution over two dims of an input of this shape by a weight
    as it is now; `settings` are stride, padding, dilation and groups."""
    if input.dim() != 4 or not lies_plainly(input) or not _is_compiled(input, weight, bias):
        return None
    known = settings_in_order(2, input, weight, bias, *settings)
    if known is None:
        return None
    found = convolutions.packed_convolution(input._array.shape, weight._array, *known)
    return None if found is None else _Convolution(found, bias, input._array.shape)


def packed_linear(input, weight, bias):
    """``f(input, epilogue)``: the linear layer of an input of this shape with a weight as it is
    now."""
    if not _is_compiled(input, weight, bias) or weight.dim() != 2:
        return None
    from rushlight.kernels.gemm import packed

    shape = input._array.shape
    made = packed.packed_weight(weight._array, math.prod(shape[:-1]))
    return None if made is None else _Linear(made, bias, shape)


def packed_recurrence(gates, hidden, cell, weight, bias, settings):
    """``f(gates, hidden, cell)``: states of all steps and the last cell (empty where a kind has
    none) of a recurrent layer with a weight as it is now; `settings` are kind and direction."""
    if not _is_compiled(gates, weight, bias) or not _is_compiled(gates, hidden, cell):
        return None
    from rushlight.kernels.recurrent.packed import PackedRecurrence

    row = None if bias is None else bias._array
    return _Recurrence(PackedRecurrence(weight._array, row, *settings))


class _Recurrence:
    """A recurrent layer with a packed weight."""

    def __init__(self, layer):
        self.layer = layer

    def __call__(self, gates, hidden, cell):
        """States and the last cell; None where function transforms are around."""
        if STATE.levels:
            return None
        arrays = [None if t is None else t._array for t in (gates, hidden, cell)]
        return tuple(map(tensor_of, self.layer.run(*arrays)))


class _Convolution:
    """A convolution with a packed weight, for dense inputs of one shape."""

    def __init__(self, layer, bias, shape):
        self.layer, self.bias, self.shape = layer, bias, shape

    def __call__(self, input, epilogue):
        """The layer, then an epilogue (or None); None for an input of another kind."""
        array = input._array
        if array.shape != self.shape or not lies_plainly(input):
            return None
        row = None if self.bias is None else self.bias._array
        return tensor_of(self.layer.run(array, row, epilogue))


class _Linear:
    """A linear layer with a packed weight, for inputs of one shape and any strides."""

    def __init__(self, layer, bias, shape):
        self.layer, self.bias, self.shape = layer, bias, shape
        self.flat = None if len(shape) == 2 else (-1, shape[-1])
        self.out = (*shape[:-1], layer.outputs)

    def __call__(self, input, epilogue):
        """The layer, then an epilogue (or None); None for an input of another kind."""
        array = input._array
        if array.shape != self.shape or STATE.levels:
            return None
        row = None if self.bias is None else self.bias._array
        if self.flat is not None:
            array = array.reshape(self.flat)
        if not array.flags.c_contiguous:
            array = by_rows(array)
        out = self.layer.run(array, row, epilogue)
        return tensor_of(out if self.flat is None else out.reshape(self.out))

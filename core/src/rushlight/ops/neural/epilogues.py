"""Products and convolutions with an elementwise op behind them, in one step if nothing is recorded.

The op runs on a part of the result by the thread that has just computed it, before that part leaves
the registers or the cache. It is the op's own kernel: results have the same bits as in two steps.
Functions here give None where two steps have to be taken.
"""

from __future__ import annotations

import functools

from rushlight.dtypes import float32
from rushlight.kernels.convolution import choice as convolutions
from rushlight.kernels.gemm import products as matrix
from rushlight.kernels.gemm.epilogues import Epilogue
from rushlight.machine.processors import fuses_vectors
from rushlight.ops._calls.direct import lies_plainly, tensor_of, unrecorded
from rushlight.ops._table.elementwise import Call
from rushlight.ops.creation.tensors import empty
from rushlight.ops.neural.convolution import settings_in_order
from rushlight.settings import kernels_mode

__all__ = ["MOST_NUMBERS", "convolution_then", "epilogue_of", "joins_linear", "linear_then"]

MOST_NUMBERS = 2  # that an epilogue is called with


@functools.lru_cache(maxsize=256)
def epilogue_of(function, *attributes, **keywords):
    """The epilogue that an elementwise op of one tensor is in float32, with further arguments;
    None where elementwise kernels are not compiled, or an argument is no number or text."""
    given = (*attributes, *keywords.values())
    if kernels_mode() == "reference" or not fuses_vectors():
        return None
    if any(type(a) not in (int, float, str) for a in given):
        return None
    op = function.op
    call = Call(op, op.bind((empty(1, dtype=float32, device="cpu"), *attributes), keywords))
    return Epilogue(*call.kernel())


def joins_linear(elements, outputs):
    """Whether a linear layer with so many outputs, of an input of so many elements, can have an
    epilogue: NumPy does the smallest."""
    return elements * outputs > matrix.TINY


def linear_then(input, weight, bias, epilogue):
    """:func:`rushlight.nn.functional.linear` of float32 matrices, then an epilogue; None where
    something is recorded or watched, and for layouts that linear has not planned yet."""
    if epilogue is None or input._dtype is not float32 or not unrecorded(input, weight, bias):
        return None
    array, row = input._array, None if bias is None else bias._array
    flat = array if array.ndim == 2 else array.reshape(-1, array.shape[-1])
    found = matrix.planned_linear(flat, weight._array, row, epilogue)
    if found is None:
        return None
    return tensor_of(found if flat is array else found.reshape(*array.shape[:-1], found.shape[1]))


def convolution_then(count, input, weight, bias, settings, epilogue):
    """The convolution over `count` dims of float32, by its stride, padding, dilation and groups,
    then an epilogue; None where something is recorded or watched, and for shapes and settings that
    were not seen before."""
    if epilogue is None or input._dtype is not float32 or not unrecorded(input, weight, bias):
        return None
    if not (lies_plainly(input) and weight._array.flags.c_contiguous):
        return None  # results may have to be channels last in memory
    known = settings_in_order(count, input, weight, bias, *settings)
    if known is None:
        return None
    arrays = input._array, weight._array, None if bias is None else bias._array
    return tensor_of(convolutions.convolution_then(*arrays, *known, epilogue))

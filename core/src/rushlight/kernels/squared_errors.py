"""The mean and the sum of squared differences of two dense arrays, without an array of them."""

from __future__ import annotations

from rushlight.backends import np
from rushlight.kernels.execution import COMPILED_DTYPES, REFERENCE, chunk, language_type
from rushlight.kernels.prepared import prepared, word_of

__all__ = ["total"]

_FLOAT64 = np.dtype(np.float64)


def total(input, target, mean):
    """``f(input, target)``: the sum of ``(input - target) ** 2``, or their mean; None where that is
    left to others: strided arrays, two shapes or dtypes, no elements, the reference mode."""
    dtype, size = input.dtype, input.size
    if REFERENCE or dtype not in COMPILED_DTYPES or target.dtype is not dtype or not size:
        return None
    if input.shape != target.shape:
        return None
    if not input.flags.c_contiguous or not target.flags.c_contiguous:
        return None
    from rushlight.kernels import squared_error_kernels as native

    real, divisor = language_type(dtype), word_of(float(size) if mean else 1.0)
    blocks = -(-size // native.BLOCK)
    code = native.squares.address(real=real, single=int(blocks == 1))
    if blocks == 1:
        return prepared(code, 1, 1, [input, target], [((), dtype)], [size, divisor])
    grain, parts = chunk(blocks, 2 * native.BLOCK), np.empty(blocks)
    first = prepared(code, blocks, grain, [input, target], [((blocks,), _FLOAT64)], [size, 0])
    code = native.added.address(real=real)
    second = prepared(code, 1, 1, [parts], [((), dtype)], [blocks, divisor])

    def call(input, target):
        found = first(input, target)
        return found if found is NotImplemented else second(found)

    return call

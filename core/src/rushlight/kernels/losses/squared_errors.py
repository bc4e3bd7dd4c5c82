"""The mean and the sum of squared differences of two arrays, without an array of them."""

from __future__ import annotations

from rushlight.compiler.layout import collapse
from rushlight.kernels.launch.execution import COMPILED_DTYPES, REFERENCE, chunk, language_type
from rushlight.kernels.launch.prepared import prepared, word_of
from rushlight.machine import np

__all__ = ["total"]

SHORT = 16  # elements of rows that copies are made of
_FLOAT64 = np.dtype(np.float64)


def _places(input, target):
    """Rows evenly spaced in both arrays, their elements next to each other: (how many, elements
    of one, steps from row to row in both, in bytes); None where they are laid out otherwise."""
    extents, steps = collapse(input.shape, (input.strides, target.strides))
    if len(extents) > 2 or any(s and s[-1] != input.itemsize for s in steps):
        return None
    rows, width = (1, 1, *extents)[-2:]
    return rows, width, *[s[0] if len(s) == 2 else 0 for s in steps]


def total(input, target, mean):
    """``f(input, target)``: the sum of ``(input - target) ** 2``, or their mean; None where that is
    left to others: elements with gaps between them, short rows or few long ones, two shapes or
    dtypes, no elements, the reference mode."""
    dtype, size = input.dtype, input.size
    if REFERENCE or dtype not in COMPILED_DTYPES or target.dtype is not dtype or not size:
        return None
    places = _places(input, target) if input.shape == target.shape else None
    if places is None:
        return None
    from rushlight.kernels.losses import squared_error_kernels as native

    rows, width, *steps = places
    if rows > 1 and not SHORT <= width <= native.BLOCK:
        return None
    real, divisor = language_type(dtype), word_of(float(size) if mean else 1.0)
    if rows == 1:
        kernel, blocks, words = native.squares, -(-size // native.BLOCK), []
    else:
        count = native.BLOCK // width
        kernel, blocks, words = native.squares_of_rows, -(-rows // count), [rows, count, *steps]
    code, arrays = kernel.address(real=real, single=int(blocks == 1)), [input, target]
    if blocks == 1:
        return prepared(code, 1, 1, arrays, [((), dtype)], [width, divisor, *words])
    grain, parts = chunk(blocks, 2 * native.BLOCK), np.empty(blocks)
    first = prepared(code, blocks, grain, arrays, [((blocks,), _FLOAT64)], [width, 0, *words])
    code = native.added.address(real=real)
    second = prepared(code, 1, 1, [parts], [((), dtype)], [blocks, divisor])

    def call(input, target):
        found = first(input, target)
        return found if found is NotImplemented else second(found)

    return call

"""Euclidean distances between all pairs of rows, from their differences: more exact than by a
product of matrices, and quicker where rows are short."""

from __future__ import annotations

from rushlight.backends import np
from rushlight.backends.kernel_language import (
    array,
    f32,
    function,
    i64,
    independent,
    range_kernel,
    real,
    square_root,
    stack,
)
from rushlight.kernels.execution import COMPILED_DTYPES, REFERENCE, chunk, language_type
from rushlight.kernels.prepared import Remembered, called, prepared

__all__ = ["euclidean"]

# Argument words as in `prepared`: the distances (P, R), rows (P, M), the others turned (M, R).
OUT, ROWS, TURNED, COUNT, LENGTH = range(1, 6)
SEGMENT = 512  # distances from one row that are formed together

_known = Remembered()


@function
def add_squares(total, own, others, step, count):
    """Squared differences in four elements of a row and of `count` others."""
    a, b, c, d = own[0], own[1], own[2], own[3]
    for j in independent(count):
        first, second = a - others[j], b - others[step + j]
        third, fourth = c - others[2 * step + j], d - others[3 * step + j]
        some = first * first + second * second
        total[j] += some + third * third + fourth * fourth


@range_kernel
def distances(args, lo, hi, tid):
    """Items are rows."""
    g = array(i64, args)
    count, length, size = g[COUNT], g[LENGTH], 4 if real is f32 else 8
    total = array(real, stack(SEGMENT))
    for row in range(lo, hi):
        own = g[ROWS] + size * row * length
        for start in range(0, count, SEGMENT):
            width, turned = min(SEGMENT, count - start), g[TURNED] + size * start
            for j in independent(width):
                total[j] = 0
            whole = length - length % 4
            for i in range(0, whole, 4):
                others = array(real, turned + size * i * count)
                add_squares(total, array(real, own + size * i), others, count, width)
            for i in range(whole, length):
                one, others = array(real, own)[i], array(real, turned + size * i * count)
                for j in independent(width):
                    apart = one - others[j]
                    total[j] += apart * apart
            out = array(real, g[OUT] + size * (row * count + start))
            for j in independent(width):
                out[j] = square_root(total[j])


def euclidean(x1, x2):
    """Distances between the rows of (P, M) and (R, M); None where that is left to NumPy: other
    dtypes, batches, the reference mode."""
    if REFERENCE or x1.ndim != 2 or x2.ndim != 2 or x1.dtype not in COMPILED_DTYPES:
        return None
    turned, x1 = np.ascontiguousarray(x2.T), np.ascontiguousarray(x1)
    key = x1.shape, turned.shape, x1.dtype
    call = _known.get(key)
    if call is None:
        (rows, length), count = x1.shape, len(x2)
        code = distances.address(real=language_type(x1.dtype))
        outputs = [((rows, count), x1.dtype)]
        grain = chunk(rows, length * count // 2)
        arrays = [x1, turned]
        call = _known.keep(key, prepared(code, rows, grain, arrays, outputs, [count, length]))
    return called(call, (x1, turned))

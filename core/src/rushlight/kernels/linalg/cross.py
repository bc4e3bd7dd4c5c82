"""Cross products of vectors of three elements, each by one call (see
:mod:`rushlight.kernels.launch.prepared`)."""

from __future__ import annotations

import math

from rushlight.kernels.launch.execution import COMPILED_DTYPES, REFERENCE, chunk, language_type
from rushlight.kernels.launch.prepared import prepared
from rushlight.kernels.linalg import cross_kernels as native

__all__ = ["cross"]


def cross(a, b, dim):
    """``f(a, b)``: cross products along `dim`, which has three elements; None for shapes that
    broadcast, arrays with gaps, other dtypes than float32 and float64."""
    if REFERENCE or a.dtype not in COMPILED_DTYPES or b.dtype is not a.dtype or not a.size:
        return None
    if a.shape != b.shape or not (a.flags.c_contiguous and b.flags.c_contiguous):
        return None
    inner = math.prod(a.shape[dim + 1 :])
    items = a.size // (3 * inner)
    code, outputs = native.cross_rows.address(real=language_type(a.dtype)), [(a.shape, a.dtype)]
    return prepared(code, items, chunk(items, 4 * inner), [a, b], outputs, [inner])

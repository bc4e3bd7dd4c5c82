"""Sums, sums of squares and products over a run of dimensions, float32 and float64.

An array is seen as (outer, n, inner), n being reduced. Runs of 4096 elements are summed in vectors
and added up in float64, so that long float32 sums are more exact than one long chain; the blocks
that threads share depend on the shape only, and so do the bits of the result.
"""

from __future__ import annotations

import functools
import math

from rushlight.kernels.launch.execution import COMPILED_DTYPES, REFERENCE, chunk, language_type
from rushlight.machine import np, threads

__all__ = ["reduced"]

KINDS = {"sum": 0, "squares": 1, "product": 2}
SMALL = 4096  # elements below which NumPy is as fast
BLOCK = 65_536  # elements of a block of one long row
ROWS = 512  # rows of a block whose columns are reduced
SEGMENT = 512  # columns of a block


def layout(shape, axes):
    """(outer, n, inner) of neighbouring axes; None where they are not neighbours."""
    first, last = axes[0], axes[-1]
    if last - first + 1 != len(axes):
        return None
    return (
        math.prod(shape[:first]),
        math.prod(shape[first : last + 1]),
        math.prod(shape[last + 1 :]),
    )


@functools.lru_cache(maxsize=1024)
def _plan(kind, dtype, outer, n, inner):
    from rushlight.kernels.reduction import compiled as native

    size = n * inner * outer
    if inner == 1:
        blocks = 1 if outer >= 16 else max(1, -(-n // BLOCK))
        items, work, kernel = outer * blocks, n // blocks, native.reduce_rows
        shape = (outer, blocks)
    else:
        segments = -(-inner // SEGMENT)
        blocks = -(-n // ROWS)
        items, work, kernel = (
            outer * blocks * segments,
            size // (outer * blocks * segments),
            (native.reduce_columns),
        )
        shape = (outer, blocks, inner)
    words = [0, 0, outer, n, inner, blocks]
    code = kernel.address(real=language_type(dtype), kind=KINDS[kind])
    return threads.plan(code, items, chunk(items, work), words), shape


def reduced(array, axes, keepdims, kind):
    """The reduction of ``array`` over sorted ``axes``; None where it is left to NumPy.

    That is: arrays that are small, strided or of other dtypes, axes that are not neighbours, and
    the reference mode.
    """
    dtype = array.dtype
    if array.size < SMALL or dtype not in COMPILED_DTYPES or REFERENCE or not axes:
        return None
    if not array.flags.c_contiguous:
        return None
    found = layout(array.shape, axes)
    if found is None or found[1] < 8:
        return None
    plan, shape = _plan(kind, dtype, *found)
    wide = found[2] == 1 or kind == "product"
    partial = np.empty(shape, np.float64 if wide else dtype)
    threads.run(plan, array, partial)
    combine = np.multiply if kind == "product" else np.add
    kept = [1 if i in axes else n for i, n in enumerate(array.shape) if keepdims or i not in axes]
    with np.errstate(all="ignore"):  # as of products beyond the dtype
        out = partial[:, 0] if shape[1] == 1 else combine.reduce(partial, 1, dtype=np.float64)
        return out.astype(dtype, copy=False).reshape(kept)

"""Reductions of device arrays over any axes: one launch, two where rows are few and long.

Sums accumulate in float32 (float64 for float64, int64 for integers) as trees whose form depends
on the shape alone.
"""

from __future__ import annotations

import math

from rushlight.kernels.launch.cuda import address, empty, launch, row_shape
from rushlight.machine import np
from rushlight.machine.cuda import sources

__all__ = ["argreduced", "reduced", "variance"]

KINDS = {
    "sum": 0,
    "product": 1,
    "max": 2,
    "min": 3,
    "any": 4,
    "all": 5,
    "count_nonzero": 6,
    "norm1": 7,
    "norm2": 8,
    "norm_inf": 9,
    "mean": 10,
    "squares": 14,
}
LARGEST_PLACE, SMALLEST_PLACE, VARIANCE = 11, 12, 13
PART = 1 << 14  # elements of a row that are worth a block of their own
MOST_PARTS = 1024
_INT64, _BOOL = np.dtype(np.int64), np.dtype(np.bool_)


def _default_dtype(dtype, kind):
    if kind in ("any", "all"):
        return _BOOL
    if kind == "count_nonzero" or (kind in ("sum", "product") and dtype.kind in "iub"):
        return _INT64
    return dtype


def _memory_order(array):
    """Dims by falling stride, and the array in that order: contiguous where it is dense."""
    order = sorted(range(array.ndim), key=lambda d: -abs(array.strides[d]))
    moved = array.transpose(order) if array.ndim else array
    if moved.flags.c_contiguous:
        return order, moved
    return list(range(array.ndim)), array.contiguous()


def _arranged(array, axes):
    """(dense array, outer, n, inner, dims kept in memory order); copies where axes are apart."""
    order, dense = _memory_order(array)
    places = sorted(order.index(a) for a in axes)
    if places and places[-1] - places[0] + 1 != len(places):
        order = [d for d in range(array.ndim) if d not in axes] + list(axes)
        dense = array.transpose(order).contiguous()
        places = list(range(array.ndim - len(axes), array.ndim))
    first = places[0] if places else len(order)
    last = places[-1] + 1 if places else len(order)
    outer, inner = math.prod(dense.shape[:first]), math.prod(dense.shape[last:])
    return dense, outer, math.prod(dense.shape[first:last]), inner, order[:first] + order[last:]


def _parts(lines, n):
    """How many parts a row of n elements has, and their length."""
    wanted = 1 if lines >= 1024 else min(MOST_PARTS, -(-n // PART), -(-2048 // max(1, lines)))
    of_part = -(-n // max(1, wanted))
    of_part = max(8, -(-of_part // 8) * 8)  # parts keep the alignment of packs
    return max(1, -(-n // of_part)), of_part


def _state_bytes(dtype, kind):
    size = sources.compute_dtype(dtype).itemsize
    return 3 * size if kind == VARIANCE else 16 if kind in (11, 12) else size


def _run(array, axes, kind, dtype, correction=0.0, with_first=True):
    """(first result, second result) in the shape of the kept dims, in the array's order."""
    dense, outer, n, inner, kept = _arranged(array, axes)
    device, lines = array.device, outer * inner
    shape = tuple(array.shape[d] for d in kept)
    first = empty(shape, dtype, device) if with_first else None
    second = None
    if 10 < kind < 14:
        second = empty(shape, dtype if kind == VARIANCE else _INT64, device)
    types = {"T": array.dtype, "D": dtype, "KIND": kind}
    if lines:
        extra = np.array([n, correction], np.float64)
        rows = inner == 1
        parts, of_part = _parts(lines if rows else -(-lines // 32), n)
        partial = None
        if parts > 1:
            partial = empty((lines * parts * _state_bytes(array.dtype, kind),), np.uint8, device)
        outs = (address(first), address(second))
        places = (dense.address, *outs, address(partial))
        if rows:
            grid, block = row_shape(outer, of_part, array.itemsize)
            kernel = sources.kernel("reduction", "reduce_rows", **types)
            launch(kernel, (grid[0], parts, 1), block, (*places, outer, n, of_part, extra), device)
        else:
            kernel = sources.kernel("reduction", "reduce_columns", **types)
            grid = (outer * -(-inner // 32), parts, 1)
            launch(kernel, grid, (32, 8, 1), (*places, n, inner, of_part, extra), device)
        if parts > 1:
            kernel = sources.kernel("reduction", "reduce_parts", **types)
            arguments = (partial.address, *outs, lines, parts, extra)
            launch(kernel, -(-lines // 8), (32, 8, 1), arguments, device)
    back = sorted(range(len(kept)), key=lambda i: kept[i])
    return [a if a is None or not kept else a.transpose(back) for a in (first, second)]


def _with_dims(array, shape, axes, keepdims):
    if array is None or not keepdims:
        return array
    return array.reshape(tuple(1 if d in axes else n for d, n in enumerate(shape)))


def _axes(array, axes):
    if axes is None:
        return tuple(range(array.ndim))
    axes = (axes,) if isinstance(axes, int) else axes
    return tuple(sorted({a % max(1, array.ndim) for a in axes} if array.ndim else ()))


def reduced(array, axes, keepdims, kind, dtype=None):
    """The reduction of ``array`` over ``axes`` (None: all). Kinds: those of ``KINDS``.

    Sums and products of integers are int64, any and all are bool, the rest has the array's dtype;
    `dtype` may ask for float32 sums and means of low precision.
    """
    axes = _axes(array, axes)
    dtype = _default_dtype(array.dtype, kind) if dtype is None else np.dtype(dtype)
    out = _run(array, axes, KINDS[kind], dtype)[0]
    return _with_dims(out, array.shape, axes, keepdims)


def argreduced(array, axis, keepdims, largest, with_values=True):
    """(values or None, int64 positions) of the largest or smallest along an axis (None: of all,
    counted in row-major order). The first of equal ones; NaN counts as both."""
    if axis is None:
        flat = array.contiguous().reshape(-1)
        found = argreduced(flat, 0, False, largest, with_values)
        axes = tuple(range(array.ndim))
        return tuple(_with_dims(a, array.shape, axes, keepdims) for a in found)
    axes = _axes(array, axis)
    kind = LARGEST_PLACE if largest else SMALLEST_PLACE
    found = _run(array, axes, kind, array.dtype, with_first=with_values)
    return tuple(_with_dims(a, array.shape, axes, keepdims) for a in found)


def variance(array, axes, keepdims, correction):
    """(variance, mean) over axes; sums of squares are divided by the count less `correction`."""
    axes = _axes(array, axes)
    found = _run(array, axes, VARIANCE, array.dtype, float(correction))
    return tuple(_with_dims(a, array.shape, axes, keepdims) for a in found)
